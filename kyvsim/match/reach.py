"""Which objects a match block can be for at all, as far as it names them."""

from collections.abc import Iterable
from typing import NamedTuple

from kyvsim.kube.objects import Json
from kyvsim.kube.wildcard import has_wildcard


class Reach(NamedTuple):
    """Names of which an object must have one for a block to match it; None where any will do."""

    names: frozenset[str] | None = None
    namespaces: frozenset[str] | None = None
    """Compared with the own name of a Namespace, as `namespaces` is."""


def reach_of_block(block: Json) -> Reach:
    """Return what a match block reaches."""
    return Reach(names=_named(block, ("names", "name")), namespaces=_named(block, ("namespaces",)))


def _named(block: Json, fields: Iterable[str]) -> frozenset[str] | None:
    if some := block.get("any"):
        each = [_of_filter(one, fields) for one in some]
        known = [names for names in each if names is not None]
        return frozenset[str]().union(*known) if len(known) == len(each) else None
    found = (_of_filter(one, fields) for one in block.get("all") or [block])
    return next((names for names in found if names is not None), None)


def _of_filter(block: Json, fields: Iterable[str]) -> frozenset[str] | None:
    resources = block.get("resources") or {}
    for field in fields:
        written = resources.get(field) or ()
        names = (written,) if written.__class__ is str else written
        if names and not any(map(has_wildcard, names)):
            return frozenset(names)
    return None
