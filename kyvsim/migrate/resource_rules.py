"""Kinds and operations of match blocks → resource rules."""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from kyvsim.kubernetes.discovery import (
    KindSelector,
    every_kind,
    parse_kind_selector,
    plural,
    preferred_version,
)
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.wildcard import compile_wildcard, has_wildcard
from kyvsim.migrate.context import ConversionContext, NotConvertible
from kyvsim.migrate.values import Types, types_of
from kyvsim.model.migration import ConversionCondition
from kyvsim.patch.keyed_lists import MergeField, find_type

# `operations` of match blocks and of preconditions.

# Conditions on the operation → the operations of resource rules.

EVERY: Final = ("CREATE", "UPDATE", "DELETE", "CONNECT")
WRITES: Final = ("CREATE", "UPDATE", "DELETE")
_KEY: Final = re.compile(r"\{\{-?\s*request\.operation\s*(\|\|\s*'[A-Z]*'\s*)?\}\}")
_IN: Final = frozenset({"Equals", "Equal", "In", "AnyIn", "AllIn"})
_NOT_IN: Final = frozenset({"NotEquals", "NotEqual", "NotIn", "AnyNotIn", "AllNotIn"})


class Operations(NamedTuple):
    """The operations that a rule applies to."""

    usual: tuple[str, ...]
    """The default operations of its rule type."""
    allowed: frozenset[str]
    """Those that its preconditions allow."""
    takes_all: bool = False
    """Whether it applies to any operation that a match block names."""

    def chosen(self, named: Iterable[str]) -> list[str]:
        """Return the operations of resource rules, where a match block names some or none.

        Raises NotConvertible where none is left.
        """
        listed = tuple(named)
        usual = self.usual
        if self.takes_all and listed:
            usual = EVERY
        elif listed or self.allowed == {"CONNECT"}:
            usual = (*self.usual, "CONNECT")
        found = [one for one in listed or usual if one in self.allowed and one in usual]
        if not found:
            raise NotConvertible("the rule matches no operation", "remove the rule")
        return found


def without_operations(block: Json) -> tuple[Json, frozenset[str]]:
    """Return preconditions without those on the operation, and the operations that these allow."""
    allowed = frozenset(EVERY)
    if isinstance(block, list):
        kept = []
        for one in block:
            found = _allowed(one) if "key" in one else None
            if found is None:
                kept.append(one)
            else:
                allowed &= found
        return kept, allowed
    if not isinstance(block, dict):
        return block, allowed
    rest = dict(block)
    if block.get("all"):
        rest["all"], found = without_operations(list(block["all"]))
        allowed &= found
    some = block.get("any") or ()
    each = [_allowed(one) for one in some]
    if some and all(one is not None for one in each):
        del rest["any"]
        allowed &= frozenset().union(*(one for one in each if one is not None))
    return {key: value for key, value in rest.items() if value}, allowed


def _allowed(condition: Json) -> frozenset[str] | None:
    """Return the operations that a condition allows; None if it tests something else."""
    key, value = condition.get("key"), condition.get("value")
    if not isinstance(key, str) or _KEY.fullmatch(key) is None:
        return None
    values = [value] if isinstance(value, str) else value or ()
    if not isinstance(values, list | tuple) or not all(isinstance(one, str) for one in values):
        return None
    named = frozenset(values)
    if not named <= frozenset(EVERY) | {"BACKGROUND"}:
        return None
    if condition["operator"] in _IN:
        return named & frozenset(EVERY)
    return frozenset(EVERY) - named if condition["operator"] in _NOT_IN else None


# `kinds` → resource rules, and the types of the objects that they match.

_GUESSED: Final = ConversionCondition(
    "guessed resource names",
    "the cluster must use the plural that the kind suggests, in whatever group",
)
_NO_TYPES: Final = ConversionCondition(
    "custom resources",
    "their fields must have the types that the rule expects: their schemas are not known here",
)
_ALL_KINDS: Final = ConversionCondition(
    "all kinds", "subresources that a wildcard also matches are excluded or admitted differently"
)
_PARTS: Final = ConversionCondition(
    "subresources", "only a cluster sends requests for subresources"
)


class SelectedKind(NamedTuple):
    """One kind as a rule names it."""

    group: str
    version: str
    resource: str
    kind: str


def named_kinds(selectors: Iterable[str], context: ConversionContext) -> list[SelectedKind]:
    """Return what `kinds` entries name, in their order."""
    found: list[SelectedKind] = []
    for text in selectors:
        selector = parse_kind_selector(text)
        if selector.subresource:
            context.note(_PARTS)
        found += _named(selector, context)
    return list(dict.fromkeys(found))


def _named(selector: KindSelector, context: ConversionContext) -> list[SelectedKind]:
    if selector.kind == "*":
        context.note(_ALL_KINDS)
        resource = "*/*" if selector.subresource == "*" else _with_part("*", selector)
        return [SelectedKind(selector.group, selector.version, resource, "")]
    fits_group, fits_kind = compile_wildcard(selector.group), compile_wildcard(selector.kind)
    known = [(g, k) for g, k in every_kind() if fits_kind(k) and fits_group(g)]
    if known:
        return [
            SelectedKind(
                group,
                _version(group, kind, selector),
                _with_part(plural(group, kind), selector),
                kind,
            )
            for group, kind in known
        ]
    context.note(_GUESSED)
    context.note(_NO_TYPES)
    if has_wildcard(selector.kind):
        return [SelectedKind(selector.group, selector.version, "*", "")]
    resource = _with_part(plural(selector.group, selector.kind), selector)
    return [SelectedKind(selector.group, selector.version, resource, selector.kind)]


def _version(group: str, kind: str, selector: KindSelector) -> str:
    if (group, kind) == ("", "Pod"):
        return "v1"
    return "*" if has_wildcard(selector.version) else selector.version


def _with_part(name: str, selector: KindSelector) -> str:
    return f"{name}/{selector.subresource}" if selector.subresource else name


def resource_rules(named: Iterable[SelectedKind], operations: list[str]) -> list[dict[str, Json]]:
    """Return the resource rules for kinds: one for each group and version.

    Without operations they name none.
    """
    by_group: dict[tuple[str, str], list[str]] = {}
    for one in named:
        listed = by_group.setdefault((one.group, one.version), [])
        if one.resource not in listed:
            listed.append(one.resource)
    return [
        {
            "apiGroups": [group],
            "apiVersions": [version],
            **({"operations": operations} if operations else {}),
            "resources": resources,
        }
        for (group, version), resources in by_group.items()
    ]


def known_types(named: Iterable[SelectedKind]) -> Types:
    """Return the types of the objects of kinds; () if one of them is unknown."""
    pairs = _known(named)
    return types_of(pairs) if pairs else ()


def known_merges(named: Iterable[SelectedKind]) -> tuple[MergeField, ...]:
    """Return how lists of the objects of kinds merge; () where one of them is not known."""
    found = [find_type(*one) for one in _known(named)]
    known = tuple(one for one in found if one is not None)
    return known if len(known) == len(found) else ()


def _known(named: Iterable[SelectedKind]) -> list[tuple[str, str]]:
    """Return apiVersion and kind of each, [] where one is a wildcard or a part of an object."""
    pairs = []
    for one in named:
        if not one.kind or "/" in one.resource or one.group == "*":
            return []
        version = preferred_version(one.group, one.kind) if one.version == "*" else one.version
        pairs.append((f"{one.group}/{version}".lstrip("/"), one.kind))
    return pairs


def guessed_kinds(named: Iterable[SelectedKind]) -> list[str]:
    """Return the kinds whose resource names and groups are guessed."""
    return [one.kind for one in named if one.group == "*" and one.kind]
