"""The schemas of custom kinds: of Kyverno's own, and of those that a definition in store adds.

The schemas of Kyverno's kinds are package data (`definitions.json`), made by
tests/package_data/make_definitions.py.
"""

from collections.abc import Mapping
from functools import lru_cache

from kyvsim.kube.discovery import is_builtin
from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import Json, ObjectKey, object_key, text_field
from kyvsim.kube.package_data import read_table
from kyvsim.sim.server import errors
from kyvsim.sim.server.request import ApiError, Review
from kyvsim.sim.server.store import Store
from kyvsim.sim.server.structural import Schema, shaped
from kyvsim.sim.server.structural_problems import structural_problems
from kyvsim.sim.server.structural_rules import broken_rules

_WHOLE = frozenset({"", "status"})
"""Subresources whose requests carry the whole object."""


@lru_cache(maxsize=1)
def _own_schemas() -> Mapping[str, Schema]:
    table = read_table(__file__, "definitions.json")
    return {name: Schema(root, table["shared"]) for name, root in table["kinds"].items()}


def as_defined(obj: Json, store: Store) -> Json:
    """Return an object of a custom kind as its schema has it stored, any other as it is."""
    schema = schema_of(object_key(obj), store) if obj is not None else None
    return shaped(obj, schema) if schema else obj


def refuse_unfit(review: Review, store: Store) -> ApiError | None:
    """Return why an object does not fit its schema, or None."""
    request, obj = review.request, review.object
    schema = schema_of(object_key(obj), store) if obj is not None else None
    if schema is None or request.subresource not in _WHOLE:
        return None
    found = list(structural_problems(obj, schema)) or list(broken_rules(obj, review.old, schema))
    if not found:
        return None
    why = found[0] if len(found) == 1 else f"[{', '.join(found)}]"
    return errors.invalid(object_key(obj), why)


def schema_of(key: ObjectKey, store: Store) -> Schema | None:
    """Return the schema of a custom kind, None where it has none."""
    group, version = split_api_version(key.api_version)
    if is_builtin(group, key.kind):
        return None
    own = _own_schemas().get(f"{key.api_version}/{key.kind}")
    return own or _defined_schema(group, version, key.kind, store)


def _defined_schema(group: str, version: str, kind: str, store: Store) -> Schema | None:
    for definition in store.list("apiextensions.k8s.io/v1", "CustomResourceDefinition", ""):
        spec = definition.get("spec") or {}
        if (text_field(spec, "group"), text_field(spec.get("names"), "kind")) != (group, kind):
            continue
        if spec.get("preserveUnknownFields") is True:
            return None
        for served in spec.get("versions") or ():
            root = (served.get("schema") or {}).get("openAPIV3Schema")
            if served.get("name") == version and root is not None:
                return Schema(root)
    return None
