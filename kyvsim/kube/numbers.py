"""Numbers of plain data after a trip through JSON text: all floats, or whole ones as ints."""

from collections.abc import Callable
from operator import is_

from kyvsim.kube.go_text import format_float
from kyvsim.kube.objects import Json

_EXACT = 2.0**53
_PLAIN_BELOW = 1e21
_INT64 = range(-(2**63), 2**63)
_OTHERS = frozenset({str, bool, type(None)})
"""What is no number and holds none: most of what there is."""


def with_floats(value: Json) -> Json:
    """Return `value` with every int a float; parts without ints are shared, not copied.

    That is what Go's decoder makes of numbers where no type is asked for.
    """
    return _with_numbers(value, int, float)


def with_floats_where_exact(value: Json) -> Json:
    """Return `value` with every int a float that is the same number; others stay as they are."""
    return _with_numbers(
        value, int, lambda number: float(number) if abs(number) <= _EXACT else number
    )


def _with_numbers(value: Json, numbers: type, change: Callable[[Json], Json]) -> Json:
    """Return `value` with `change` made of every number of one class."""
    kind = value.__class__
    if kind is numbers:
        return change(value)
    if kind is dict:
        changed = {
            key: new
            for key, item in value.items()
            if item.__class__ not in _OTHERS
            and (new := _with_numbers(item, numbers, change)) is not item
        }
        return {**value, **changed} if changed else value
    if kind is list:
        items = [
            item if item.__class__ in _OTHERS else _with_numbers(item, numbers, change)
            for item in value
        ]
        same = all(map(is_, items, value))
        return value if same else items
    return value


def whole_where_exact(number: float) -> int | float:
    """Return the int64 that Go's JSON text of a float names, or the float where it names none."""
    if not number.is_integer() or abs(number) >= _PLAIN_BELOW:
        return number
    if abs(number) < _EXACT:
        return int(number)
    written = int(format_float(number, "f"))  # the shortest digits, filled up with zeros
    return written if written in _INT64 else number
