"""Objects as an API server keeps them by a schema: pruned, and with defaults filled in.

Source of the rules: k8s.io/apiextensions-apiserver pkg/apiserver/schema (pruning, defaulting).
"""

from operator import is_

from kyvsim.kubernetes.objects import Json
from kyvsim.schema.node import Node

_OBJECT_FIELDS = frozenset({"apiVersion", "kind", "metadata"})


def stored(obj: Json, schema: Node) -> Json:
    """Return an object without fields that its schema does not know, and with its defaults."""
    kept = {name: value for name, value in obj.items() if name in _OBJECT_FIELDS}
    rest = {name: value for name, value in obj.items() if name not in _OBJECT_FIELDS}
    return {**kept, **_mapping(schema, rest, prune=True)}


def completed(data: Json, schema: Node) -> Json:
    """Return data with its defaults (sharing what has none), and without nulls for no value.

    A null where none is allowed counts as a missing field. Fields that the schema does not know
    stay.
    """
    return _shaped(schema, data, prune=False)


def _shaped(schema: Node, data: Json, *, prune: bool) -> Json:
    if data.__class__ is dict:
        return _mapping(schema.meant_for(data), data, prune=prune)
    items = schema.meant_for(data).items if data.__class__ is list else None
    return data if items is None else _list(items, data, prune=prune)


def _list(items: Node, data: list[Json], *, prune: bool) -> Json:
    shaped = [_shaped(items, _given(items, item), prune=prune) for item in data]
    return data if all(map(is_, shaped, data)) else shaped


def _mapping(schema: Node, data: dict[str, Json], *, prune: bool) -> Json:
    if not prune and schema.describes_none:
        return data
    kept = {}
    changed = False
    for name, value in data.items():
        child = schema.child(name)
        if child is None:
            if prune and not schema.keeps(name):
                changed = True
            else:
                kept[name] = value
        elif value.__class__ is dict or value.__class__ is list:
            new = kept[name] = _shaped(child, value, prune=prune)
            changed = changed or new is not value
        elif value is not None or child.nullable:
            kept[name] = value
        else:
            changed = True
    for name, value in schema.defaults.items():
        if name not in kept:
            child = schema.child(name)
            kept[name] = value if child is None else _shaped(child, value, prune=prune)
            changed = True
    return kept if changed else data


def _given(schema: Node, value: Json) -> Json:
    """Return a value, or the default in place of a null that is not allowed."""
    return schema.default if value is None and not schema.nullable else value
