"""GreaterThan, LessThan and their kin, and the older Duration operators.

Both sides compare as durations, else as quantities, else as numbers, else as versions; what
compares in no way is never in order.

upstream: pkg/engine/variables/operator/numeric.go and duration.go.
"""

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

from kyvsim.conditions.durations import duration_pair, in_seconds, seconds_as_duration
from kyvsim.kube.numbers import parse_float
from kyvsim.kube.objects import Json
from kyvsim.kube.quantities import parse_duration, parse_quantity
from kyvsim.kube.semver import parse_version

Order: TypeAlias = Callable[[Any, Any], bool]


def greater_than(key: Json, value: Json) -> bool:
    """Return whether the key is greater than the value."""
    return _in_order(key, value, operator.gt)


def greater_than_or_equals(key: Json, value: Json) -> bool:
    """Return whether the key is at least the value."""
    return _in_order(key, value, operator.ge)


def less_than(key: Json, value: Json) -> bool:
    """Return whether the key is less than the value."""
    return _in_order(key, value, operator.lt)


def less_than_or_equals(key: Json, value: Json) -> bool:
    """Return whether the key is at most the value."""
    return _in_order(key, value, operator.le)


def duration_greater_than(key: Json, value: Json) -> bool:
    """Return whether the key is a longer duration than the value."""
    return _durations_in_order(key, value, operator.gt)


def duration_greater_than_or_equals(key: Json, value: Json) -> bool:
    """Return whether the key is at least as long a duration as the value."""
    return _durations_in_order(key, value, operator.ge)


def duration_less_than(key: Json, value: Json) -> bool:
    """Return whether the key is a shorter duration than the value."""
    return _durations_in_order(key, value, operator.lt)


def duration_less_than_or_equals(key: Json, value: Json) -> bool:
    """Return whether the key is at most as long a duration as the value."""
    return _durations_in_order(key, value, operator.le)


def _in_order(key: Json, value: Json, order: Order) -> bool:
    kind = key.__class__
    if kind is int or kind is float:
        return _number_in_order(float(key), value, order)
    return kind is str and _text_in_order(key, value, order)


def _number_in_order(key: float, value: Json, order: Order) -> bool:
    kind = value.__class__
    if kind is int or kind is float:
        return order(key, float(value))
    if kind is not str:
        return False
    pair = duration_pair(key, value)
    if pair is not None:
        return order(in_seconds(pair[0]), in_seconds(pair[1]))
    number = parse_float(value)
    return number is not None and order(key, number)


def _text_in_order(key: str, value: Json, order: Order) -> bool:
    pair = duration_pair(key, value)
    if pair is not None:
        return order(in_seconds(pair[0]), in_seconds(pair[1]))
    if value.__class__ is str:
        left, right = parse_quantity(key), parse_quantity(value)
        if left is not None and right is not None:
            return order(left, right)
    number = parse_float(key)
    if number is not None:
        return _number_in_order(number, value, order)
    return value.__class__ is str and _versions_in_order(key, value, order)


def _versions_in_order(key: str, value: str, order: Order) -> bool:
    left, right = parse_version(key), parse_version(value)
    return left is not None and right is not None and order(left, right)


def _durations_in_order(key: Json, value: Json, order: Order) -> bool:
    left, right = _as_duration(key), _as_duration(value)
    return left is not None and right is not None and order(left, right)


def _as_duration(value: Json) -> int | None:
    return parse_duration(value) if value.__class__ is str else seconds_as_duration(value)
