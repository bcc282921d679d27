"""The operators of conditions: their implementation, and one record each.

Source of the rules: upstream pkg/engine/variables/operator.
"""

import json
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias

from kyvsim.kubernetes.go_text import sprint
from kyvsim.kubernetes.quantities import (
    SECOND,
    deep_equal,
    float_equals,
    int_equals,
    parse_duration,
    parse_float,
    parse_quantity,
    to_int64,
    wrap_int64,
)
from kyvsim.kubernetes.semver import parse_version
from kyvsim.kubernetes.wildcard import (
    compile_text_pattern,
    compile_wildcard,
    has_wildcard,
    is_range,
    matches,
)
from kyvsim.model.ports import FEW

Test: TypeAlias = Callable[[object], bool]
"""Returns whether a condition holds for this key."""
_TextTest: TypeAlias = Callable[[str], bool]

# Conversions of operands that several operators share: pairs of durations, seconds.
#
# upstream: parseDuration in pkg/engine/variables/operator/operator.go.


def seconds_as_duration(value: object) -> int | None:
    """Return whole seconds in nanoseconds, without the fraction; None if it is not a number."""
    if value.__class__ is float:
        return wrap_int64(to_int64(value) * SECOND)
    return wrap_int64(value * SECOND) if value.__class__ is int else None


def duration_of(value: object) -> int | None:
    """Return the nanoseconds of a duration string; the string "0" is not a duration."""
    return parse_duration(value) if value.__class__ is str and value != "0" else None


def duration_pair(one: object, other: object) -> tuple[int, int] | None:
    """Return both sides in nanoseconds if they compare as durations.

    They do if one of them is a duration string and the other one too, or a number of seconds.
    """
    left, right = duration_of(one), duration_of(other)
    if left is None and right is None:
        return None
    if left is None:
        left = seconds_as_duration(one)
    if right is None:
        right = seconds_as_duration(other)
    return None if left is None or right is None else (left, right)


def in_seconds(nanoseconds: int) -> float:
    """Return a duration as seconds; long ones lose their last nanoseconds."""
    whole, rest = divmod(abs(nanoseconds), SECOND)
    amount = float(whole) + rest / 1e9
    return -amount if nanoseconds < 0 else amount


# Equals and NotEquals.
#
# The key's type decides how both sides compare. A string value is a wildcard pattern for the key.
#
# upstream: pkg/engine/variables/operator/equal.go and notequal.go.


def equals(key: object, value: object) -> bool:
    """Return whether key and value are equal; a null key equals nothing."""
    if key.__class__ is str:
        pair = duration_pair(key, value)
        if pair is not None:
            return in_seconds(pair[0]) == in_seconds(pair[1])
        if value.__class__ is not str:
            return False
        quantity = parse_quantity(key)
        return matches(value, key) if quantity is None else quantity == parse_quantity(value)
    if key.__class__ is bool:
        return key is value
    if key.__class__ is float:
        return float_equals(key, value)
    if key.__class__ is int:
        return int_equals(key, value)
    if key.__class__ is dict or key.__class__ is list:
        return deep_equal(key, value)
    return False


def not_equals(key: object, value: object) -> bool:
    """Return whether key and value differ; a null key differs from nothing."""
    if key is None:
        return False
    if value == "" and key.__class__ is str and duration_pair(key, value) is None:
        return bool(key != "")
    return not equals(key, value)


def _prepare_equals(value: object) -> Test:
    test = _text_test(value)
    if test is None:
        return lambda key: equals(key, value)
    return lambda key: test(key) if key.__class__ is str else equals(key, value)


def _prepare_not_equals(value: object) -> Test:
    test = _text_test(value)
    if test is None:
        return lambda key: not_equals(key, value)
    return lambda key: not test(key) if key.__class__ is str else not_equals(key, value)


def _text_test(value: object) -> _TextTest | None:
    """Return the test of string keys against a string that is neither duration nor quantity.

    Such a value never equals a key that is a quantity; other keys are compared as strings.
    """
    if value.__class__ is not str or value == "":
        return None
    if duration_of(value) is not None or parse_quantity(value) is not None:
        return None
    if has_wildcard(value):
        match = compile_wildcard(value)
        return lambda key: match(key) and parse_quantity(key) is None
    return value.__eq__


# GreaterThan, LessThan and similar operators, and the deprecated Duration operators.
#
# Both sides are compared as durations, quantities, numbers or versions, in this order; if
# none of these is possible, conditions do not hold.
#
# upstream: pkg/engine/variables/operator/numeric.go and duration.go.

Order: TypeAlias = Callable[[Any, Any], bool]


def _in_order(order: Order, key: object, value: object) -> bool:
    if key.__class__ is int or key.__class__ is float:
        return _number_in_order(float(key), value, order)
    return key.__class__ is str and _text_in_order(key, value, order)


def _number_in_order(key: float, value: object, order: Order) -> bool:
    if value.__class__ is int or value.__class__ is float:
        return order(key, float(value))
    if value.__class__ is not str:
        return False
    pair = duration_pair(key, value)
    if pair is not None:
        return order(in_seconds(pair[0]), in_seconds(pair[1]))
    number = parse_float(value)
    return number is not None and order(key, number)


def _text_in_order(key: str, value: object, order: Order) -> bool:
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
    if value.__class__ is not str:
        return False
    older, newer = parse_version(key), parse_version(value)
    return older is not None and newer is not None and order(older, newer)


def _durations_in_order(order: Order, key: object, value: object) -> bool:
    left, right = _as_duration(key), _as_duration(value)
    return left is not None and right is not None and order(left, right)


def _as_duration(value: object) -> int | None:
    return parse_duration(value) if value.__class__ is str else seconds_as_duration(value)


# AnyIn, AllIn, AnyNotIn, AllNotIn, and the deprecated In and NotIn.
#
# Keys and list elements are compared as strings. A value is a list, a string that is a JSON list of
# strings, a range, or one string; with any other type every operator is false. Between elements,
# wildcards apply on both sides.
#
# upstream: anyin.go, allin.go, anynotin.go, allnotin.go, in.go and notin.go in
# pkg/engine/variables/operator.


class Membership(NamedTuple):
    """The set of values that keys may be in."""

    holds_scalar: Callable[[str], bool | None]
    """Whether a scalar key is in it; None if the value is not a list or string."""
    holds: _TextTest | None = None
    """Whether an element of a list key is in it; None if the value is not a list or string."""
    lacks: _TextTest | None = None
    """Whether an element of a list key is outside, for AnyNotIn; None: the opposite of `holds`."""
    text: str | None = None
    """The value if it is a string: a list key of just this string is in it."""
    is_single: bool = False
    """Whether it is a number or boolean: supported by AnyIn and AnyNotIn with list keys only."""


def _any_in(key: object, choice: Membership) -> bool:
    if key.__class__ is not list:
        return _scalar_is(key, choice, wanted=True)
    texts = _texts(key)
    if _is_just(texts, choice):
        return True
    return choice.holds is not None and any(map(choice.holds, texts))


def _all_in(key: object, choice: Membership) -> bool:
    if key.__class__ is not list:
        return _scalar_is(key, choice, wanted=True)
    texts = _texts(key)
    if _is_just(texts, choice):
        return True
    return choice.holds is not None and not choice.is_single and all(map(choice.holds, texts))


def _any_not_in(key: object, choice: Membership) -> bool:
    if key.__class__ is not list:
        return _scalar_is(key, choice, wanted=False)
    texts = _texts(key)
    if choice.holds is None or _is_just(texts, choice):
        return False
    if choice.lacks is not None:
        return any(map(choice.lacks, texts))
    return not all(map(choice.holds, texts))


def _all_not_in(key: object, choice: Membership) -> bool:
    if key.__class__ is not list:
        return _scalar_is(key, choice, wanted=False)
    texts = _texts(key)
    if choice.holds is None or choice.is_single or _is_just(texts, choice):
        return False
    return not any(map(choice.holds, texts))


def _scalar_is(key: object, choice: Membership, *, wanted: bool) -> bool:
    if key is None or key.__class__ is dict:
        return False
    return choice.holds_scalar(key if key.__class__ is str else sprint(key)) is wanted


def _is_just(texts: Sequence[str], choice: Membership) -> bool:
    return choice.text is not None and len(texts) == 1 and texts[0] == choice.text


def _texts(values: Sequence[object]) -> list[str]:
    return [value if value.__class__ is str else sprint(value) for value in values]


def _read(value: object) -> Membership:
    if value.__class__ is list:
        holds = _among(_texts(value))
        return Membership(holds, holds)
    if value.__class__ is str:
        if is_range(value):
            holds = compile_text_pattern(value)
            lacks = compile_text_pattern(value.replace("-", "!-", 1))
            return Membership(holds, holds, lacks, text=value)
        elements = _listed(value)
        if elements is None:
            return Membership(lambda key: True if matches(value, key) else None, text=value)
        return Membership(
            lambda key: matches(value, key) or key in elements, _among(elements), text=value
        )
    if value is None or value.__class__ is dict:
        return Membership(_no_choice)
    return Membership(_no_choice, _among([sprint(value)]), is_single=True)


def _no_choice(_: str) -> None:
    return None


def _listed(value: str) -> list[str] | None:
    """Return the strings of a string value: of a JSON list, or itself if it is not JSON.

    None if it is other JSON.
    """
    try:
        data = _read_json(value)
    except (ValueError, RecursionError):
        return [value]
    return _as_texts(data)


def _as_texts(data: object) -> list[str] | None:
    """Return decoded JSON as Go decodes a list of strings: null is empty in both places."""
    if data is None:
        return []
    if data.__class__ is not list:
        return None
    if not all(item is None or item.__class__ is str for item in data):
        return None
    return [item or "" for item in data]


def _refuse(text: str) -> NoReturn:
    raise ValueError(text)


_read_json: Final = json.JSONDecoder(parse_int=len, parse_float=len, parse_constant=_refuse).decode
"""Reads what Go accepts as JSON; numbers are only recognised."""


def _among(texts: list[str]) -> _TextTest:
    plain = frozenset(texts)
    patterns = tuple(compile_wildcard(text) for text in texts if has_wildcard(text))

    def holds(key: str) -> bool:
        if key in plain:
            return True
        if patterns and any(match(key) for match in patterns):
            return True
        return has_wildcard(key) and any(matches(key, text) for text in texts)

    return holds


def pairs(left: object, right: object) -> int:
    """Return how many pairs of elements of a list key and a value are compared one by one.

    Elements without wildcards are looked up. Small lists do not count.
    """
    if left.__class__ is not list or len(left) <= FEW:
        return 0
    if right.__class__ is str:
        return len(left) * right.count(",") if has_wildcard(right) else 0
    if right.__class__ is not list or len(right) <= FEW:
        return 0
    return _wild(left) * len(right) + _wild(right) * len(left)


def _wild(values: Sequence[object]) -> int:
    return sum(1 for one in values if one.__class__ is str and has_wildcard(one))


def _older_is_in(key: object, value: object, *, wanted: bool) -> bool:
    """Return whether the key, or every element of a list key, is in the value, or is not.

    List keys have no wildcards, and only their elements are compared.
    """
    if key.__class__ is list:
        texts = _texts(key)
        if value.__class__ is str:
            # upstream: a list key of one element that is the value itself is in it, and missing.
            if texts == [value]:
                return True
            elements = _json_texts(value)
        else:
            elements = _as_texts(value) if value.__class__ is list and None not in value else None
        return elements is not None and set(elements).issuperset(texts) is wanted
    if key is None or key.__class__ is dict:
        return False
    text = key if key.__class__ is str else sprint(key)
    if value.__class__ is list:
        return _among(_texts(value))(text) is wanted
    if value.__class__ is not str:
        return False
    if matches(value, text):
        return wanted
    elements = _json_texts(value)
    return elements is not None and (text in elements) is wanted


def _json_texts(value: str) -> list[str] | None:
    try:
        return _as_texts(_read_json(value))
    except (ValueError, RecursionError):
        return None


# The operators of conditions: one record each with all their properties.
#
# The order is that of upstream's error messages. upstream: pkg/engine/variables/operator
# (operator.go, utils.go), pkg/validation/policy/validate.go.

Holds: TypeAlias = Callable[[object, object], bool]


class Operator(NamedTuple):
    """The name and the implementation of an operator."""

    name: str
    meaning: str
    """When a condition with the operator holds."""
    holds: Holds
    """Whether a condition with this key and value holds; never raises."""
    prepare: Callable[[object], Test] | None = None
    """Creates the test of keys against one value; None if nothing can be computed in
    advance."""
    successors: tuple[str, ...] = ()
    """The operators to use instead, if it is deprecated."""
    pairs: Callable[[object, object], int] | None = None
    """Counts pairs of elements of a key and a value that are compared, if there may be
    many."""
    warned: bool = False
    """Whether Kyverno warns of it when it admits a policy."""

    def test(self, value: object) -> Test:
        """Return the test of keys against one value, with prepared parts of `value`."""
        holds = self.holds
        return self.prepare(value) if self.prepare else lambda key: holds(key, value)


_EQUAL = "key and value are equal; a null key equals nothing", equals, _prepare_equals
_NOT_EQUAL = (
    "key and value differ; a null key differs from nothing",
    not_equals,
    _prepare_not_equals,
)


def _membership(
    decide: Callable[[object, Membership], bool],
) -> tuple[Holds, Callable[[object], Test]]:
    """Return the implementation of an operator, and the test against one value."""

    def prepare(value: object) -> Test:
        choice = _read(value)
        return lambda key: decide(key, choice)

    return (lambda key, value: decide(key, _read(value))), prepare


_IN = partial(_older_is_in, wanted=True)
_NOT_IN = partial(_older_is_in, wanted=False)
_ANY_IN = "the key, or an element of a list key, is among the value's elements"
_ALL_IN = "the key, or every element of a list key, is among the value's elements"
_ANY_NOT_IN = "the key, or an element of a list key, is not among the value's elements"
_ALL_NOT_IN = "the key, or every element of a list key, is not among the value's"
_IS_IN = "the key, or every element of a list key, is in the value"
_IS_NOT_IN = "the key, or an element of a list key, is missing in the value"

OPERATORS: tuple[Operator, ...] = (
    Operator("Equal", *_EQUAL, successors=("Equals",)),
    Operator("Equals", *_EQUAL),
    Operator("NotEqual", *_NOT_EQUAL, successors=("NotEquals",)),
    Operator("NotEquals", *_NOT_EQUAL),
    Operator("In", _IS_IN, _IN, successors=("AnyIn", "AllIn"), warned=True),
    Operator("AnyIn", _ANY_IN, *_membership(_any_in), pairs=pairs),
    Operator("AllIn", _ALL_IN, *_membership(_all_in), pairs=pairs),
    Operator("NotIn", _IS_NOT_IN, _NOT_IN, successors=("AnyNotIn", "AllNotIn"), warned=True),
    Operator("AnyNotIn", _ANY_NOT_IN, *_membership(_any_not_in), pairs=pairs),
    Operator("AllNotIn", _ALL_NOT_IN, *_membership(_all_not_in), pairs=pairs),
    Operator(
        "GreaterThanOrEquals", "the key is at least the value", partial(_in_order, operator.ge)
    ),
    Operator("GreaterThan", "the key is greater than the value", partial(_in_order, operator.gt)),
    Operator("LessThanOrEquals", "the key is at most the value", partial(_in_order, operator.le)),
    Operator("LessThan", "the key is less than the value", partial(_in_order, operator.lt)),
    Operator(
        "DurationGreaterThanOrEquals",
        "the key is at least as long a duration as the value",
        partial(_durations_in_order, operator.ge),
    ),
    Operator(
        "DurationGreaterThan",
        "the key is a longer duration than the value",
        partial(_durations_in_order, operator.gt),
    ),
    Operator(
        "DurationLessThanOrEquals",
        "the key is at most as long a duration as the value",
        partial(_durations_in_order, operator.le),
    ),
    Operator(
        "DurationLessThan",
        "the key is a shorter duration than the value",
        partial(_durations_in_order, operator.lt),
    ),
)

operators: Mapping[str, Operator] = MappingProxyType({one.name: one for one in OPERATORS})
"""The operators by name."""
