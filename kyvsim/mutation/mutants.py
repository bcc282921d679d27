"""All mutants of a policy: every kind of change at every place where it applies."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

from kyvsim.kubernetes.objects import Json
from kyvsim.model.source import Path
from kyvsim.mutation.change import MutationKind, MutationPoint, PartKind, PolicyChange
from kyvsim.mutation.changes import KINDS

# A walk through the document of a policy that finds the parts that can be changed.
#
# Fields have the same names in rules, in policies with a whole `spec` and in Kubernetes' own
# policies, so names show what a part is. Messages and descriptions are ignored.

_Read: TypeAlias = Callable[[Json, Path], Iterator[MutationPoint]]


def mutation_points(data: Json) -> Iterator[MutationPoint]:
    """Yield the parts of a policy that can be changed, each behind what is around it."""
    yield from _inside(data.get("spec"), ("spec",))


def _inside(value: Json, path: Path) -> Iterator[MutationPoint]:
    """Yield what is in a part of which nothing is known by itself."""
    if value.__class__ is dict:
        for name, inner in value.items():
            yield from _FIELDS.get(name, _inside)(inner, (*path, name))
    elif value.__class__ is list:
        for index, inner in enumerate(value):
            yield from _inside(inner, (*path, index))


def _nothing(_value: Json, _path: Path) -> Iterator[MutationPoint]:
    return iter(())


def _removable(read: _Read) -> _Read:
    """Return what reads a field that can be left out as a whole."""

    def sites(value: Json, path: Path) -> Iterator[MutationPoint]:
        yield MutationPoint(PartKind.REMOVABLE, path, value)
        yield from read(value, path)

    return sites


def _listed(name: str, read: _Read) -> _Read:
    """Return what reads a list whose elements can be left out while another one stays."""

    def sites(value: Json, path: Path) -> Iterator[MutationPoint]:
        if value.__class__ is not list:
            yield from read(value, path)
            return
        for index, one in enumerate(value):
            if len(value) > 1:
                yield MutationPoint(PartKind.REMOVABLE, (*path, index), one, name)
            yield from read(one, (*path, index))

    return sites


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
            yield from _limits(inner, (*path, name))
        else:
            if len(value) > 1:
                yield MutationPoint(PartKind.REMOVABLE, (*path, name), inner)
            yield from _entries(inner, (*path, name))


def _limits(value: Mapping[str, Json], path: Path) -> Iterator[MutationPoint]:
    """Yield the fields that select resources; at least one has to stay."""
    for name, inner in value.items():
        if name != "kinds" and len(value) > 1:
            yield MutationPoint(PartKind.REMOVABLE, (*path, name), inner)
        yield from _entries(inner, (*path, name))


def _constraints(value: Json, path: Path) -> Iterator[MutationPoint]:
    if value.__class__ is not dict:
        return
    for name, inner in value.items():
        if name in {"excludeResourceRules", "namespaceSelector", "objectSelector"} and inner:
            yield MutationPoint(PartKind.REMOVABLE, (*path, name), inner)
        if name in {"resourceRules", "excludeResourceRules"}:
            yield from _resource_rules(inner, (*path, name))


def _resource_rules(value: Json, path: Path) -> Iterator[MutationPoint]:
    def rule(one: Json, at: Path) -> Iterator[MutationPoint]:
        for name, inner in one.items() if one.__class__ is dict else ():
            if name == "resourceNames":
                yield MutationPoint(PartKind.REMOVABLE, (*at, name), inner)
            yield from _entries(inner, (*at, name))

    yield from _listed("rule", rule)(value, path)


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


def _pattern(value: Json, path: Path) -> Iterator[MutationPoint]:
    yield from _node(value, path, PartKind.PATTERN)


def _patch(value: Json, path: Path) -> Iterator[MutationPoint]:
    yield from _node(value, path, PartKind.CONSTANT)


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


def _level(value: Json, path: Path) -> Iterator[MutationPoint]:
    yield MutationPoint(PartKind.LEVEL, path, value)


def _expression(value: Json, path: Path) -> Iterator[MutationPoint]:
    if value.__class__ is str:
        yield MutationPoint(PartKind.EXPRESSION, path, value)
    else:
        yield from _inside(value, path)


_FIELDS: Mapping[str, _Read] = MappingProxyType(
    {
        "anyPattern": _listed("pattern", _pattern),
        "auditAnnotations": _nothing,
        "celPreconditions": _removable(_listed("precondition", _inside)),
        "conditions": _conditions,
        "context": _context,
        "data": _patch,
        "exclude": _removable(_filters),
        "expression": _expression,
        "expressions": _listed("expression", _inside),
        "foreach": _listed("loop", _inside),
        "imageReferences": _entries,
        "level": _level,
        "match": _filters,
        "matchConditions": _removable(_listed("match condition", _inside)),
        "matchConstraints": _constraints,
        "message": _nothing,
        "messageExpression": _nothing,
        "mutations": _listed("mutation", _inside),
        "patchStrategicMerge": _patch,
        "pattern": _pattern,
        "preconditions": _removable(_conditions),
        "skipImageReferences": _removable(_entries),
        "validations": _listed("validation", _inside),
    }
)
"""What reads a field, by its name; what is under others is read as if it stood there itself."""

# All mutants of a policy: every kind of change at every place where it can be made.


def mutants_of(data: Json) -> Iterator[tuple[MutationKind, PolicyChange]]:
    """Yield the changes of a policy's document, in the order of their places, each once.

    Two that come to the same document are one. What comes of a change may be no sound policy.
    """
    seen = [data]
    found = (
        (kind, change)
        for point in mutation_points(data)
        for kind in KINDS
        if point.part in kind.parts
        for change in kind.changes(point, data)
    )
    for kind, change in found:
        if change.data not in seen:
            seen.append(change.data)
            yield kind, change
