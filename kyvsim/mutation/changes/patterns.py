"""Changes of patterns: anchors, operators, values."""

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from kyvsim.engine.pattern.anchors import CONDITION, EQUALITY, GLOBAL, Anchor, parse_anchor
from kyvsim.kubernetes.objects import Json, renamed, replaced
from kyvsim.kubernetes.wildcard import has_wildcard, range_ends, split_operator
from kyvsim.mutation.change import Change, Kind, Part, Site
from kyvsim.mutation.other_values import other_text, other_value
from kyvsim.mutation.pattern_atoms import Atom, atoms_of

# An anchor becomes a plain field, or another anchor.

_ANCHORS_OTHERS: Mapping[str, str] = MappingProxyType({CONDITION: EQUALITY, GLOBAL: CONDITION})
"""Anchors that become another one, too; all are left off."""


def anchors_changes(site: Site, data: Json) -> Iterator[Change]:
    """Yield the document with the field as another anchor, or as none."""
    was = str(site.path[-1])
    anchor = parse_anchor(was)
    if anchor is None:
        return
    for now in _keys(anchor):
        yield Change(site.path, was, now, renamed(data, site.path, now))


def _keys(anchor: Anchor) -> Iterator[str]:
    yield anchor.key
    if anchor.sign in _ANCHORS_OTHERS:
        yield str(Anchor(_ANCHORS_OTHERS[anchor.sign], anchor.key))


ANCHORS = Kind("anchor", frozenset({Part.FIELD}), anchors_changes)

# An operator in a value of a pattern becomes another one: `>=` `>`, `!` nothing.

_PATTERN_OPERATORS_OTHERS: Mapping[str, str] = MappingProxyType(
    {">=": ">", ">": ">=", "<=": "<", "<": "<=", "!": ""}
)


def pattern_operators_changes(site: Site, data: Json) -> Iterator[Change]:
    """Yield the document with the operator of one atom changed."""
    for atom in atoms_of(site.value):
        yield from _changed(atom, site, data)


def _changed(atom: Atom, site: Site, data: Json) -> Iterator[Change]:
    operator, operand = split_operator(atom.text)
    if operator in _PATTERN_OPERATORS_OTHERS:
        now = f"{_PATTERN_OPERATORS_OTHERS[operator]}{operand}"
        yield Change(site.path, atom.text, now, replaced(data, site.path, atom.put(now)), atom.at)


PATTERN_OPERATORS = Kind(
    "operator of a pattern", frozenset({Part.PATTERN}), pattern_operators_changes
)

# A value of a pattern is another one, an alternative less, or asks for less.


def pattern_values_changes(site: Site, data: Json) -> Iterator[Change]:
    """Yield the document with another value, or without one of several alternatives."""
    if site.value.__class__ is not str:
        other = other_value(site.value)
        changed = replaced(data, site.path, other)
        yield Change(site.path, json.dumps(site.value), json.dumps(other), changed)
        return
    for atom in atoms_of(site.value):
        less = atom.left_out()
        if less:
            yield Change(site.path, atom.text, "", replaced(data, site.path, less), atom.at)
        now = _other(atom)
        if now:
            whole = replaced(data, site.path, atom.put(now))
            yield Change(site.path, atom.text, now, whole, atom.at)


def _other(atom: Atom) -> str:
    """Return another text for an atom; "" where there is none."""
    operator, operand = split_operator(atom.text)
    ends = range_ends(atom.text)
    if ends is not None:
        low, high, inside = ends
        return f"{low}{'-' if inside else '!-'}{other_text(high)}"
    if has_wildcard(operand):
        wider = operand.replace("?", "").replace("*", "")
        # What is only there becomes what may be anything; of what is written a letter more.
        return f"{operator}{other_text(operand)}" if wider else "*" if operand == "?*" else ""
    return f"{operator}{other_text(operand)}"


PATTERN_VALUES = Kind("value of a pattern", frozenset({Part.PATTERN}), pattern_values_changes)
