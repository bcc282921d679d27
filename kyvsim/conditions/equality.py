"""Equals and NotEquals.

The key's type decides how both sides compare. A text as value is a wildcard pattern for the key.

upstream: pkg/engine/variables/operator/equal.go and notequal.go.
"""

from collections.abc import Callable

from kyvsim.conditions.durations import duration_of, duration_pair, in_seconds
from kyvsim.kube.numbers import deep_equal, float_equals, int_equals
from kyvsim.kube.objects import Json
from kyvsim.kube.quantities import parse_quantity
from kyvsim.kube.wildcard import compile_wildcard, has_wildcard, matches


def equals(key: Json, value: Json) -> bool:
    """Return whether key and value are equal; a null key equals nothing."""
    kind = key.__class__
    if kind is str:
        return _text_equals(key, value)
    if kind is bool:
        return key is value
    if kind is float:
        return float_equals(key, value)
    if kind is int:
        return int_equals(key, value)
    if kind is dict or kind is list:
        return deep_equal(key, value)
    return False


def not_equals(key: Json, value: Json) -> bool:
    """Return whether key and value differ; a null key differs from nothing."""
    if key is None:
        return False
    if value == "" and key.__class__ is str and duration_pair(key, value) is None:
        return bool(key != "")
    return not equals(key, value)


def equals_constant(value: Json) -> Callable[[Json], bool]:
    """Return the test of keys for being equal to `value`."""
    test = _text_test(value)
    if test is None:
        return lambda key: equals(key, value)
    return lambda key: test(key) if key.__class__ is str else equals(key, value)


def not_equals_constant(value: Json) -> Callable[[Json], bool]:
    """Return the test of keys for differing from `value`."""
    test = _text_test(value)
    if test is None:
        return lambda key: not_equals(key, value)
    return lambda key: not test(key) if key.__class__ is str else not_equals(key, value)


def _text_test(value: Json) -> Callable[[str], bool] | None:
    """Return the test of text keys against a text that is neither duration nor quantity.

    Such a value never equals a key that is a quantity; any other key it compares with as text.
    """
    if value.__class__ is not str or value == "":
        return None
    if duration_of(value) is not None or parse_quantity(value) is not None:
        return None
    if has_wildcard(value):
        match = compile_wildcard(value)
        return lambda key: match(key) and parse_quantity(key) is None
    return value.__eq__


def _text_equals(key: str, value: Json) -> bool:
    pair = duration_pair(key, value)
    if pair is not None:
        return in_seconds(pair[0]) == in_seconds(pair[1])
    if value.__class__ is not str:
        return False
    quantity = parse_quantity(key)
    return matches(value, key) if quantity is None else quantity == parse_quantity(value)
