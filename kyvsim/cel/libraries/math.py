"""Functions on numbers: extremes, rounding, signs, bits, roots.

Source of the rules: upstream cel-go ext/math.go, version 2. `math.greatest` and `math.least` are
macros for `math.@max` and `math.@min`.
"""

import math
from collections.abc import Callable
from typing import Any

from kyvsim.cel.environment import FunctionDecl, Library, function, overload
from kyvsim.cel.errors import CelError
from kyvsim.cel.operators import NUMBERS, checked_int, compare
from kyvsim.cel.values import UInt

_NUMERIC = ("double", "int", "uint")
_WORD = 1 << 64
_MAX_INT = (1 << 63) - 1


def _same(value: Any) -> Any:
    return value


def _extreme(name: str, sign: int) -> FunctionDecl:
    """Return the function for one number, two, or a list; a draw is won by the first."""

    def of_pair(left: Any, right: Any) -> Any:
        try:
            return right if compare(left, right) * sign < 0 else left
        except CelError as error:
            raise CelError(f"{error}: {name}") from None

    def of_list(values: list[Any]) -> Any:
        if not values:
            raise CelError(f"{name}(list) argument must not be empty")
        found = values[0]
        for one in values[1:]:
            found = of_pair(found, one)
        if found.__class__ not in NUMBERS:
            raise CelError(f"no such overload: {name}")
        return found

    return function(
        name,
        *(overload(f"({kind}) -> {kind}", _same) for kind in _NUMERIC),
        *(overload(f"({kind}, {kind}) -> {kind}", of_pair) for kind in _NUMERIC),
        *(
            overload(f"({one}, {other}) -> dyn", of_pair)
            for one in _NUMERIC
            for other in _NUMERIC
            if one != other
        ),
        *(overload(f"(list<{kind}>) -> {kind}", of_list) for kind in _NUMERIC),
    )


def _of_double(name: str, result: str, run: Callable[[float], Any]) -> FunctionDecl:
    return function(f"math.{name}", overload(f"(double) -> {result}", run))


def _whole(step: Callable[[float], int]) -> Callable[[float], float]:
    """Return a rounding that leaves infinities and NaN alone, and the sign of zero."""

    def run(number: float) -> float:
        return math.copysign(float(step(number)), number) if math.isfinite(number) else number

    return run


def _nearest(number: float) -> int:
    """Return the nearest whole number; of two the one farther from zero."""
    whole = math.trunc(number)
    return whole + (1 if number > 0 else -1) if abs(number - whole) >= 0.5 else whole


round_half_away = _whole(_nearest)
"""Rounds to a whole number, a half away from zero."""


def _sign_of_double(number: float) -> float:
    if math.isnan(number):
        return number
    return float((number > 0) - (number < 0))


def _signed(number: int) -> int:
    """Return the int64 of these 64 bits."""
    bits = number % _WORD
    return bits - _WORD if bits > _MAX_INT else bits


def _unsigned(number: int) -> UInt:
    return UInt(number % _WORD)


def _bits_of_pair(name: str, run: Callable[[int, int], int]) -> FunctionDecl:
    return function(
        f"math.{name}",
        overload("(int, int) -> int", lambda left, right: _signed(run(left, right))),
        overload("(uint, uint) -> uint", lambda left, right: _unsigned(run(left, right))),
    )


def _shift(name: str, run: Callable[[int, int], int]) -> FunctionDecl:
    def shifted(make: Callable[[int], Any]) -> Callable[[int, int], Any]:
        def shift(number: int, places: int) -> Any:
            if places < 0:
                raise CelError(f"math.{name}() negative offset: {places}")
            return make(run(number % _WORD, places) if places < 64 else 0)

        return shift

    return function(
        f"math.{name}",
        overload("(int, int) -> int", shifted(_signed)),
        overload("(uint, int) -> uint", shifted(_unsigned)),
    )


MATH = Library(
    "math",
    (
        _extreme("math.@min", -1),
        _extreme("math.@max", 1),
        _of_double("ceil", "double", _whole(math.ceil)),
        _of_double("floor", "double", _whole(math.floor)),
        _of_double("round", "double", round_half_away),
        _of_double("trunc", "double", _whole(math.trunc)),
        _of_double("isInf", "bool", math.isinf),
        _of_double("isNaN", "bool", math.isnan),
        _of_double("isFinite", "bool", math.isfinite),
        function(
            "math.abs",
            overload("(double) -> double", abs),
            overload("(int) -> int", lambda number: checked_int(abs(number))),
            overload("(uint) -> uint", _same),
        ),
        function(
            "math.sign",
            overload("(double) -> double", _sign_of_double),
            overload("(int) -> int", lambda number: (number > 0) - (number < 0)),
            overload("(uint) -> uint", lambda number: UInt(number > 0)),
        ),
        function(
            "math.sqrt",
            *(
                overload(f"({kind}) -> double", lambda a: math.sqrt(a) if a >= 0 else math.nan)
                for kind in _NUMERIC
            ),
        ),
        _bits_of_pair("bitAnd", lambda left, right: left & right),
        _bits_of_pair("bitOr", lambda left, right: left | right),
        _bits_of_pair("bitXor", lambda left, right: left ^ right),
        function(
            "math.bitNot",
            overload("(int) -> int", lambda number: ~number),
            overload("(uint) -> uint", lambda number: _unsigned(~number)),
        ),
        _shift("bitShiftLeft", lambda number, places: number << places),
        _shift("bitShiftRight", lambda number, places: number >> places),
    ),
    macros="math",
)
