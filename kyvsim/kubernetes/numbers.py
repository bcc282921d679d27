"""Numbers as Go and JSON have them, in data too, and when two values are the same."""

import math
import re
from collections.abc import Callable
from types import MappingProxyType
from typing import Final

from kyvsim.kubernetes.go_text import format_float
from kyvsim.kubernetes.objects import Json

# Numbers as Go and JSON have them, and when two values are the same.


# Numbers of plain data after a trip through JSON text: all floats, or whole ones as ints.


_EXACT = 2.0**53
_PLAIN_BELOW = 1e21
_INT64 = range(-(2**63), 2**63)
_TEXTS = frozenset({str, bool, type(None)})
_OTHERS: Final = MappingProxyType({int: _TEXTS | {float}, float: _TEXTS | {int}})
"""By the numbers that are looked for what is none of them and holds none: most of what there is."""


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


def with_whole_numbers(value: Json) -> Json:
    """Return `value` with whole floats as ints; parts without any are shared, not copied.

    That is what apimachinery's `UnstructuredJSONScheme` makes of numbers: an int64 of each that Go
    writes without fraction and exponent and that fits.
    """
    return _with_numbers(value, float, whole_where_exact)


def _with_numbers(value: Json, numbers: type, change: Callable[[Json], Json]) -> Json:
    """Return `value` with `change` made of every number of one class."""
    kind = value.__class__
    if kind is numbers:
        return change(value)
    if kind is not dict and kind is not list:
        return value
    others = _OTHERS[numbers]
    if others.issuperset(map(type, value.values() if kind is dict else value)):
        return value
    changed: dict[str | int, Json] = {}
    for key, item in value.items() if kind is dict else enumerate(value):
        if item.__class__ not in others:
            new = _with_numbers(item, numbers, change)
            if new is not item:
                changed[key] = new
    if not changed:
        return value
    new = value.copy()
    for key, item in changed.items():
        new[key] = item
    return new


def whole_where_exact(number: float) -> int | float:
    """Return the int64 that Go's JSON text of a float names, or the float where it names none."""
    if not number.is_integer() or abs(number) >= _PLAIN_BELOW:
        return number
    if abs(number) < _EXACT:
        return int(number)
    written = int(format_float(number, "f"))  # the shortest digits, filled up with zeros
    return written if written in _INT64 else number


# Numbers as Go reads and narrows them: strconv's parsers and conversions to int64.
#
# upstream: Go's strconv package and its conversion rules on amd64.


_ANY_CASE = re.IGNORECASE | re.ASCII  # without re.ASCII two letters of Turkish fit `i`
_INT = re.compile(r"[+-]?[0-9]+")
_DIGITS = "[0-9](?:_?[0-9])*"
_HEX_DIGITS = "[0-9a-f](?:_?[0-9a-f])*"
_FLOAT = re.compile(
    rf"[+-]?(?:(?:{_DIGITS}\.?(?:{_DIGITS})?|\.{_DIGITS})(?:e[+-]?{_DIGITS})?|inf|infinity)|nan",
    _ANY_CASE,
)
_HEX_FLOAT = re.compile(
    rf"[+-]?0x(?:_?{_HEX_DIGITS}\.?(?:{_HEX_DIGITS})?|\.{_HEX_DIGITS})p[+-]?{_DIGITS}", _ANY_CASE
)
_SPAN = 1 << 64
_LOWEST = -(1 << 63)
_HIGHEST = (1 << 63) - 1


def parse_int(text: str) -> int | None:
    """Return the int64 that decimal `text` writes, or None where it writes none."""
    if len(text) > 4000 or _INT.fullmatch(text) is None:
        return None
    number = int(text)
    return number if _LOWEST <= number <= _HIGHEST else None


def parse_float(text: str) -> float | None:
    """Return the float64 that `text` writes, or None where it writes none or is out of range."""
    try:
        if _FLOAT.fullmatch(text) is not None:
            number = float(text.replace("_", ""))
        elif _HEX_FLOAT.fullmatch(text) is not None:
            number = float.fromhex(text.replace("_", ""))
        else:
            return None
    except OverflowError:
        return None
    return None if math.isinf(number) and "n" not in text.lower() else number


def int_equals(number: int, value: Json) -> bool:
    """Return whether a value is this int, as a number or written in a text."""
    kind = value.__class__
    if kind is int:
        return bool(value == number)
    if kind is float:
        return value.is_integer() and to_int64(value) == number
    return kind is str and parse_int(value) == number


def float_equals(number: float, value: Json) -> bool:
    """Return whether a value is this float, as a number or written in a text."""
    kind = value.__class__
    if kind is float:
        return bool(value == number)
    if kind is int:
        return number.is_integer() and to_int64(number) == value
    return kind is str and parse_float(value) == number


def to_int64(number: float) -> int:
    """Return `number` without its fraction; what does not fit becomes the lowest int64."""
    if math.isfinite(number):
        whole = int(number)
        if _LOWEST <= whole <= _HIGHEST:
            return whole
    return _LOWEST


def wrap_int64(number: int) -> int:
    """Return `number` as int64 arithmetic keeps it: the lowest 64 bits, signed."""
    return (number - _LOWEST) % _SPAN + _LOWEST


# Deep equality of plain data, where numbers of different classes differ.
#
# upstream: Go's reflect.DeepEqual on decoded JSON.


_CONTAINERS: Final = frozenset({dict, list})


def deep_equal(left: Json, right: Json) -> bool:
    """Tell whether two values are the same throughout: 1 is neither 1.0 nor true."""
    kind = left.__class__
    if kind is not right.__class__ or left != right:
        return False
    return kind not in _CONTAINERS or _same_classes(left, right)


def _same_classes(left: Json, right: Json) -> bool:
    """Tell whether two values that Python holds equal have the same classes throughout."""
    kind = left.__class__
    if kind is not right.__class__:
        return False
    if kind is list:
        return all(map(_same_classes, left, right))
    if kind is dict:
        return all(_same_classes(value, right[key]) for key, value in left.items())
    return True
