"""All mutants of a policy: every kind of change at every place where it applies."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import TypeAlias

from kyvsim.kubernetes.objects import Json, Path
from kyvsim.mutation.changes import (
    KINDS,
    MutationKind,
    MutationPoint,
    PartKind,
    PolicyChange,
)

# A walk through the document of a policy that finds the parts that can be changed.
#
# Fields have the same names in rules, in policies with a whole `spec` and in Kubernetes' own
# policies, so names show what a part is. Messages and descriptions are ignored.

_Read: TypeAlias = Callable[[Json, Path], Iterator[MutationPoint]]


def _inside(value: Json, path: Path) -> Iterator[MutationPoint]:
    """Yield what is in a part of which nothing is known by itself."""
    if value.__class__ is dict:
        for name, inner in value.items():
            yield from _FIELDS.get(name, _inside)(inner, (*path, name))
    elif value.__class__ is list:
        for index, inner in enumerate(value):
            yield from _inside(inner, (*path, index))


def _removable(read: _Read) -> _Read:
    """Return what reads a field that can be left out as a whole."""

    def points(value: Json, path: Path) -> Iterator[MutationPoint]:
        yield MutationPoint(PartKind.REMOVABLE, path, value)
        yield from read(value, path)

    return points


def _listed(name: str, read: _Read) -> _Read:
    """Return what reads a list whose elements can be left out while another one stays."""

    def points(value: Json, path: Path) -> Iterator[MutationPoint]:
        if value.__class__ is not list:
            yield from read(value, path)
            return
        for index, one in enumerate(value):
            if len(value) > 1:
                yield MutationPoint(PartKind.REMOVABLE, (*path, index), one, name)
            yield from read(one, (*path, index))

    return points


def _filters(value: Json, path: Path) -> Iterator[MutationPoint]:
    """Yield what a match or exclude block has: filters, under `any` or `all` or by itself."""
    if value.__class__ is not dict:
        yield from _entries(value, path)
    elif value.keys() & {"any", "all"}:
        yield from _choices(value, path, _listed("filter", _filter))
    else:
        yield from _filter(value, path)


def _choices(value: Mapping[str, Json], path: Path, read: _Read) -> Iterator[MutationPoint]:
    for name in ("any", "all"):
        found = value.get(name)
        if found.__class__ is list and len(found) > 1 and len(value) == 1:
            yield MutationPoint(PartKind.CHOICE, (*path, name), found, name)
        yield from read(found, (*path, name))


def _filter(value: Json, path: Path) -> Iterator[MutationPoint]:
    if value.__class__ is not dict:
        return
    for name, inner in value.items():
        if name == "resources" and inner.__class__ is dict:
            for key, limit in inner.items():
                # At least one field that selects resources has to stay.
                if key != "kinds" and len(inner) > 1:
                    yield MutationPoint(PartKind.REMOVABLE, (*path, name, key), limit)
                yield from _entries(limit, (*path, name, key))
        else:
            if len(value) > 1:
                yield MutationPoint(PartKind.REMOVABLE, (*path, name), inner)
            yield from _entries(inner, (*path, name))


def _constraints(value: Json, path: Path) -> Iterator[MutationPoint]:
    if value.__class__ is not dict:
        return
    for name, inner in value.items():
        if name in {"excludeResourceRules", "namespaceSelector", "objectSelector"} and inner:
            yield MutationPoint(PartKind.REMOVABLE, (*path, name), inner)
        if name in {"resourceRules", "excludeResourceRules"}:
            yield from _listed("rule", _resource_rule)(inner, (*path, name))


def _resource_rule(value: Json, path: Path) -> Iterator[MutationPoint]:
    for name, inner in value.items() if value.__class__ is dict else ():
        if name == "resourceNames":
            yield MutationPoint(PartKind.REMOVABLE, (*path, name), inner)
        yield from _entries(inner, (*path, name))


def _entries(value: Json, path: Path) -> Iterator[MutationPoint]:
    """Yield the elements of a list of which each can be left out."""
    if value.__class__ is list and len(value) > 1:
        for index, one in enumerate(value):
            yield MutationPoint(PartKind.REMOVABLE, (*path, index), one)


def _conditions(value: Json, path: Path) -> Iterator[MutationPoint]:
    """Yield what conditions have: in a list, under `any` or `all`, or a list of such."""
    if value.__class__ is list:
        yield from _listed("condition", _conditions)(value, path)
    elif value.__class__ is not dict:
        return
    elif "key" in value:
        yield MutationPoint(PartKind.CONDITION, path, value)
        yield from _operand(value.get("value"), (*path, "value"))
    elif value.keys() & {"any", "all"}:
        yield from _choices(value, path, _listed("condition", _conditions))
    else:
        yield from _inside(value, path)


def _operand(value: Json, path: Path) -> Iterator[MutationPoint]:
    yield from _entries(value, path)
    if value.__class__ is list:
        for index, one in enumerate(value if len(value) == 1 else ()):
            yield MutationPoint(PartKind.CONSTANT, (*path, index), one)
    elif value.__class__ is not dict and value is not None:
        yield MutationPoint(PartKind.CONSTANT, path, value)


def _context(value: Json, path: Path) -> Iterator[MutationPoint]:
    """Yield the values that entries give to variables; what others load is not part of a policy."""
    for index, entry in enumerate(value if value.__class__ is list else ()):
        variable = (entry.get("variable") or {}) if entry.__class__ is dict else {}
        for name in ("value", "default"):
            yield from _operand(variable.get(name), (*path, index, "variable", name))


def _node(value: Json, path: Path, leaf: PartKind) -> Iterator[MutationPoint]:
    """Yield what a pattern or patch has: fields, elements, values."""
    if value.__class__ is dict:
        for name, inner in value.items():
            at = (*path, name)
            yield MutationPoint(PartKind.FIELD, at, inner)
            if len(value) > 1:
                yield MutationPoint(PartKind.REMOVABLE, at, inner)
            yield from _node(inner, at, leaf)
    elif value.__class__ is list:
        for index, inner in enumerate(value):
            if len(value) > 1:
                yield MutationPoint(PartKind.REMOVABLE, (*path, index), inner, "element")
            yield from _node(inner, (*path, index), leaf)
    elif value is not None:
        yield MutationPoint(leaf, path, value)


_pattern = partial(_node, leaf=PartKind.PATTERN)
_patch = partial(_node, leaf=PartKind.CONSTANT)


def _expression(value: Json, path: Path) -> Iterator[MutationPoint]:
    if value.__class__ is str:
        yield MutationPoint(PartKind.EXPRESSION, path, value)
    else:
        yield from _inside(value, path)


_FIELDS: Mapping[str, _Read] = MappingProxyType(
    {
        **dict.fromkeys(
            ("auditAnnotations", "message", "messageExpression"), lambda _value, _path: iter(())
        ),
        "anyPattern": _listed("pattern", _pattern),
        "celPreconditions": _removable(_listed("precondition", _inside)),
        "conditions": _conditions,
        "context": _context,
        "data": _patch,
        "exclude": _removable(_filters),
        "expression": _expression,
        "expressions": _listed("expression", _inside),
        "foreach": _listed("loop", _inside),
        "imageReferences": _entries,
        "level": lambda value, path: iter((MutationPoint(PartKind.LEVEL, path, value),)),
        "match": _filters,
        "matchConditions": _removable(_listed("match condition", _inside)),
        "matchConstraints": _constraints,
        "mutations": _listed("mutation", _inside),
        "patchStrategicMerge": _patch,
        "pattern": _pattern,
        "preconditions": _removable(_conditions),
        "skipImageReferences": _removable(_entries),
        "validations": _listed("validation", _inside),
    }
)
"""What reads a field, by its name; under other names everything is read in the same way."""


def mutants_of(data: Json) -> Iterator[tuple[MutationKind, PolicyChange]]:
    """Yield the changes of a policy's document, in the order of their places, each once.

    Two that come to the same document are one. What comes of a change may be no sound policy.
    """
    seen = [data]
    found = (
        (kind, change)
        for point in _inside(data.get("spec"), ("spec",))
        for kind in KINDS
        if point.part is kind.part
        for change in kind.changes(point, data)
    )
    for kind, change in found:
        if change.data not in seen:
            seen.append(change.data)
            yield kind, change
