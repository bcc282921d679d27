"""What is known of the type of a value: one type for each kind of object that it may be part of.

The types are those of structured merges; nothing is known of custom resources.
"""

from collections.abc import Iterable
from typing import Final, TypeAlias

from kyvsim.patch.merge_types import (
    BOOLEAN,
    NUMERIC,
    STRING,
    UNTYPED,
    ListType,
    MapType,
    NoTypesError,
    Type,
    find_type,
    resolve,
)

Types: TypeAlias = tuple[Type, ...]
"""What a value is, by kind; () where nothing is known."""

UNKNOWN: Final[Types] = ()
TEXT: Final[Types] = (Type(STRING),)
NUMBER: Final[Types] = (Type(NUMERIC),)
BOOL: Final[Types] = (Type(BOOLEAN),)
MAP: Final[Types] = (Type(mapping=MapType({}, "*", False)),)

_TIMES: Final = frozenset({"creationTimestamp", "deletionTimestamp"})
"""Fields of metadata that are texts, although merges take them for anything."""
_GIVEN: Final = (
    ("containers", "initContainers"),
    ("image", "imagePullPolicy"),
    ("name", "imagePullPolicy"),
    ("verbs", "nonResourceURLs"),
    ("name", "valueFrom"),
    ("roleRef", "subjects"),
    ("containerPort", "hostIP"),
    ("port", "targetPort"),
    ("template", "serviceName"),
    ("template", "revisionHistoryLimit"),
    ("template", "minReadySeconds"),
    ("template", "backoffLimit"),
    ("jobTemplate", "schedule"),
    ("spec", "metadata"),
)
"""Fields that an API server insists on, and one of their neighbours by which they are known."""


def types_of(kinds: Iterable[tuple[str, str]]) -> Types:
    """Return the types of objects by apiVersion and kind; () where one of them is not known."""
    found: list[Type] = []
    for api_version, kind in kinds:
        try:
            one = find_type(api_version, kind)
        except NoTypesError:
            return UNKNOWN
        if one is None:
            return UNKNOWN
        found.append(one)
    return tuple(found)


def field_of(types: Types, key: str) -> Types:
    """Return the types of a field, () where one of the maps does not know it."""
    found: list[Type] = []
    for one in types:
        mapping = one.mapping
        ref = (mapping.fields.get(key) or mapping.others) if mapping else None
        if key in _TIMES and ref is not None:
            found += TEXT
            continue
        if ref is None or isinstance(ref, str):
            return UNKNOWN
        found.append(resolve(ref))
    return tuple(found)


def field_names(types: Types) -> tuple[str, ...]:
    """Return the names of the fields of objects; () where nothing is known."""
    return tuple(dict.fromkeys(name for one in types if one.mapping for name in one.mapping.fields))


def element_of(types: Types) -> Types:
    """Return the types of a list's elements."""
    found: list[Type] = []
    for one in types:
        if one.sequence is None or isinstance(one.sequence.element, str):
            return UNKNOWN
        found.append(resolve(one.sequence.element))
    return tuple(found)


def values_of(types: Types) -> Types:
    """Return the types of a map's values, whatever their keys."""
    found: list[Type] = []
    for one in types:
        if one.mapping is None or one.mapping.others is None or isinstance(one.mapping.others, str):
            return UNKNOWN
        found.append(resolve(one.mapping.others))
    return tuple(found)


def list_of(types: Types) -> Types:
    """Return the type of a list of such elements."""
    element = types[0] if types else "*"
    return (Type(sequence=ListType(element, None, {})),)


def is_text(types: Types) -> bool:
    """Return whether a value is certainly a text."""
    return _is(types, STRING)


def is_number(types: Types) -> bool:
    """Return whether a value is certainly a number."""
    return _is(types, NUMERIC)


def is_bool(types: Types) -> bool:
    """Return whether a value is certainly true or false."""
    return _is(types, BOOLEAN)


def _is(types: Types, scalar: str) -> bool:
    return bool(types) and all(
        one.scalar == scalar and one.mapping is None and one.sequence is None for one in types
    )


def is_scalar(types: Types) -> bool:
    """Return whether a value is a text or a number, as quantities are."""
    return _is(types, UNTYPED)


def is_list(types: Types) -> bool:
    """Return whether a value is certainly a list."""
    return bool(types) and all(
        one.sequence is not None and one.mapping is None and not one.scalar for one in types
    )


def is_map(types: Types) -> bool:
    """Return whether a value is certainly a map."""
    return bool(types) and all(
        one.mapping is not None and one.sequence is None and not one.scalar for one in types
    )


def is_always_given(types: Types, key: str) -> bool:
    """Return whether no API server takes such a map without a key."""
    beside = [neighbour for field, neighbour in _GIVEN if field == key]
    return bool(types) and all(
        one.mapping is not None and any(name in one.mapping.fields for name in beside)
        for one in types
    )
