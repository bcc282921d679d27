"""Maps and lists that were looked at before, known again by identity.

Changes share what they do not touch, and nobody changes a map or list in place: so what was found
out about one holds for as long as it lives. Sixteen policies that change one label each look at the
rest of a Pod once, not sixteen times; and so does an API server at what comes to it again.
"""

from collections.abc import Iterable
from functools import lru_cache
from itertools import compress, repeat
from operator import is_not, itemgetter
from typing import Any, TypeAlias, TypeVar

from kyvsim.kube.numbers import whole_where_exact
from kyvsim.kube.objects import Json

Known: TypeAlias = dict[object, Json]
"""Parts by their id, and by what else the finding depends on; held, so that no id comes twice."""

Whole: TypeAlias = dict[int, tuple[Json, Json]]
"""Parts by their id, each with what it is where every whole number is an int."""
_MOST = 8192
"""Some eighty large Pods."""
_MOST_SHOWN = 1024
"""Fewer, as each comes with all its lines."""
Shown: TypeAlias = dict[tuple[int, str, int], tuple[Json, list[tuple[str, str]]]]
"""Parts and the lines that show them, by id, by the text before them and by their column."""
_Parts = TypeVar("_Parts", bound=dict[Any, Any])


def whole_parts() -> Whole:
    """Return the parts, by id, for which it is known what they are with ints as whole numbers."""
    return within_bounds(_whole())


def is_whole_form(value: Json, whole: Json) -> bool:
    """Return whether a part is known to be another one with ints as whole numbers."""
    found = _whole().get(id(value))
    return found is not None and found[1] is whole


def shown_parts() -> Shown:
    """Return the parts whose lines are known."""
    return within_bounds(_shown(), _MOST_SHOWN)


@lru_cache(maxsize=1)
def _shown() -> Shown:
    return {}


@lru_cache(maxsize=1)
def _whole() -> Whole:
    return {}


@lru_cache(maxsize=1)
def tidy_parts() -> Known:
    """Return the parts, by id and type, that a merge leaves alone where it does not name them.

    Asked for at every step, so who begins a merge sees to the bounds.
    """
    return {}


def within_bounds(known: _Parts, most: int | None = None) -> _Parts:
    """Return known parts, emptied where they have become too many."""
    if len(known) > (_MOST if most is None else most):
        known.clear()
    return known


def with_whole_numbers(value: Json) -> Json:
    """Return `value` with whole floats as ints; parts without any are shared, not copied.

    That is what apimachinery's `UnstructuredJSONScheme` makes of numbers: an int64 of each that Go
    writes without fraction and exponent and that fits. A part that several objects share stays
    one part.
    """
    kind = value.__class__
    if kind is float:
        return whole_where_exact(value)
    if kind is not dict and kind is not list:
        return value
    known = whole_parts()
    found = known.get(id(value))
    return found[1] if found else _with_whole_numbers(value, known)


def _with_whole_numbers(value: Json, known: Whole) -> Json:
    """Return a map or list that is not `known` with whole floats as ints."""
    changed: dict[str | int, Json] = {}
    for key, item in value.items() if value.__class__ is dict else _unknown_items(value, known):
        kind = item.__class__
        if kind is dict or kind is list:
            found = known.get(id(item))
            new = found[1] if found else _with_whole_numbers(item, known)
        elif kind is float:
            new = whole_where_exact(item)
        else:
            continue
        if new is not item:
            changed[key] = new
    whole = value
    if changed:
        whole = value.copy()
        for place, new in changed.items():
            whole[place] = new
        known[id(whole)] = whole, whole
    known[id(value)] = value, whole
    return whole


_UNKNOWN: tuple[Json, Json] = (None, object())
_FEW = 16
"""Items that are not worth the setting up."""


def _unknown_items(value: list[Json], known: Whole) -> Iterable[tuple[int, Json]]:
    """Return the numbered items of a list but for those that are known to stay as they are.

    A loop that changes one item of a long list at a time comes here for each of them, so that
    nothing but calls of the interpreter's own functions is made for an item.
    """
    if len(value) <= _FEW:
        return enumerate(value)
    found = map(known.get, map(id, value), repeat(_UNKNOWN))
    return compress(enumerate(value), map(is_not, map(itemgetter(1), found), value))
