"""The closures of nodes that decide: equality, order, or, and, not.

The special forms of equality know what a literal on one side can equal.
"""

from operator import ge, gt, le, lt
from types import MappingProxyType
from typing import Final

from kyvsim.expr.closures import Run
from kyvsim.expr.semantics import NUMERIC, Missing
from kyvsim.kube.numbers import deep_equal
from kyvsim.kube.objects import Json
from kyvsim.model.budget import Meter


def equals(left: Run, right: Run, meter: Meter) -> Run:
    """Return the closure of `left == right`; a missing field is null."""

    def run(value: Json) -> Json:
        one, other = left(value), right(value)
        if one.__class__ is other.__class__ and (one.__class__ is dict or one.__class__ is list):
            meter.weigh(other)
        return deep_equal(
            None if one.__class__ is Missing else one,
            None if other.__class__ is Missing else other,
        )

    return run


def equals_text(left: Run, text: str) -> Run:
    """Return the closure of `left == 'text'`: only a text can equal it."""
    return lambda value: left(value) == text


def equals_flag(left: Run, flag: object) -> Run:
    """Return the closure of ``left == `true` ``; there is one True and one False."""
    return lambda value: left(value) is flag


def equals_null(left: Run) -> Run:
    """Return the closure of ``left == `null` ``; a missing field is null."""

    def run(value: Json) -> Json:
        found = left(value)
        return found is None or found.__class__ is Missing

    return run


def equals_number(left: Run, number: float) -> Run:
    """Return the closure of ``left == `1` ``: only a float can equal it."""

    def run(value: Json) -> Json:
        found = left(value)
        return found.__class__ is float and found == number

    return run


_ORDERS: Final = MappingProxyType({"lt": lt, "lte": le, "gt": gt, "gte": ge})


def ordered(name: str, left: Run, right: Run) -> Run:
    """Return the closure of `left < right` and its like: null unless both are floats."""
    order = _ORDERS[name]

    def run(value: Json) -> Json:
        one, other = left(value), right(value)
        if one.__class__ is float and other.__class__ is float:
            return order(one, other)
        return None

    return run


def either(left: Run, right: Run) -> Run:
    """Return the closure of `left || right`."""

    def run(value: Json) -> Json:
        found = left(value)
        if found or found.__class__ in NUMERIC:
            return found
        found = right(value)
        return None if found.__class__ is Missing else found

    return run


def both(left: Run, right: Run) -> Run:
    """Return the closure of `left && right`; a missing field on the right travels on."""

    def run(value: Json) -> Json:
        found = left(value)
        if found or found.__class__ in NUMERIC:
            return right(value)
        return None if found.__class__ is Missing else found

    return run


def negate(inner: Run) -> Run:
    """Return the closure of `!inner`."""

    def run(value: Json) -> Json:
        found = inner(value)
        return not (found or found.__class__ in NUMERIC)

    return run
