"""The kinds that a policy names, where they are all Kubernetes' own and named without wildcards."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kyvsim.kubernetes.discovery import kind_of_plural
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.cel_advice.written import MUTATING, Written
from kyvsim.patch.merge_types import ListType, MapType, NoTypesError, Type, find_type, resolve

_WILD = frozenset("*/")


class MatchedKind(NamedTuple):
    """A kind in one of its versions."""

    group: str
    version: str
    kind: str


def matched_kinds(
    spec: Mapping[str, Json], apart: frozenset[str] = frozenset()
) -> tuple[MatchedKind, ...]:
    """Return all kinds whose objects a policy looks at; () where they are not all known.

    `apart` are names of resources that do not matter.
    """
    rules = (spec.get("matchConstraints") or {}).get("resourceRules") or ()
    named = [
        (group, version, name)
        for rule in rules
        for group in rule.get("apiGroups") or ("*",)
        for version in rule.get("apiVersions") or ("*",)
        for name in rule.get("resources") or ("*",)
        if name not in apart
    ]
    if any(not _WILD.isdisjoint("".join(one)) for one in named):
        return ()
    found = tuple(
        MatchedKind(group, version, kind_of_plural(group, name)) for group, version, name in named
    )
    return found if all(one.kind for one in found) else ()


def changed_types(written: Written) -> tuple[Type, ...]:
    """Return the types of all objects that a policy changes; () where some are unknown."""
    if written.kind not in MUTATING or written.spec.get("targetMatchConstraints"):
        return ()
    found = tuple(map(_type_of, matched_kinds(written.spec)))
    known = tuple(one for one in found if one is not None)
    return known if len(known) == len(found) else ()


def _type_of(one: MatchedKind) -> Type | None:
    try:
        return find_type(f"{one.group}/{one.version}".lstrip("/"), one.kind)
    except NoTypesError:
        return None


def field_of(found: Type, name: str) -> Type | None:
    """Return the type of a field of an object or map, None where it may have no such field."""
    if found.mapping is None:
        return None
    ref = found.mapping.fields.get(name, found.mapping.others)
    return None if ref is None else resolve(ref)


def element_of(found: Type) -> Type | None:
    """Return the type of the elements of a list."""
    return None if found.sequence is None else resolve(found.sequence.element)


def is_atomic(found: Type) -> bool:
    """Return whether a list or map is nothing but one that is replaced as a whole."""
    sequence: ListType | None = found.sequence
    mapping: MapType | None = found.mapping
    if found.scalar or (sequence and mapping):
        return False
    return bool((sequence and sequence.keys is None) or (mapping and mapping.atomic))


def field_names(found: Type) -> Iterator[str]:
    """Yield the fields that an object can have by name."""
    if found.mapping is not None:
        yield from found.mapping.fields
