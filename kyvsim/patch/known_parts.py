"""Maps and lists that patches have seen before, known again by identity.

Patches share what they do not touch, and nobody changes a map or list in place: so what was found
out about one holds for as long as it lives. Sixteen policies that change one label each look at the
rest of a Pod once, not sixteen times.
"""

from functools import lru_cache
from typing import TypeAlias

from kyvsim.kube.objects import Json

Known: TypeAlias = dict[object, Json]
"""Parts by their id, and by what else the finding depends on; held, so that no id comes twice."""

_MOST = 8192
"""Some eighty large Pods."""


def whole_parts() -> Known:
    """Return the parts, by id, in which every whole number is an int."""
    return _within_bounds(_whole())


def tidy_parts() -> Known:
    """Return the parts, by id and type, that a merge leaves alone where it does not name them."""
    return _within_bounds(_tidy())


@lru_cache(maxsize=1)
def _whole() -> Known:
    return {}


@lru_cache(maxsize=1)
def _tidy() -> Known:
    return {}


def _within_bounds(known: Known) -> Known:
    if len(known) > _MOST:
        known.clear()
    return known
