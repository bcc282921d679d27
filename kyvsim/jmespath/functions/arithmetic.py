"""Arithmetic on numbers, quantities (`1Gi`) and durations (`1h`).

upstream: pkg/engine/jmespath/arithmetic.go. A string is a quantity if it can be parsed as one, or
a duration: `30m` is 0.03 and not half an hour.
"""

import math
from collections.abc import Callable
from typing import TypeAlias

from kyvsim.jmespath.functions import QueryError, function
from kyvsim.kubernetes.go_text import sprint
from kyvsim.kubernetes.quantities import (
    SECOND,
    Quantity,
    format_duration,
    parse_duration,
    parse_quantity,
    to_int64,
    wrap_int64,
)

_Operand: TypeAlias = float | Quantity | int
"""A float is a number, an int is a duration in nanoseconds."""


def _operand(name: str, value: object) -> _Operand:
    if value.__class__ is float:
        return value
    if value.__class__ is str:
        quantity = parse_quantity(value)
        if quantity is not None:
            return quantity
        nanoseconds = parse_duration(value)
        if nanoseconds is not None:
            return nanoseconds
    raise _problem(name, "invalid operand")


def _problem(name: str, text: str) -> QueryError:
    return QueryError(f"JMESPath function '{name}': {text}")


def _mismatch(name: str) -> QueryError:
    return _problem(name, "Types mismatch")


def _zero(name: str) -> QueryError:
    return _problem(name, "Zero divisor passed")


def _text(name: str, compute: Callable[[Quantity], Quantity], other: Quantity) -> str:
    try:
        return str(compute(other))
    except (OverflowError, ValueError):  # ValueError: Python converts at most 4300 digits
        raise _problem(name, "quantity is out of range") from None


def _number_text(number: float) -> Quantity:
    quantity = parse_quantity(sprint(number))
    if quantity is None:
        raise QueryError(
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        )
    return quantity


def _seconds(nanoseconds: int) -> float:
    whole, rest = divmod(abs(nanoseconds), SECOND)
    seconds = float(whole) + float(rest) / 1e9
    return -seconds if nanoseconds < 0 else seconds


def _duration_text(seconds: float) -> str:
    return format_duration(to_int64(seconds * 1e9))


def _combined(name: str, one: _Operand, other: _Operand) -> str | float:
    """Return the sum, or for `subtract` the difference, of two operands of one type."""
    subtracts = name == "subtract"
    if isinstance(one, Quantity) and isinstance(other, Quantity):
        return _text(name, one.minus if subtracts else one.plus, other)
    if isinstance(one, int) and isinstance(other, int):
        return format_duration(wrap_int64(one - other if subtracts else one + other))
    if isinstance(one, float) and isinstance(other, float):
        return one - other if subtracts else one + other
    raise _mismatch(name)


def add(left: object, right: object) -> str | float:
    """Return the sum of two operands of one type."""
    return _combined("add", _operand("add", left), _operand("add", right))


def total(items: list[object]) -> object:
    """Return the sum of a list; the only element of a list is returned unchanged."""
    if not items:
        raise _problem("sum", "at least one element in the array is required")
    result, *rest = items
    for item in rest:
        result = _combined("sum", _operand("sum", result), _operand("sum", item))
    return result


def subtract(left: object, right: object) -> str | float:
    """Return the difference of two operands of one type."""
    return _combined("subtract", _operand("subtract", left), _operand("subtract", right))


def multiply(left: object, right: object) -> str | float:
    """Return a product in which at least one factor is a number."""
    one, other = _operand("multiply", left), _operand("multiply", right)
    if not isinstance(other, float):
        one, other = other, one
    if not isinstance(other, float):
        raise _mismatch("multiply")
    if isinstance(one, Quantity):
        return _text("multiply", one.times, _number_text(other))
    if isinstance(one, int):
        return _duration_text(_seconds(one) * other)
    return one * other


def divide(left: object, right: object) -> str | float:
    """Return a quotient: a number for operands of one type, or a value of the dividend's type."""
    one, other = _operand("divide", left), _operand("divide", right)
    if isinstance(other, float):
        if not other:
            raise _zero("divide")
        if isinstance(one, Quantity):
            return _text("divide", one.divided_by, _number_text(other))
        if isinstance(one, int):
            return _duration_text(_seconds(one) / other)
        return one / other
    if isinstance(one, Quantity) and isinstance(other, Quantity):
        divisor = other.approximate()
        if not divisor:
            raise _zero("divide")
        return one.approximate() / divisor
    if isinstance(one, int) and isinstance(other, int):
        if not other:
            raise _zero("divide")
        return _seconds(one) / _seconds(other)
    raise _mismatch("divide")


def modulo(left: object, right: object) -> str | float:
    """Return the remainder of whole operands of one type, with the dividend's sign."""
    one, other = _operand("modulo", left), _operand("modulo", right)
    if isinstance(one, Quantity) and isinstance(other, Quantity):
        rest = _rest(_whole(one.approximate()), _whole(other.approximate()))
        return str(Quantity(rest, 0, one.format))
    if isinstance(one, int) and isinstance(other, int):
        return format_duration(_rest(one, other))
    if isinstance(one, float) and isinstance(other, float):
        return float(_rest(_whole(one), _whole(other)))
    raise _mismatch("modulo")


def _whole(number: float) -> int:
    whole = to_int64(number)
    if float(whole) != number:
        raise _problem("modulo", "Non-integer argument(s) passed for modulo")
    return whole


def _rest(dividend: int, divisor: int) -> int:
    if not divisor:
        raise _zero("modulo")
    rest = abs(dividend) % abs(divisor)
    return -rest if dividend < 0 else rest


def round_half_away(number: float, digits: float) -> float:
    """Return `number` rounded to that many decimal places, halves away from zero."""
    if not digits.is_integer():
        raise _problem("round", "Non-integer argument(s) passed for round off")
    if digits < 0:  # upstream: the format string has too few arguments, and Go prints that
        raise _problem("round", "%!d(MISSING) argument is out of bounds (%!d(MISSING))")
    shift = _power_of_ten(int(digits)) if digits <= 308 else math.inf
    shifted = number * shift
    if not math.isfinite(shifted):
        return shifted / shift
    fraction, whole = math.modf(shifted)
    if abs(fraction) >= 0.5:
        whole += math.copysign(1.0, shifted)
    return math.copysign(whole, shifted) / shift


def _power_of_ten(exponent: int) -> float:
    """Return 10**exponent by squaring, as Go's math.Pow; beyond 22 the last digits differ."""
    power, power_scale = 1.0, 0
    square, scale = math.frexp(10.0)
    while exponent:
        if exponent & 1:
            power *= square
            power_scale += scale
        square *= square
        scale *= 2
        if square < 0.5:
            square *= 2
            scale -= 1
        exponent >>= 1
    return math.ldexp(power, power_scale)


FUNCTIONS = (
    function(
        "add(any, any) any",
        "the sum of two numbers, two quantities or two durations",
        add,
        ("add(`1`, `2`)", 3.0),
        ("add('1Gi', '1Mi')", "1025Mi"),
    ),
    function(
        "sum(array) any",
        "the sum of a list of numbers, quantities or durations; an empty list is an error",
        total,
        ("sum(@)", "1h1m30s", ["1h", "90s"]),
    ),
    function(
        "subtract(any, any) any",
        "the difference of two numbers, two quantities or two durations",
        subtract,
        ("subtract('1Gi', '512Mi')", "512Mi"),
    ),
    function(
        "multiply(any, any) any",
        "a number, quantity or duration multiplied by a number",
        multiply,
        ("multiply('1Gi', `2`)", "2Gi"),
        ("multiply(`2`, '1h')", "2h0m0s"),
    ),
    function(
        "divide(any, any) any",
        "the quotient: a number if both sides have the same type, otherwise a quantity or duration",
        divide,
        ("divide('1Gi', '512Mi')", 2.0),
        ("divide('1Gi', `3`)", "357913941"),
    ),
    function(
        "modulo(any, any) any",
        "the remainder of dividing whole numbers, quantities or durations",
        modulo,
        ("modulo(`7`, `3`)", 1.0),
        ("modulo('25s', '10s')", "5s"),
    ),
    function(
        "round(number, number) number",
        "the number rounded to the given number of decimal places, halves away from zero",
        round_half_away,
        ("round(`2.675`, `2`)", 2.68),
        ("round(`-2.5`, `0`)", -3.0),
    ),
)
