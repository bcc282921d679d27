"""Functions on numbers: extremes, rounding, signs, bits, roots.

Source of the rules: upstream cel-go ext/math.go, version 2. `math.greatest` and `math.least` are
macros for `math.@max` and `math.@min`.
"""

import math
import operator
from collections.abc import Callable

from kyvsim.cel.environment import FunctionDecl, Library, function
from kyvsim.cel.errors import CelError
from kyvsim.cel.operators import NUMBERS, checked_int, compare
from kyvsim.cel.values import UInt

_NUMERIC = ("double", "int", "uint")
_WORD = 1 << 64
_MAX_INT = (1 << 63) - 1


def _same(value: object) -> object:
    return value


def _extreme(name: str, sign: int) -> tuple[FunctionDecl, ...]:
    """Return the function for one number, two, or a list; of equal values the first is returned."""

    def of_pair(left: object, right: object) -> object:
        try:
            return right if compare(left, right) * sign < 0 else left
        except CelError as error:
            raise CelError(f"{error}: {name}") from None

    def of_list(values: list[object]) -> object:
        if not values:
            raise CelError(f"{name}(list) argument must not be empty")
        found = values[0]
        for one in values[1:]:
            found = of_pair(found, one)
        if found.__class__ not in NUMBERS:
            raise CelError(f"no such overload: {name}")
        return found

    numbers, pairs = _NUMERIC, [(one, other) for one in _NUMERIC for other in _NUMERIC]
    return (
        *(function(f"{name}({kind}) -> {kind}", _same) for kind in numbers),
        *(function(f"{name}({kind}, {kind}) -> {kind}", of_pair) for kind in numbers),
        *(function(f"{name}({a}, {b}) -> dyn", of_pair) for a, b in pairs if a != b),
        *(function(f"{name}(list<{kind}>) -> {kind}", of_list) for kind in numbers),
    )


def _whole(step: Callable[[float], int]) -> Callable[[float], float]:
    """Return a rounding that keeps infinities, NaN and the sign of zero."""

    def run(number: float) -> float:
        return math.copysign(float(step(number)), number) if math.isfinite(number) else number

    return run


def _nearest(number: float) -> int:
    """Return the nearest whole number; a half is rounded away from zero."""
    whole = math.trunc(number)
    return whole + (1 if number > 0 else -1) if abs(number - whole) >= 0.5 else whole


round_half_away = _whole(_nearest)
"""Rounds to a whole number; a half is rounded away from zero."""


def _signed(number: int) -> int:
    bits = number % _WORD
    return bits - _WORD if bits > _MAX_INT else bits


def _unsigned(number: int) -> UInt:
    return UInt(number % _WORD)


def _bits_of_pair(name: str, run: Callable[[int, int], int]) -> tuple[FunctionDecl, ...]:
    return (
        function(f"math.{name}(int, int) -> int", lambda a, b: _signed(run(a, b))),
        function(f"math.{name}(uint, uint) -> uint", lambda a, b: _unsigned(run(a, b))),
    )


def _shift(name: str, run: Callable[[int, int], int]) -> tuple[FunctionDecl, ...]:
    def shifted(make: Callable[[int], object]) -> Callable[[int, int], object]:
        def shift(number: int, places: int) -> object:
            if places < 0:
                raise CelError(f"math.{name}() negative offset: {places}")
            return make(run(number % _WORD, places) if places < 64 else 0)

        return shift

    return (
        function(f"math.{name}(int, int) -> int", shifted(_signed)),
        function(f"math.{name}(uint, int) -> uint", shifted(_unsigned)),
    )


MATH = Library(
    "math",
    (
        *_extreme("math.@min", -1),
        *_extreme("math.@max", 1),
        function("math.ceil(double) -> double", _whole(math.ceil)),
        function("math.floor(double) -> double", _whole(math.floor)),
        function("math.round(double) -> double", round_half_away),
        function("math.trunc(double) -> double", _whole(math.trunc)),
        function("math.isInf(double) -> bool", math.isinf),
        function("math.isNaN(double) -> bool", math.isnan),
        function("math.isFinite(double) -> bool", math.isfinite),
        function("math.abs(double) -> double", abs),
        function("math.abs(int) -> int", lambda number: checked_int(abs(number))),
        function("math.abs(uint) -> uint", _same),
        function(
            "math.sign(double) -> double",
            lambda number: number if math.isnan(number) else float((number > 0) - (number < 0)),
        ),
        function("math.sign(int) -> int", lambda number: (number > 0) - (number < 0)),
        function("math.sign(uint) -> uint", lambda number: UInt(number > 0)),
        *(
            function(
                f"math.sqrt({kind}) -> double",
                lambda number: math.sqrt(number) if number >= 0 else math.nan,
            )
            for kind in _NUMERIC
        ),
        *_bits_of_pair("bitAnd", operator.and_),
        *_bits_of_pair("bitOr", operator.or_),
        *_bits_of_pair("bitXor", operator.xor),
        function("math.bitNot(int) -> int", lambda number: ~number),
        function("math.bitNot(uint) -> uint", lambda number: _unsigned(~number)),
        *_shift("bitShiftLeft", operator.lshift),
        *_shift("bitShiftRight", operator.rshift),
    ),
    macros="math",
)
