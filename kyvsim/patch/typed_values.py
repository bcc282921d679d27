"""Whether a value fits a type of structured merges, and what names the elements of its lists.

Source of the rules: upstream sigs.k8s.io/structured-merge-diff/v6 typed/validate.go,
typed/helpers.go; the messages are its.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kube.go_text import quote, sprint
from kyvsim.kube.objects import Json
from kyvsim.patch.go_values import Foreign, go_type, literal
from kyvsim.patch.merge_types import (
    BOOLEAN,
    NUMERIC,
    STRING,
    UNTYPED,
    ListType,
    MapType,
    Type,
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


class ElementName(NamedTuple):
    """What tells an element of a list from the others."""

    identity: Hashable
    shown: str


class NamelessError(ValueError):
    """An element that a list with names cannot have."""


def misfits(ref: TypeRef, value: Json, *, duplicates: bool = False) -> list[Misfit]:
    """Return what of a value does not fit a type; `duplicates` lets elements have one name."""
    kind = resolve(ref)
    found = value.__class__
    if kind.mapping is not None and (found is dict or _is_first(kind, "mapping", found)):
        return list(_in_map(kind.mapping, value, duplicates=duplicates))
    if kind.scalar and (found in _SCALARS or _is_first(kind, "scalar", found)):
        return _in_scalar(kind.scalar, value)
    if kind.sequence is not None:
        return list(_in_list(kind.sequence, value, duplicates=duplicates))
    return _in_scalar(kind.scalar, value)


def _is_first(kind: Type, name: str, found: type) -> bool:
    """Return whether a type is what a value is measured by that is none of what it may be.

    Maps come first, then scalars, then lists.
    """
    if found is dict or (found is list and kind.sequence) or (found in _SCALARS and kind.scalar):
        return False
    return name == "mapping" or kind.mapping is None


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
        try:
            name = element_name(kind, element) if kind.keys is not None else None
        except NamelessError as error:
            yield Misfit("", f"element {index}: {error}")
            return
        if name is not None:
            if name.identity in met and not duplicates:
                yield Misfit("", f"duplicate entries for key {name.shown}")
            met.add(name.identity)
        part = f"[{index}]" if name is None else name.shown
        for one in misfits(kind.element, element, duplicates=duplicates):
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


def element_name(kind: ListType, element: Json) -> ElementName:
    """Return what names an element of a set or of a list with keys; raises NamelessError."""
    if kind.keys:
        return _name_by_keys(kind, element)
    if element.__class__ is dict:
        raise NamelessError("associative list without keys has an element that's a map type")
    if element.__class__ is list:
        raise NamelessError("not supported: associative list with lists as elements")
    if element is None:
        raise NamelessError("associative list without keys has an element that's an explicit null")
    return ElementName(_identity(element), f"[={_key_text(element)}]")


def _name_by_keys(kind: ListType, element: Json) -> ElementName:
    if element is None:
        raise NamelessError("associative list with keys may not have a null element")
    if element.__class__ is not dict:
        raise NamelessError("associative list with keys may not have non-map elements")
    keys = kind.keys or ()
    given = {key: element[key] if key in element else kind.defaults.get(key) for key in keys}
    found = {key: given[key] for key in sorted(keys) if key in element or given[key] is not None}
    if not found:
        names = " ".join(map(quote, keys))
        raise NamelessError(
            f"associative list with keys has an element that omits all key fields [{names}] "
            "(and doesn't have default values for any key fields)"
        )
    text = ",".join(f"{key}={_key_text(value)}" for key, value in found.items())
    return ElementName(tuple((key, _identity(one)) for key, one in found.items()), f"[{text}]")


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
