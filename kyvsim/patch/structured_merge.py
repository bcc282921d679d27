"""Structured merges: merges a patch into an object by types from OpenAPI schemas."""

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kyvsim.kubernetes.go_text import quote, sprint
from kyvsim.kubernetes.objects import Json, KubernetesObject
from kyvsim.kubernetes.quantities import with_whole_numbers
from kyvsim.patch.nodes import PatchError
from kyvsim.schema.merge_types import (
    BOOLEAN,
    NUMERIC,
    STRING,
    UNTYPED,
    FindType,
    ListType,
    MapType,
    NoTypesError,
    Type,
    TypeRef,
    resolve,
)

# Values of expressions in a patch are values of a document only if JSON has them: a null,
# a duration or a list inside of a list literal is a different value, which every type rejects with
# its text.


class Foreign(NamedTuple):
    """A value of a type that documents do not have."""

    go_type: str
    shown: str
    """As `%v` prints it."""
    literal: str
    """As `%#v` prints it."""

    def __str__(self) -> str:
        return self.shown


def go_type(value: object) -> str:
    """Return the name of a value's type, as `%T` prints it."""
    if isinstance(value, Foreign):
        return value.go_type
    names = {dict: "map[string]interface {}", list: "[]interface {}", float: "float64"}
    names |= {str: "string", bool: "bool", int: "int64", type(None): "<nil>"}
    return names[value.__class__]


def literal(value: object) -> str:
    """Return a value as `%#v` prints it."""
    if isinstance(value, Foreign):
        return value.literal
    if value.__class__ is str:
        return quote(value)
    if value.__class__ is dict:
        inner = ", ".join(f"{quote(key)}:{literal(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{inner}}}"
    if value.__class__ is list:
        return f"[]interface {{}}{{{', '.join(map(literal, value))}}}"
    return "interface {}(nil)" if value is None else sprint(value)


# Whether a value matches a type of structured merges, and the names of list elements.
#
# Source of the rules: upstream sigs.k8s.io/structured-merge-diff/v6 typed/validate.go,
# typed/helpers.go; the messages are its.

_SCALARS = frozenset({str, bool, int, float})
_NUMBERS = frozenset({int, float})


class TypeMismatch(NamedTuple):
    """The mismatch, with its path."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message

    def below(self, part: str) -> "TypeMismatch":
        """Return the mismatch with a further part in front of the path."""
        return TypeMismatch(part + self.path, self.message)


class NamelessError(ValueError):
    """An element that a list with keys cannot contain."""


def misfits(ref: TypeRef, value: object, *, duplicates: bool = False) -> list[TypeMismatch]:
    """Return the mismatches of a value and a type; with `duplicates` names need not be unique."""
    kind = resolve(ref)
    found = value.__class__
    if found in _SCALARS and kind.scalar:
        return [] if found in _FITTING[kind.scalar] else _in_scalar(kind.scalar, value)
    if kind.mapping is not None and (found is dict or not (found is list and kind.sequence)):
        return list(_in_map(kind.mapping, value, duplicates=duplicates))
    if kind.sequence is not None and (found is list or not kind.scalar):
        return list(_in_list(kind.sequence, value, duplicates=duplicates))
    return _in_scalar(kind.scalar, value)


def _in_map(kind: MapType, value: object, *, duplicates: bool) -> Iterator[TypeMismatch]:
    if value is None:
        return
    if value.__class__ is not dict:
        yield TypeMismatch("", f"expected map, got &{{{sprint(value)}}}")
        return
    for name, field in value.items():
        ref = kind.fields.get(name, kind.others)
        if ref is None:
            yield TypeMismatch(f".{name}", "field not declared in schema")
            return
        for one in misfits(ref, field, duplicates=duplicates):
            yield one.below(f".{name}")


def _in_list(kind: ListType, value: object, *, duplicates: bool) -> Iterator[TypeMismatch]:
    if value is None:
        return
    if value.__class__ is not list:
        yield TypeMismatch("", f"expected list, got &{{{sprint(value)}}}")
        return
    met: set[Hashable] = set()
    for index, element in enumerate(value):
        if kind.keys is not None:
            try:
                name = element_name(kind, element)
            except NamelessError as error:
                yield TypeMismatch("", f"element {index}: {error}")
                return
            if name in met and not duplicates:
                yield TypeMismatch("", f"duplicate entries for key {_shown_name(kind, element)}")
            met.add(name)
        for one in misfits(kind.element, element, duplicates=duplicates):
            yield one.below(f"[{index}]" if kind.keys is None else _shown_name(kind, element))


def _in_scalar(scalar: str, value: object) -> list[TypeMismatch]:
    if value is None or value.__class__ in _FITTING[scalar]:
        return []
    return [TypeMismatch("", _WORDING[scalar](value))]


_FITTING: Mapping[str, frozenset[type]] = {
    NUMERIC: _NUMBERS,
    STRING: frozenset({str}),
    BOOLEAN: frozenset({bool}),
    UNTYPED: _SCALARS,
}
_WORDING: Mapping[str, Callable[[object], str]] = {
    NUMERIC: lambda value: f"expected numeric (int or float), got {go_type(value)}",
    STRING: lambda value: (
        f"expected string, got &value.valueUnstructured{{Value:{literal(value)}}}"
    ),
    BOOLEAN: lambda value: f"expected boolean, got &{{{sprint(value)}}}",
    UNTYPED: lambda value: f"expected any scalar, got &{{{sprint(value)}}}",
}


def element_name(kind: ListType, element: object) -> Hashable:
    """Return the identity of an element in a set, or in a list with keys.

    Raises NamelessError.
    """
    if kind.keys:
        return tuple((key, _identity(one)) for key, one in _keys(kind, element))
    if element.__class__ is dict:
        raise NamelessError("associative list without keys has an element that's a map type")
    if element.__class__ is list:
        raise NamelessError("not supported: associative list with lists as elements")
    if element is None:
        raise NamelessError("associative list without keys has an element that's an explicit null")
    return _identity(element)


def _keys(kind: ListType, element: object) -> list[tuple[str, object]]:
    if element is None:
        raise NamelessError("associative list with keys may not have a null element")
    if element.__class__ is not dict:
        raise NamelessError("associative list with keys may not have non-map elements")
    found = []
    for key in kind.keys or ():
        if key in element:
            found.append((key, element[key]))
        elif kind.defaults.get(key) is not None:
            found.append((key, kind.defaults[key]))
    if not found:
        names = " ".join(map(quote, kind.keys or ()))
        raise NamelessError(
            f"associative list with keys has an element that omits all key fields [{names}] "
            "(and doesn't have default values for any key fields)"
        )
    return found


def _shown_name(kind: ListType, element: object) -> str:
    if not kind.keys:
        return f"[={_key_text(element)}]"
    parts = sorted(_keys(kind, element), key=lambda part: part[0])
    return f"[{','.join(f'{key}={_key_text(one)}' for key, one in parts)}]"


def _identity(value: object) -> Hashable:
    """Return a value that is equal for equal names."""
    if value.__class__ in {dict, list} or isinstance(value, Foreign):
        return literal(value)
    return (value.__class__ in _NUMBERS, value.__class__ is bool, value)


def _key_text(value: object) -> str:
    """Return a value as in names of elements."""
    if value is None:
        return "null"
    if value.__class__ is str:
        return quote(value)
    if value.__class__ is list:
        return f"[{','.join(map(_key_text, value))}]"
    if value.__class__ is dict:
        return "".join(f"{key}={_key_text(one)}" for key, one in value.items())
    return "{{undefined}}" if isinstance(value, Foreign) else sprint(value)


# Structured merges: merges a patch into an object by the types of its fields.
#
# Maps are merged by field, lists with keys by the elements' names, sets by value; atomic values are
# replaced as a whole, and rejected unless `replaces` is set.
#
# Source of the rules: upstream sigs.k8s.io/structured-merge-diff/v6 typed/merge.go,
# k8s.io/apiserver pkg/admission/plugin/policy/mutating/patch/smd.go.


def apply_structured_merge(
    obj: KubernetesObject,
    fields: Mapping[str, object],
    find_type: FindType,
    *,
    replaces: bool = False,
) -> Json:
    """Return `obj` with the fields of a patch merged in; other parts are shared.

    With `replaces` the patch may set atomic values. Raises PatchError.
    """
    api_version, kind = obj.get("apiVersion") or "", obj.get("kind") or ""
    try:
        found = find_type(api_version, kind)
    except NoTypesError:
        raise PatchError("type converter must not be nil") from None
    patch = {**fields, "apiVersion": api_version, "kind": kind}
    if found is None:
        missing = f"no corresponding type for {api_version}, Kind={kind}"
        raise PatchError(f"failed to convert patch object to typed object: {missing}")
    _check("patch", misfits(found, patch))
    if not replaces:
        atomic = list(_atomics(found, patch, ""))
        if atomic:
            raise PatchError(
                "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: "
                + ", ".join(atomic)
            )
    if misfits(found, obj, duplicates=True):
        _check("original", misfits(found, with_whole_numbers(obj), duplicates=True))
    return _merged(found, obj, patch)


def _check(which: str, found: Sequence[TypeMismatch]) -> None:
    if not found:
        return
    text = str(found[0]) if len(found) == 1 else "\n  ".join(["errors:", *map(str, found)])
    raise PatchError(f"failed to convert {which} object to typed object: {text}")


def _atomics(ref: TypeRef, value: object, path: str) -> Iterator[str]:
    """Yield the paths of atomic values in a patch; maps without fields are not visited."""
    kind = resolve(ref)
    if value.__class__ is dict and kind.mapping is not None:
        if kind.mapping.atomic:
            yield path
        for name, field in value.items():
            if name in kind.mapping.fields:
                yield from _atomics(kind.mapping.fields[name], field, f"{path}.{name}")
    elif value.__class__ is list and kind.sequence is not None:
        if kind.sequence.keys is None:
            yield path
        for index, element in enumerate(value):
            yield from _atomics(kind.sequence.element, element, f"{path}[{index}]")


def _merged(ref: TypeRef, old: object, new: object) -> object:
    """Return a value with another merged into it; both match the type."""
    kind = resolve(ref)
    if new is None:
        return old if _outlasts_null(kind, old) else None
    if new.__class__ is dict and old.__class__ is dict and kind.mapping is not None:
        shape = kind.mapping
        if shape.atomic or not (old or new):
            return new
        merged = {**old, **new}
        for name, field in new.items():
            if name in old:
                below = shape.fields.get(name, shape.others)
                if below is None:
                    raise PatchError("field not declared in schema")
                merged[name] = _merged(below, old[name], field)
        return merged
    if new.__class__ is list and old.__class__ is list and kind.sequence is not None:
        if kind.sequence.keys is None or not (old or new):
            return new
        return list(_merged_elements(kind.sequence, old, new))
    return new


def _outlasts_null(kind: Type, old: object) -> bool:
    """Return whether null does not change a value: a map or list whose elements merge."""
    if kind.mapping is not None:
        return old.__class__ is dict and bool(old) and not kind.mapping.atomic
    if kind.sequence is not None and not kind.scalar:
        return old.__class__ is list and bool(old) and kind.sequence.keys is not None
    return False


def _merged_elements(kind: ListType, old: list[object], new: list[object]) -> Iterator[object]:
    """Yield the elements of both lists.

    Elements of the patch keep their order, and so do those that only the object has: each
    precedes the elements of the patch that follow the same shared ones. Elements of the object
    with the same name are replaced by the patch's.
    """
    names = [element_name(kind, one) for one in old]
    theirs = {element_name(kind, one): one for one in new}
    ours: dict[Hashable, object] = {}
    for name, one in zip(names, old, strict=True):
        ours[name] = None if name in ours else one
    shared = deque(name for name in theirs if name in ours)
    waiting = deque(zip(names, old, strict=True))
    placed = dict.fromkeys(theirs, False)
    for name, element in theirs.items():
        yield from _before(name, waiting, shared, placed)
        if waiting and waiting[0][0] == name:
            waiting.popleft()
        if shared and shared[0] == name:
            shared.popleft()
        placed[name] = True
        yield _merged(kind.element, ours[name], element) if name in ours else element
    yield from (one for name, one in waiting if name not in theirs)


def _before(
    name: Hashable,
    waiting: deque[tuple[Hashable, object]],
    shared: deque[Hashable],
    placed: Mapping[Hashable, bool],
) -> Iterator[object]:
    """Yield the object's own elements that precede the patch's element with this name.

    Shared ones before it are skipped, since they are placed as in the patch; the next of them ends
    it. `placed` is whether elements of the patch have been placed.
    """
    while waiting and waiting[0][0] != name:
        first = waiting[0][0]
        if first not in placed:
            yield waiting.popleft()[1]
        elif shared and shared[0] != first:
            waiting.popleft()
        else:
            if placed[first]:
                waiting.popleft()
            return
