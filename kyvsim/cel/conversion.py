"""Conversions of values between types.

Source of the rules: upstream cel-go common/types (ConvertToType), strconv for strings.
"""

import math
import re

from kyvsim.cel import types
from kyvsim.cel.errors import CelError
from kyvsim.cel.operators import checked_timestamp
from kyvsim.cel.types import CelType
from kyvsim.cel.values import (
    Duration,
    Timestamp,
    UInt,
    runtime_type,
    show_double,
    show_seconds,
    show_timestamp,
)
from kyvsim.kubernetes.go_text import quote
from kyvsim.kubernetes.go_time import TimeError, parse_rfc3339
from kyvsim.kubernetes.quantities import parse_duration, parse_float

_INT = re.compile(r"[+-]?[0-9]+")
_UINT = re.compile(r"[0-9]+")
_STRICT_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})"
)
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_MAX_DIGITS = 400
_INT_LIMIT = 1 << 63


def _unfit(value: object, expected: CelType) -> CelError:
    return CelError(f"type conversion error from '{runtime_type(value)}' to '{expected}'")


def text_to_int(text: str) -> int:
    """Return the int64 of a string."""
    if _INT.fullmatch(text) and len(text) < _MAX_DIGITS:
        number = int(text)
        if -_INT_LIMIT <= number < _INT_LIMIT:
            return number
    raise _unfit(text, types.INT)


def text_to_uint(text: str) -> UInt:
    """Return the uint64 of a string."""
    if _UINT.fullmatch(text) and len(text) < _MAX_DIGITS and int(text) < 2 * _INT_LIMIT:
        return UInt(text)
    raise _unfit(text, types.UINT)


def text_to_double(text: str) -> float:
    """Return the double of a string."""
    number = parse_float(text)
    if number is None:
        raise _unfit(text, types.DOUBLE)
    return number


def text_to_bool(text: str) -> bool:
    """Return the boolean of a string."""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise _unfit(text, types.BOOL)


def text_to_duration(text: str) -> Duration:
    """Return the duration of a string such as `1h30m`."""
    found = parse_duration(text)
    if found is None:
        raise _unfit(text, types.DURATION)
    return Duration(found)


def text_to_timestamp(text: str) -> Timestamp:
    """Return the timestamp of an RFC 3339 string."""
    if not _STRICT_TIME.fullmatch(text):
        raise CelError(f"invalid RFC 3339 timestamp {quote(text)}")
    try:
        found = parse_rfc3339(text)
    except TimeError:
        raise _unfit(text, types.TIMESTAMP) from None
    return checked_timestamp(found.nanoseconds, found.offset)


def double_to_int(number: float) -> int:
    """Return the double without its fraction."""
    if math.isnan(number) or not -float(_INT_LIMIT) < number < float(_INT_LIMIT):
        raise CelError("integer overflow")
    return int(number)


def double_to_uint(number: float) -> UInt:
    """Return the double without its fraction, as a uint."""
    if math.isnan(number) or not 0 <= number < 2 * float(_INT_LIMIT):
        raise CelError("unsigned integer overflow")
    return UInt(int(number))


def uint_to_int(number: UInt) -> int:
    """Return the uint as an int."""
    if number >= _INT_LIMIT:
        raise CelError("integer overflow")
    return int(number)


def int_to_timestamp(seconds: int) -> Timestamp:
    """Return the timestamp of a number of seconds since 1970."""
    return checked_timestamp(seconds * 1_000_000_000)


def to_text(value: object) -> str:
    """Return a number, boolean, time or string as a string."""
    if value.__class__ is float:
        return show_double(value)
    if value.__class__ is bool:
        return "true" if value else "false"
    if value.__class__ is bytes:
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise CelError("invalid UTF-8 in bytes, cannot convert to string") from None
    if value.__class__ is Duration:
        return show_seconds(value)
    if value.__class__ is Timestamp:
        return show_timestamp(value)
    return str(value)
