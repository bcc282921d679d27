"""`math.round` to a number of digits.

Source of the rules: upstream kyverno/sdk extensions/cel/libs/math. It goes by way of a power of
ten, so `math.round(1.255, 2)` is 1.25.
"""

import math

from kyvsim.cel.environment import Library, function, way
from kyvsim.cel.libraries.math import round_half_away


def _round(number: float, digits: int) -> float:
    shift = _power_of_ten(digits)
    return _divided(round_half_away(number * shift), shift)


def _power_of_ten(digits: int) -> float:
    try:
        return math.pow(10, digits)
    except OverflowError:
        return math.inf


def _divided(number: float, shift: float) -> float:
    if shift:
        return number / shift
    return math.copysign(math.inf, number) if number else math.nan


ROUNDING = Library("rounding", (function("math.round", way("(double, int) -> double", _round)),))
