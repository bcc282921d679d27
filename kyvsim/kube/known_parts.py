"""Maps and lists that were looked at before, known again by identity.

Changes share what they do not touch, and nobody changes a map or list in place: so what was found
out about one holds for as long as it lives. Sixteen policies that change one label each look at the
rest of a Pod once, not sixteen times; and so does an API server at what comes to it again.
"""

from functools import lru_cache
from typing import TypeAlias

from kyvsim.kube.numbers import whole_where_exact
from kyvsim.kube.objects import Json

Known: TypeAlias = dict[object, Json]
"""Parts by their id, and by what else the finding depends on; held, so that no id comes twice."""

_MOST = 8192
"""Some eighty large Pods."""


def whole_parts() -> Known:
    """Return the parts, by id, in which every whole number is an int."""
    return within_bounds(_whole())


def tidy_parts() -> Known:
    """Return the parts, by id and type, that a merge leaves alone where it does not name them."""
    return within_bounds(_tidy())


@lru_cache(maxsize=1)
def _whole() -> Known:
    return {}


@lru_cache(maxsize=1)
def _tidy() -> Known:
    return {}


def within_bounds(known: Known) -> Known:
    """Return known parts, emptied where they have become too many."""
    if len(known) > _MOST:
        known.clear()
    return known


def with_whole_numbers(value: Json) -> Json:
    """Return `value` with whole floats as ints; parts without any are shared, not copied.

    That is what apimachinery's `UnstructuredJSONScheme` makes of numbers: an int64 of each that Go
    writes without fraction and exponent and that fits.
    """
    kind = value.__class__
    if kind is float:
        return whole_where_exact(value)
    return _with_whole_numbers(value, whole_parts()) if kind is dict or kind is list else value


def _with_whole_numbers(value: Json, known: Known) -> Json:
    """Return a map or list with whole floats as ints; parts that are `known` are not looked at."""
    if id(value) in known:
        return value
    is_map = value.__class__ is dict
    changed: dict[str | int, Json] = {}
    for key, item in value.items() if is_map else enumerate(value):
        kind = item.__class__
        if kind is dict or kind is list:
            new = _with_whole_numbers(item, known)
        elif kind is float:
            new = whole_where_exact(item)
        else:
            continue
        if new is not item:
            changed[key] = new
    if changed:
        value = value.copy()
        for place, new in changed.items():
            value[place] = new
    known[id(value)] = value
    return value
