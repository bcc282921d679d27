"""`kinds` → resource rules, and what is known of the objects that they match."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from kyvsim.kube.discovery import every_kind, plural, preferred_version
from kyvsim.kube.gvk import KindSelector, parse_kind_selector
from kyvsim.kube.objects import Json
from kyvsim.kube.wildcard import compile_wildcard, has_wildcard
from kyvsim.migrate.desk import Desk
from kyvsim.migrate.known_types import Types, types_of
from kyvsim.model.migration import Condition
from kyvsim.patch.merge_keys import Field, find_type

_GUESSED: Final = Condition(
    "guessed resource names",
    "the cluster calls the custom resources as their kinds suggest, in whatever group",
)
_NO_TYPES: Final = Condition(
    "custom resources",
    "their fields have the types that the rule takes them to have: nothing is known of them here",
)
_ALL_KINDS: Final = Condition(
    "all kinds", "subresources that a wildcard would match too are left out or let in differently"
)
_PARTS: Final = Condition("subresources", "only a cluster sends requests for subresources")


class Named(NamedTuple):
    """One kind as a rule names it."""

    group: str
    version: str
    resource: str
    kind: str


def named_kinds(selectors: Iterable[str], desk: Desk) -> list[Named]:
    """Return what `kinds` entries name, in their order."""
    found: list[Named] = []
    for text in selectors:
        selector = parse_kind_selector(text)
        if selector.subresource:
            desk.note(_PARTS)
        found += _named(selector, desk)
    return list(dict.fromkeys(found))


def _named(selector: KindSelector, desk: Desk) -> list[Named]:
    if selector.kind == "*":
        desk.note(_ALL_KINDS)
        resource = "*/*" if selector.subresource == "*" else _with_part("*", selector)
        return [Named(selector.group, selector.version, resource, "")]
    fits_group, fits_kind = compile_wildcard(selector.group), compile_wildcard(selector.kind)
    known = [(g, k) for g, k in every_kind() if fits_kind(k) and fits_group(g)]
    if known:
        return [
            Named(group, _version(group, kind, selector), _resource(group, kind, selector), kind)
            for group, kind in known
        ]
    desk.note(_GUESSED)
    desk.note(_NO_TYPES)
    if has_wildcard(selector.kind):
        return [Named(selector.group, selector.version, "*", "")]
    resource = _with_part(plural(selector.group, selector.kind), selector)
    return [Named(selector.group, selector.version, resource, selector.kind)]


def _version(group: str, kind: str, selector: KindSelector) -> str:
    if (group, kind) == ("", "Pod"):
        return "v1"
    return "*" if has_wildcard(selector.version) else selector.version


def _resource(group: str, kind: str, selector: KindSelector) -> str:
    return _with_part(plural(group, kind), selector)


def _with_part(name: str, selector: KindSelector) -> str:
    return f"{name}/{selector.subresource}" if selector.subresource else name


def resource_rules(named: Iterable[Named], operations: list[str]) -> list[dict[str, Json]]:
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


def known_types(named: Iterable[Named]) -> Types:
    """Return what is known of the objects of kinds; () where one of them is not known."""
    pairs = _known(named)
    return types_of(pairs) if pairs else ()


def known_merges(named: Iterable[Named]) -> tuple[Field, ...]:
    """Return how lists of the objects of kinds merge; () where one of them is not known."""
    found = [find_type(*one) for one in _known(named)]
    known = tuple(one for one in found if one is not None)
    return known if len(known) == len(found) else ()


def _known(named: Iterable[Named]) -> list[tuple[str, str]]:
    """Return apiVersion and kind of each, [] where one is a wildcard or a part of an object."""
    pairs = []
    for one in named:
        if not one.kind or "/" in one.resource or one.group == "*":
            return []
        version = preferred_version(one.group, one.kind) if one.version == "*" else one.version
        pairs.append((f"{one.group}/{version}".lstrip("/"), one.kind))
    return pairs


def guessed_kinds(named: Iterable[Named]) -> list[str]:
    """Return the kinds whose resource names are guessed in groups that nobody named."""
    return [one.kind for one in named if one.group == "*" and one.kind]
