"""An anchor becomes a plain field, or another anchor."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from kyvsim.kube.objects import Json
from kyvsim.kube.trees import renamed
from kyvsim.mutants.change import Change, Kind
from kyvsim.mutants.site import Part, Site
from kyvsim.pattern.anchors import CONDITION, EQUALITY, GLOBAL, Anchor, parse_anchor

_OTHERS: Mapping[str, str] = MappingProxyType({CONDITION: EQUALITY, GLOBAL: CONDITION})
"""Anchors that become another one, too; all are left off."""


def changes(site: Site, data: Json) -> Iterator[Change]:
    """Yield the document with the field as another anchor, or as none."""
    was = str(site.path[-1])
    anchor = parse_anchor(was)
    if anchor is None:
        return
    for now in _keys(anchor):
        yield Change(site.path, was, now, renamed(data, site.path, now))


def _keys(anchor: Anchor) -> Iterator[str]:
    yield anchor.key
    if anchor.sign in _OTHERS:
        yield str(Anchor(_OTHERS[anchor.sign], anchor.key))


KIND = Kind("anchor", frozenset({Part.FIELD}), changes)
