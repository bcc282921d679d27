"""Downstream objects: what a generate rule makes of data or of a source.

Source of the rules: upstream pkg/background/generate, pkg/background/common/labels.go.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kyvsim.kubernetes.discovery import parse_kind_selector, split_api_version
from kyvsim.kubernetes.labels import compile_selector
from kyvsim.kubernetes.objects import Json, ObjectKey, labels, metadata, object_key, text_field
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.ports import ClusterView

_LABEL = "generate.kyverno.io/"
_SERVER_FIELDS = frozenset(
    {"uid", "selfLink", "creationTimestamp", "managedFields", "resourceVersion"}
)


class GenerateError(Exception):
    """A downstream that cannot be made."""


class SourceMissingError(GenerateError):
    """A copy of an object that is not there."""


class Target(NamedTuple):
    """The identity that a generate rule gives its downstream."""

    api_version: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.api_version}/{self.kind}/{self.namespace}/{self.name}"


class Sources(NamedTuple):
    """The objects that a rule may copy."""

    cluster: ClusterView
    made: Sequence[Json] = ()
    """What rules before it generated."""

    def get(self, api_version: str, kind: str, namespace: str, name: str) -> Json | None:
        """Return the object, or None."""
        key = ObjectKey(api_version, kind, namespace, name)
        made = next((one for one in self.made if object_key(one) == key), None)
        return made or self.cluster.get(*key)

    def list(self, api_version: str, kind: str, namespace: str) -> Iterator[Json]:
        """Yield the objects of a kind in a namespace ("" for all)."""
        yield from self.cluster.list(api_version, kind, namespace)
        for one in self.made:
            key = object_key(one)
            of_kind = (key.api_version, key.kind) == (api_version, kind)
            if of_kind and namespace in {"", key.namespace} and not self.cluster.get(*key):
                yield one


def target_of(pattern: Json) -> Target:
    """Return the target that a pattern with its variables filled names."""
    parts = [pattern.get(field) or "" for field in ("apiVersion", "kind", "namespace", "name")]
    if any(part.__class__ is not str for part in parts):
        raise GenerateError("apiVersion, kind, namespace and name of a generated object are texts")
    return Target(*parts)


def data_downstreams(pattern: Json, _sources: Sources) -> Iterator[Json]:
    """Give the object that the pattern's `data` describes, a bare one where it says nothing."""
    data = pattern.get("data")
    yield from_data({} if data is None else data, target_of(pattern))


def clone_downstreams(pattern: Json, sources: Sources) -> Iterator[Json]:
    """Give the copy of the source that `clone` names; none where it would be its own copy."""
    target, clone = target_of(pattern), pattern["clone"]
    namespace, name = clone.get("namespace") or "", clone["name"]
    if (namespace, name) == (target.namespace, target.name):
        return
    source = sources.get(target.api_version, target.kind, namespace, name)
    if source is None:
        place = target._replace(namespace=namespace, name=name)
        raise SourceMissingError(f"source resource {place} not found")
    yield from_source(source, target)


def clone_list_downstreams(pattern: Json, sources: Sources) -> Iterator[Json]:
    """Give copies of the sources that `cloneList` selects, under their own names."""
    clones, namespace = pattern["cloneList"], pattern.get("namespace") or ""
    selects = compile_selector(clones["selector"]) if clones.get("selector") else None
    for text in clones["kinds"]:
        selector = parse_kind_selector(text)
        group = "" if selector.group == "*" else f"{selector.group}/"
        api_version = f"{group}{selector.version}"
        for source in sources.list(api_version, selector.kind, clones.get("namespace") or ""):
            key = object_key(source)
            if key.namespace == namespace or (selects and not selects(labels(source))):
                continue
            yield from_source(source, Target(api_version, selector.kind, namespace, key.name))


def from_data(data: Json, target: Target) -> Json:
    """Return the object that `data` describes, named as the target is."""
    if data.__class__ is not dict:
        raise GenerateError(f"data of {target} is no mapping")
    return _named(data, target)


def from_source(source: Json, target: Target) -> Json:
    """Return a copy of `source` named as the target is, marked with where it came from."""
    key = object_key(source)
    group, version = split_api_version(key.api_version)
    dropped = _SERVER_FIELDS
    if key.namespace != target.namespace:
        dropped |= {"ownerReferences"}
    meta = {name: value for name, value in metadata(source).items() if name not in dropped}
    meta["labels"] = {
        **labels(source),
        f"{_LABEL}clone-source": "",
        f"{_LABEL}source-group": group,
        f"{_LABEL}source-version": version,
        f"{_LABEL}source-kind": key.kind,
        f"{_LABEL}source-namespace": key.namespace,
        f"{_LABEL}source-uid": text_field(metadata(source), "uid"),
    }
    return _named({**source, "metadata": meta}, target)


def _named(data: Json, target: Target) -> Json:
    meta = dict(metadata(data))
    for field, value in (("name", target.name), ("namespace", target.namespace)):
        if value:
            meta[field] = value
        else:
            meta.pop(field, None)
    kind = text_field(data, "kind") or target.kind
    return {**data, "apiVersion": target.api_version, "kind": kind, "metadata": meta}


def one_of_each(made: Iterable[Json], *, last_counts: bool) -> tuple[list[Json], list[str]]:
    """Return the objects that are there in the end, and a sentence for each that came again.

    What an element of a loop makes is there for those after it: it is brought into line with
    the later one where the rule synchronizes, and left as it is otherwise.
    """
    found: dict[ObjectKey, Json] = {}
    again: list[str] = []
    which = "last" if last_counts else "first"
    for one in made:
        key = object_key(one)
        if key in found:
            again.append(
                f"{key.title} is generated more than once by this rule: the {which} counts"
            )
        if last_counts or key not in found:
            found[key] = one
    return list(found.values()), again


def with_owner_labels(downstream: Json, policy: Policy, rule: Rule, trigger: Json) -> Json:
    """Return the downstream with the labels that tell which rule and trigger it belongs to."""
    key = object_key(trigger)
    group, version = split_api_version(key.api_version)
    owned = {
        **labels(downstream),
        "app.kubernetes.io/managed-by": "kyverno",
        f"{_LABEL}policy-name": policy.name,
        f"{_LABEL}policy-namespace": policy.namespace,
        f"{_LABEL}rule-name": rule.name,
        f"{_LABEL}trigger-version": version,
        f"{_LABEL}trigger-group": group,
        f"{_LABEL}trigger-kind": key.kind,
        f"{_LABEL}trigger-namespace": key.namespace,
        f"{_LABEL}trigger-uid": text_field(metadata(trigger), "uid"),
    }
    return {**downstream, "metadata": {**metadata(downstream), "labels": owned}}
