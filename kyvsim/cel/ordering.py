"""Which of two values comes first.

Source of the rules: upstream cel-go common/types (Compare), common/stdlib/standard.go.
"""

from collections.abc import Callable
from typing import Any

from kyvsim.cel.equality import NUMBERS, compare_numbers
from kyvsim.cel.errors import CelError, no_such_overload
from kyvsim.cel.values import Duration, Timestamp

_PLAIN = frozenset({str, bytes, bool, int})
COMPARABLE = frozenset({*_PLAIN, *NUMBERS, Duration, Timestamp})


def compare(left: Any, right: Any) -> int:
    """Return a number below, at or above 0; raises CelError where the values have no order."""
    kind = left.__class__
    if kind is right.__class__ and kind in _PLAIN:
        return int(left > right) - int(left < right)
    if kind in NUMBERS and right.__class__ in NUMBERS:
        if left != left or right != right:  # noqa: PLR0124 — only a NaN differs from itself
            raise CelError("NaN values cannot be ordered")
        return compare_numbers(left, right)
    if kind is right.__class__ and kind in {Duration, Timestamp}:
        return compare(left.nanoseconds, right.nanoseconds)
    raise no_such_overload()


def _relation(sign: str, holds: Callable[[int], bool]) -> Callable[[Any, Any], bool]:
    fault = f"no such overload: _{sign}_"

    def relation(left: Any, right: Any) -> bool:
        if left.__class__ not in COMPARABLE:
            raise CelError(fault)
        if left != left or right != right:  # noqa: PLR0124 — only a NaN differs from itself
            return False
        return holds(compare(left, right))

    return relation


less = _relation("<", lambda order: order < 0)
less_or_equal = _relation("<=", lambda order: order <= 0)
greater = _relation(">", lambda order: order > 0)
greater_or_equal = _relation(">=", lambda order: order >= 0)
