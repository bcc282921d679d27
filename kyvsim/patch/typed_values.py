"""Whether a value fits a type of structured merges, and what names the elements of its lists.

Source of the rules: upstream sigs.k8s.io/structured-merge-diff/v6 typed/validate.go,
typed/helpers.go; the messages are its.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.go_text import quote, sprint
from kyvsim.kubernetes.objects import Json
from kyvsim.patch.go_values import Foreign, go_type, literal
from kyvsim.patch.merge_types import (
    BOOLEAN,
    NUMERIC,
    STRING,
    UNTYPED,
    ListType,
    MapType,
    TypeRef,
    resolve,
)

_SCALARS = frozenset({str, bool, int, float})
_NUMBERS = frozenset({int, float})


class Misfit(NamedTuple):
    """What is wrong, and where."""

    path: str
    message: str

    def __str__(self) -> str:
        """Return both in one line."""
        return f"{self.path}: {self.message}" if self.path else self.message

    def below(self, part: str) -> "Misfit":
        """Return it with a further part in front of the path."""
        return Misfit(part + self.path, self.message)


class NamelessError(ValueError):
    """An element that a list with names cannot have."""


def misfits(ref: TypeRef, value: Json, *, duplicates: bool = False) -> list[Misfit]:
    """Return what of a value does not fit a type; `duplicates` lets elements have one name."""
    kind = resolve(ref)
    found = value.__class__
    if found in _SCALARS and kind.scalar:
        return [] if found in _FITTING[kind.scalar] else _in_scalar(kind.scalar, value)
    if kind.mapping is not None and (found is dict or not (found is list and kind.sequence)):
        return list(_in_map(kind.mapping, value, duplicates=duplicates))
    if kind.sequence is not None and (found is list or not kind.scalar):
        return list(_in_list(kind.sequence, value, duplicates=duplicates))
    return _in_scalar(kind.scalar, value)


def _in_map(kind: MapType, value: Json, *, duplicates: bool) -> Iterator[Misfit]:
    if value is None:
        return
    if value.__class__ is not dict:
        yield Misfit("", f"expected map, got &{{{sprint(value)}}}")
        return
    for name, field in value.items():
        ref = kind.fields.get(name, kind.others)
        if ref is None:
            yield Misfit(f".{name}", "field not declared in schema")
            return
        for one in misfits(ref, field, duplicates=duplicates):
            yield one.below(f".{name}")


def _in_list(kind: ListType, value: Json, *, duplicates: bool) -> Iterator[Misfit]:
    if value is None:
        return
    if value.__class__ is not list:
        yield Misfit("", f"expected list, got &{{{sprint(value)}}}")
        return
    met: set[Hashable] = set()
    for index, element in enumerate(value):
        if kind.keys is not None:
            try:
                name = element_name(kind, element)
            except NamelessError as error:
                yield Misfit("", f"element {index}: {error}")
                return
            if name in met and not duplicates:
                yield Misfit("", f"duplicate entries for key {_shown_name(kind, element)}")
            met.add(name)
        for one in misfits(kind.element, element, duplicates=duplicates):
            part = f"[{index}]" if kind.keys is None else _shown_name(kind, element)
            yield one.below(part)


def _in_scalar(scalar: str, value: Json) -> list[Misfit]:
    if value is None or value.__class__ in _FITTING[scalar]:
        return []
    return [Misfit("", _WORDING[scalar](value))]


_FITTING: Mapping[str, frozenset[type]] = MappingProxyType(
    {
        NUMERIC: _NUMBERS,
        STRING: frozenset({str}),
        BOOLEAN: frozenset({bool}),
        UNTYPED: _SCALARS,
    }
)
_WORDING: Mapping[str, Callable[[Json], str]] = MappingProxyType(
    {
        NUMERIC: lambda value: f"expected numeric (int or float), got {go_type(value)}",
        STRING: lambda value: (
            f"expected string, got &value.valueUnstructured{{Value:{literal(value)}}}"
        ),
        BOOLEAN: lambda value: f"expected boolean, got &{{{sprint(value)}}}",
        UNTYPED: lambda value: f"expected any scalar, got &{{{sprint(value)}}}",
    }
)


def element_name(kind: ListType, element: Json) -> Hashable:
    """Return what tells an element of a set, or of a list with keys, from the others.

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


def _keys(kind: ListType, element: Json) -> list[tuple[str, Json]]:
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


def _shown_name(kind: ListType, element: Json) -> str:
    if not kind.keys:
        return f"[={_key_text(element)}]"
    parts = sorted(_keys(kind, element), key=lambda part: part[0])
    return f"[{','.join(f'{key}={_key_text(one)}' for key, one in parts)}]"


def _identity(value: Json) -> Hashable:
    """Return something that is equal for values that are one as names."""
    if value.__class__ in {dict, list} or isinstance(value, Foreign):
        return literal(value)
    return (value.__class__ in _NUMBERS, value.__class__ is bool, value)


def _key_text(value: Json) -> str:
    """Return a value as the names of elements show it."""
    if value is None:
        return "null"
    if value.__class__ is str:
        return quote(value)
    if value.__class__ is list:
        return f"[{','.join(map(_key_text, value))}]"
    if value.__class__ is dict:
        return "".join(f"{key}={_key_text(one)}" for key, one in value.items())
    return "{{undefined}}" if isinstance(value, Foreign) else sprint(value)
