"""What a generate rule calls its object, and how policies make objects of that name."""

from collections.abc import Mapping
from typing import NamedTuple

from kyvsim.kube.discovery import is_namespaced
from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import Json, metadata
from kyvsim.migrate.expressions import quoted
from kyvsim.migrate.patches.draft import struct
from kyvsim.migrate.queries import Scope, text_value
from kyvsim.migrate.refusal import NotConvertible


class Target(NamedTuple):
    """The object that a pattern is for, as texts with variables."""

    api_version: str
    kind: str
    namespace: str
    name: str

    @property
    def is_namespaced(self) -> bool:
        """Whether it lies in a namespace."""
        return bool(self.namespace)


def target_of(pattern: Mapping[str, Json]) -> Target:
    """Return what a pattern is for."""
    fields = ("apiVersion", "kind", "namespace", "name")
    return Target(*(str(pattern.get(one) or "") for one in fields))


def described(pattern: Mapping[str, Json]) -> dict[str, Json]:
    """Return the object that `data` of a pattern describes, with variables: named as its target.

    Raises NotConvertible where there is no object.
    """
    data, target = pattern.get("data"), target_of(pattern)
    if data is not None and not isinstance(data, dict):
        raise no_twin("data that is no map", "write the fields of the object").below("data")
    _insist_on_place(target)
    data = data or {}
    named = {
        key: value for key, value in metadata(data).items() if key not in {"name", "namespace"}
    }
    place = {"namespace": target.namespace} if target.namespace else {}
    return {
        "apiVersion": target.api_version,
        "kind": str(data.get("kind") or target.kind),
        "metadata": {"name": target.name, **place, **named},
        **{key: one for key, one in data.items() if key not in {"apiVersion", "kind", "metadata"}},
    }


def _insist_on_place(target: Target) -> None:
    """Refuse what no API server takes: nothing would come of it in either language."""
    group = split_api_version(target.api_version)[0]
    if "{{" not in target.api_version + target.kind and not target.name:
        raise no_twin("an object without a name", "name it").below("name")
    if target.namespace and not is_namespaced(group, target.kind, {}):
        raise no_twin(
            f"a {target.kind} in a namespace", "leave `namespace` out: it lies in none"
        ).below("namespace")


def applied(objects: str, namespace: str, scope: Scope) -> str:
    """Return the call that makes objects in a namespace: a policy in one makes them there.

    `objects` is the expression of a list, `namespace` a text with variables.
    """
    if scope.namespace:
        if namespace != scope.namespace:
            raise no_twin(
                "an object outside of the policy's namespace", "write a ClusterPolicy"
            ).below("namespace")
        return f"generator.Apply({objects})"
    where = text_value(namespace, scope).text if namespace else quoted("")
    return struct("generator.Apply", [where, objects], opening="(").removesuffix("}") + ")"


def no_twin(what: str, advice: str) -> NotConvertible:
    """Return that a part of a generate rule has no twin."""
    return NotConvertible(f"{what} has no twin in a GeneratingPolicy", advice)
