"""A second evaluator of conditions that reads them as they stand, and the closures: they agree.

Operators are told by what the documentation says of them, on values for which that is plain:
texts without wildcards, numbers, lists of texts. Tables in `test_operators.py` have the rest.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kyvsim.engine.conditions import ConditionError, compile_conditions
from kyvsim.engine.conditions.block import compile_exception_conditions
from kyvsim.engine.conditions.operators import operators
from kyvsim.jmespath import System
from kyvsim.model.ports import Meter
from kyvsim.policy.read import read_conditions

SYSTEM = System(clock=None, entropy=None, meter=Meter())


class Scope:
    def root(self, _):
        return {}


# --- operators ----------------------------------------------------------------------------------

TEXTS = ["a", "b", "ab", "x y"]
LISTS = st.lists(st.sampled_from(TEXTS), max_size=3)
KEYS = st.sampled_from(TEXTS) | LISTS
ORDERS = {
    "GreaterThan": lambda left, right: left > right,
    "GreaterThanOrEquals": lambda left, right: left >= right,
    "LessThan": lambda left, right: left < right,
    "LessThanOrEquals": lambda left, right: left <= right,
}
AMONG = {
    "AnyIn": lambda keys, values: any(key in values for key in keys),
    "AllIn": lambda keys, values: all(key in values for key in keys),
    "AnyNotIn": lambda keys, values: any(key not in values for key in keys),
    "AllNotIn": lambda keys, values: all(key not in values for key in keys),
}


def both_ways(name, key, value):
    """Return what an operator says, asked at once and with its value prepared."""
    operator = operators[name]
    found = operator.holds(key, value)
    assert operator.test(value)(key) is found
    return found


@given(st.sampled_from(sorted(AMONG)), KEYS, LISTS)
def test_membership(name, key, values):
    keys = key if isinstance(key, list) else [key]
    assert both_ways(name, key, values) is AMONG[name](keys, values)


@given(KEYS, LISTS)
def test_the_older_operators_are_about_all_elements(key, values):
    keys = key if isinstance(key, list) else [key]
    held = AMONG["AllIn"](keys, values)
    assert both_ways("In", key, values) is held
    assert both_ways("NotIn", key, values) is not held


AMOUNTS = st.integers(0, 3000).flatmap(
    lambda n: st.sampled_from(
        [(n, f"{n}"), (n * 1024, f"{n}Ki"), (n / 1000, f"{n}m"), (n, f"{n}e0")]
    )
)
NUMBERS = st.integers(0, 5).flatmap(
    lambda n: st.sampled_from([(n, n), (n, float(n)), (n, f"{n}.0")])
)


@given(st.sampled_from(sorted(ORDERS)), st.tuples(AMOUNTS, AMOUNTS) | st.tuples(NUMBERS, NUMBERS))
def test_order_of_amounts(name, sides):
    (key, key_text), (value, value_text) = sides
    assert both_ways(name, key_text, value_text) is ORDERS[name](key, value)


SECONDS = {"s": 1, "m": 60, "h": 3600}
DURATIONS = st.tuples(st.integers(1, 90), st.sampled_from("smh")).map(
    lambda parts: (parts[0] * SECONDS[parts[1]], f"{parts[0]}{parts[1]}")
)
SOME_SECONDS = st.integers(1, 5000).map(lambda n: (n, float(n)))


@given(st.sampled_from(sorted(ORDERS)), DURATIONS, DURATIONS | SOME_SECONDS)
def test_order_of_durations(name, key, value):
    for operator in (name, f"Duration{name}"):
        assert both_ways(operator, key[1], value[1]) is ORDERS[name](key[0], value[0])
        assert both_ways(operator, value[1], key[1]) is ORDERS[name](value[0], key[0])


SCALARS = st.sampled_from([*TEXTS, True, False, 0.0, 1.0, 2.5, 3])
DATA = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=4,
)


def same(left, right):
    numbers = {int, float}
    return left == right and (type(left) is type(right) or {type(left), type(right)} == numbers)


@given(SCALARS, DATA)
def test_equality(key, value):
    assert both_ways("Equals", key, value) is same(key, value)
    assert both_ways("NotEquals", key, value) is not same(key, value)


# --- blocks -------------------------------------------------------------------------------------


class Failed(Exception):  # noqa: N818 — an outcome, no error
    """A condition that could not be evaluated."""


def condition_holds(one):
    if one["operator"] == "Odd":
        raise Failed
    return (one["key"] == one["value"]) is (one["operator"] == "Equals")


def joined(texts, sign):
    return sign.join(text for text in texts if text)


def block_holds(block):
    """Return whether an `any` and `all` hold, and the messages of what decided it."""
    accepted, refused = None, []
    for one in block.get("any") or ():
        if condition_holds(one):
            accepted = one["message"]
            break
        refused.append(one["message"])
    broken = next((one for one in block.get("all") or () if not condition_holds(one)), None)
    is_met = broken is None and ("any" not in block or accepted is not None)
    if is_met:
        return True, joined([accepted, *(one["message"] for one in block.get("all") or ())], "; ")
    if accepted is not None:
        refused = [] if not block.get("all") else refused
    return False, joined([*refused, broken["message"] if broken else ""], "; ")


def exception_holds(block):
    some = block.get("any")
    all_hold = all(condition_holds(one) for one in block.get("all") or ())
    return all_hold and (not some or any(condition_holds(one) for one in some))


def whole(data):
    if isinstance(data, dict):
        return block_holds(data)
    if not any("any" in one or "all" in one for one in data):
        broken = next((one for one in data if not condition_holds(one)), None)
        if broken is not None:
            return False, broken["message"]
        return True, joined([one["message"] for one in data], ";")
    messages = []
    for one in data:
        met, message = block_holds(one)
        if not met:
            return False, message
        messages.append(message)
    return True, joined(messages, ";")


SIDES = st.sampled_from(["a", "b"])
CONDITIONS = st.fixed_dictionaries(
    {
        "key": SIDES,
        "operator": st.sampled_from(["Equals", "NotEquals", "Equals", "NotEquals", "Odd"]),
        "value": SIDES,
        "message": st.sampled_from(["", "", "one", "two"]),
    }
)
SOME = st.lists(CONDITIONS, max_size=3)
BLOCKS = st.fixed_dictionaries({}, optional={"any": SOME, "all": SOME})


def with_variables(data):
    """Return conditions whose keys are read when they are evaluated."""
    if isinstance(data, list):
        return [with_variables(one) for one in data]
    if "key" in data:
        return {**data, "key": f"{{{{ '{data['key']}' }}}}"}
    return {name: with_variables(some) for name, some in data.items()}


def outcome(call, fault):
    try:
        return tuple(call())
    except fault:
        return "failed"


@given(BLOCKS | SOME | st.lists(BLOCKS.filter(bool), max_size=2))
def test_both_evaluators_agree(data):
    expected = outcome(lambda: whole(data), Failed)
    for one in (data, with_variables(data)):
        evaluate = compile_conditions(read_conditions(one, ()), SYSTEM)
        assert outcome(lambda run=evaluate: run(Scope()), ConditionError) == expected


@given(BLOCKS)
def test_both_evaluators_agree_on_exceptions(block):
    evaluate = compile_exception_conditions(read_conditions(block, ()), SYSTEM)
    expected = outcome(lambda: (exception_holds(block), ""), Failed)
    assert outcome(lambda: evaluate(Scope()), ConditionError) == expected


@pytest.mark.parametrize("data", [None, {}, []])
def test_no_conditions_hold(data):
    assert compile_conditions(read_conditions(data, ()), SYSTEM)(Scope()) == (True, "")
