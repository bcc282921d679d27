"""An operator in a value of a pattern becomes another one: `>=` `>`, `!` nothing."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from kyvsim.kube.objects import Json
from kyvsim.kube.text_pattern import split_operator
from kyvsim.kube.trees import replaced
from kyvsim.mutants.change import Change, Kind
from kyvsim.mutants.pattern_atoms import Atom, atoms_of
from kyvsim.mutants.site import Part, Site

_OTHERS: Mapping[str, str] = MappingProxyType({">=": ">", ">": ">=", "<=": "<", "<": "<=", "!": ""})


def changes(site: Site, data: Json) -> Iterator[Change]:
    """Yield the document with the operator of one atom changed."""
    for atom in atoms_of(site.value):
        yield from _changed(atom, site, data)


def _changed(atom: Atom, site: Site, data: Json) -> Iterator[Change]:
    operator, operand = split_operator(atom.text)
    if operator in _OTHERS:
        now = f"{_OTHERS[operator]}{operand}"
        yield Change(site.path, atom.text, now, replaced(data, site.path, atom.put(now)), atom.at)


KIND = Kind("operator of a pattern", frozenset({Part.PATTERN}), changes)
