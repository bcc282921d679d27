"""Numbers as Go reads and narrows them: strconv's parsers and conversions to int64.

upstream: Go's strconv package and its conversion rules on amd64.
"""

import math
import re

from kyvsim.kube.objects import Json

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
