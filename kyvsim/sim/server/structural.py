"""What an API server keeps of an object of a custom kind: pruned, and with defaults filled in.

Source of the rules: k8s.io/apiextensions-apiserver pkg/apiserver/schema (pruning, defaulting).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from kyvsim.kube.objects import Json

SchemaRef: TypeAlias = int | Mapping[str, Json]
"""A structural schema as definitions write it, or an index into the shared ones."""
_OPEN = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"
_OBJECT_FIELDS = frozenset({"apiVersion", "kind", "metadata"})


class Schema(NamedTuple):
    """The structural schema of a kind, and the list that its indices point into."""

    root: SchemaRef
    shared: Sequence[Mapping[str, Json]] = ()

    def resolve(self, ref: SchemaRef) -> Mapping[str, Json]:
        """Return the schema that a reference means."""
        return self.shared[ref] if isinstance(ref, int) else ref


def shaped(obj: Json, schema: Schema) -> Json:
    """Return an object without fields that its schema does not know, and with its defaults."""
    root = schema.resolve(schema.root)
    kept = {name: value for name, value in obj.items() if name in _OBJECT_FIELDS}
    rest = {name: value for name, value in obj.items() if name not in _OBJECT_FIELDS}
    return {**kept, **_mapping(schema, root, rest)}


def _shaped(schema: Schema, ref: SchemaRef, data: Json) -> Json:
    node = schema.resolve(ref)
    if data.__class__ is dict:
        return _mapping(schema, node, data)
    items = node.get("items")
    if data.__class__ is list and items is not None:
        return [_shaped(schema, items, _given(schema, items, item)) for item in data]
    return data


def _mapping(schema: Schema, node: Mapping[str, Json], data: Mapping[str, Json]) -> Json:
    properties = node.get("properties") or {}
    kept = {}
    for name, value in data.items():
        child = properties.get(name)
        if child is None:
            child = _further(node)
        if child is None:
            if _keeps(node, name):
                kept[name] = value
            continue
        given = _given(schema, child, value)
        if given is not None or value is not None or schema.resolve(child).get("nullable"):
            kept[name] = given
    for name, child in properties.items():
        default = schema.resolve(child).get("default")
        if default is not None and name not in kept:
            kept[name] = default
    return {name: _member(schema, node, name, value) for name, value in kept.items()}


def _member(schema: Schema, node: Mapping[str, Json], name: str, value: Json) -> Json:
    child = (node.get("properties") or {}).get(name)
    if child is None:
        child = _further(node)
    return value if child is None else _shaped(schema, child, value)


def _further(node: Mapping[str, Json]) -> SchemaRef | None:
    """Return the schema of fields that are none of the properties, if there is one."""
    further = node.get("additionalProperties")
    return further if isinstance(further, int | dict) and not isinstance(further, bool) else None


def _keeps(node: Mapping[str, Json], name: str) -> bool:
    if node.get(_OPEN) or node.get("additionalProperties") is True:
        return True
    return bool(node.get(_EMBEDDED)) and name in _OBJECT_FIELDS


def _given(schema: Schema, ref: SchemaRef, value: Json) -> Json:
    """Return a value, or the default in place of a null that is not allowed."""
    node = schema.resolve(ref)
    return node.get("default") if value is None and not node.get("nullable") else value
