"""Sums, products and their like; whole numbers never overflow without a word.

Source of the rules: upstream cel-go common/types (Add, Divide, …), overflow.go.
"""

import math
from collections.abc import Callable
from typing import Any

from kyvsim.cel.errors import CelError, no_such_overload
from kyvsim.cel.values import Duration, JoinedList, MadeList, TextList, Timestamp, UInt

_MAX_INT = (1 << 63) - 1
_MAX_UINT = (1 << 64) - 1
_SECOND = 1_000_000_000
MIN_TIME = -62_135_596_800 * _SECOND
MAX_TIME = 253_402_300_800 * _SECOND - 1
_JOINED = frozenset({str, bytes, float})
_RECEIVERS = frozenset({str, Timestamp, Duration})


def checked_int(number: int) -> int:
    """Return the number; raises CelError where it is no int64."""
    if -_MAX_INT - 1 <= number <= _MAX_INT:
        return number
    raise CelError("integer overflow")


def checked_uint(number: int) -> UInt:
    """Return the number as a UInt; raises CelError where it is no uint64."""
    if 0 <= number <= _MAX_UINT:
        return UInt(number)
    raise CelError("unsigned integer overflow")


def checked_duration(nanoseconds: int) -> Duration:
    """Return a duration; raises CelError where it does not fit into 64 bits."""
    if -_MAX_INT - 1 <= nanoseconds <= _MAX_INT:
        return Duration(nanoseconds)
    raise CelError("integer overflow")


def checked_timestamp(nanoseconds: int, offset: int = 0) -> Timestamp:
    """Return a point in time; raises CelError outside of the years 1 to 9999."""
    if MIN_TIME <= nanoseconds <= MAX_TIME:
        return Timestamp(nanoseconds, offset)
    raise CelError("timestamp overflow")


def _unfit(sign: str, left: Any, takes: frozenset[type]) -> CelError:
    if left.__class__ in takes or left.__class__ in _RECEIVERS:
        return no_such_overload()
    return CelError(f"no such overload: _{sign}_")


_LISTS = (list, MadeList, JoinedList, TextList)
_ADDERS = frozenset({int, UInt, *_JOINED, Duration, Timestamp, *_LISTS})


def add(left: Any, right: Any) -> Any:
    """Return `left + right`."""
    kind = left.__class__
    if kind is right.__class__:
        if kind in _JOINED:
            return left + right
        if kind is int:
            return checked_int(left + right)
        if kind is UInt:
            return checked_uint(left + right)
        if kind is Duration:
            return checked_duration(left.nanoseconds + right.nanoseconds)
    if isinstance(left, list) and isinstance(right, list):
        return JoinedList([*left, *right]) if left and right else left or right
    if kind is Duration and right.__class__ is Timestamp:
        return checked_timestamp(right.nanoseconds + left.nanoseconds, right.offset)
    if kind is Timestamp and right.__class__ is Duration:
        return checked_timestamp(left.nanoseconds + right.nanoseconds, left.offset)
    raise _unfit("+", left, _ADDERS)


_SUBTRACTORS = frozenset({int, UInt, float, Duration, Timestamp})


def subtract(left: Any, right: Any) -> Any:
    """Return `left - right`."""
    kind = left.__class__
    if kind is right.__class__:
        if kind is float:
            return left - right
        if kind is int:
            return checked_int(left - right)
        if kind is UInt:
            return checked_uint(left - right)
        if kind in {Duration, Timestamp}:
            return checked_duration(left.nanoseconds - right.nanoseconds)
    if kind is Timestamp and right.__class__ is Duration:
        return checked_timestamp(left.nanoseconds - right.nanoseconds, left.offset)
    raise _unfit("-", left, _SUBTRACTORS)


def _numeric(
    sign: str,
    takes: frozenset[type],
    whole: Callable[[int, int], int],
    double: Callable[[float, float], float],
) -> Callable[[Any, Any], Any]:
    def operation(left: Any, right: Any) -> Any:
        kind = left.__class__
        if kind is right.__class__ and kind in takes:
            if kind is int:
                return checked_int(whole(left, right))
            if kind is UInt:
                return checked_uint(whole(left, right))
            return double(left, right)
        raise _unfit(sign, left, takes)

    return operation


def _quotient(left: int, right: int) -> int:
    if not right:
        raise CelError("division by zero")
    found = abs(left) // abs(right)
    return found if (left < 0) == (right < 0) else -found


def _remainder(left: int, right: int) -> int:
    if not right:
        raise CelError("modulus by zero")
    if left == -_MAX_INT - 1 and right == -1:
        raise CelError("integer overflow")
    found = abs(left) % abs(right)
    return -found if left < 0 else found


def _divide_doubles(left: float, right: float) -> float:
    if right:
        return left / right
    if not left or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


_NUMERIC = frozenset({int, UInt, float})
multiply = _numeric("*", _NUMERIC, lambda a, b: int(a) * int(b), lambda a, b: a * b)
divide = _numeric("/", _NUMERIC, _quotient, _divide_doubles)
modulo = _numeric("%", frozenset({int, UInt}), _remainder, lambda a, _: a)


def negate(value: Any) -> Any:
    """Return `-value`."""
    if value.__class__ is float:
        return -value
    if value.__class__ is int:
        return checked_int(-value)
    if value.__class__ is Duration:
        return checked_duration(-value.nanoseconds)
    if value.__class__ in _RECEIVERS or value.__class__ is bool:
        raise no_such_overload()
    raise CelError("no such overload: -_")


def invert(value: Any) -> bool:
    """Return `!value`."""
    if value is True:
        return False
    if value is False:
        return True
    raise no_such_overload()
