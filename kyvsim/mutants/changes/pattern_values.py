"""A value of a pattern is another one, an alternative less, or asks for less."""

import json
from collections.abc import Iterator

from kyvsim.kube.objects import Json
from kyvsim.kube.text_pattern import range_ends, split_operator
from kyvsim.kube.trees import replaced
from kyvsim.kube.wildcard import has_wildcard
from kyvsim.mutants.change import Change, Kind
from kyvsim.mutants.other_values import other_text, other_value
from kyvsim.mutants.pattern_atoms import Atom, atoms_of
from kyvsim.mutants.site import Part, Site


def changes(site: Site, data: Json) -> Iterator[Change]:
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


KIND = Kind("value of a pattern", frozenset({Part.PATTERN}), changes)
