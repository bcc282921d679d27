"""Functions that put items in order, or find the first and the last of one.

upstream: kyverno/go-jmespath `functions.go`.
"""

from collections.abc import Callable
from operator import gt, lt
from typing import Final

from kyvsim.expr.errors import QueryError
from kyvsim.expr.functions.record import (
    ANY,
    ARRAY,
    EXPREF,
    NUMBER,
    NUMBERS,
    STRING,
    STRINGS,
    Example,
    Function,
)
from kyvsim.kube.objects import Json


def _extreme(better: Callable[[Json, Json], bool]) -> Callable[[list[Json]], Json]:
    """Return `max` or `min` of a list of numbers or texts; null of an empty one."""

    def find(items: list[Json]) -> Json:
        best = items[0] if items else None
        for item in items[1:]:
            if better(item, best):
                best = item
        return best

    return find


def _extreme_by(better: Callable[[Json, Json], bool]) -> Callable[..., Json]:
    """Return `max_by` or `min_by`; a list of one item is not looked at."""

    def find(items: list[Json], reference: Callable[[Json], Json]) -> Json:
        if len(items) < 2:
            return items[0] if items else None
        best, value = items[0], reference(items[0])
        kind = _key_kind(value)
        for item in items[1:]:
            current = reference(item)
            if current.__class__ is not kind:
                name = "number" if kind is float else "string"
                raise QueryError(f"invalid type, must be {name}")
            if better(current, value):
                best, value = item, current
        return best

    return find


def _key_kind(value: Json) -> type:
    kind = value.__class__
    if kind is not float and kind is not str:
        raise QueryError("invalid type, must be number of string")
    return kind


def _sort(items: list[Json]) -> list[Json]:
    return sorted(items)


def _sort_by(items: list[Json], reference: Callable[[Json], Json]) -> list[Json]:
    if len(items) < 2:
        return items
    keys = [reference(item) for item in items]
    kind = _key_kind(keys[0])
    if any(key.__class__ is not kind for key in keys):
        raise QueryError("error in sort_by comparison")
    order = sorted(range(len(items)), key=keys.__getitem__)
    return [items[place] for place in order]


FUNCTIONS: Final = (
    Function(
        "max",
        (NUMBERS + STRINGS,),
        NUMBER + STRING,
        "the greatest item",
        _extreme(gt),
        examples=(Example("max(`[1, 3, 2]`)", 3.0),),
    ),
    Function(
        "max_by",
        (ARRAY, EXPREF),
        ANY,
        "the item with the greatest value",
        _extreme_by(gt),
        examples=(Example("max_by(@, &a)", {"a": 2.0}, [{"a": 1.0}, {"a": 2.0}]),),
    ),
    Function(
        "min",
        (NUMBERS + STRINGS,),
        NUMBER + STRING,
        "the smallest item",
        _extreme(lt),
        examples=(Example("min(`[3, 1, 2]`)", 1.0),),
    ),
    Function(
        "min_by",
        (ARRAY, EXPREF),
        ANY,
        "the item with the smallest value",
        _extreme_by(lt),
        examples=(Example("min_by(@, &a)", {"a": 1.0}, [{"a": 1.0}, {"a": 2.0}]),),
    ),
    Function(
        "sort",
        (STRINGS + NUMBERS,),
        ARRAY,
        "the items in order",
        _sort,
        examples=(Example("sort(`[2, 1]`)", [1.0, 2.0]),),
    ),
    Function(
        "sort_by",
        (ARRAY, EXPREF),
        ARRAY,
        "the items in the order of a value of theirs",
        _sort_by,
        examples=(Example("sort_by(@, &a)[0].a", 1.0, [{"a": 2.0}, {"a": 1.0}]),),
    ),
)
