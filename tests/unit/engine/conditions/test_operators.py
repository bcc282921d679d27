import pytest

from kyvsim.engine.conditions import operators
from kyvsim.engine.conditions.operators import pairs
from kyvsim.model.ports import FEW

TRUE = [
    ("abc", "Equals", "a*"),
    ("abc", "Equal", "a*"),
    (True, "NotEqual", "true"),
    ("1h", "Equals", "60m"),
    ("1h", "Equals", 3600.0),
    ("2Gi", "Equals", "2048Mi"),
    (2.0, "Equals", "2.0"),
    (3, "Equals", 3.0),
    ([1.0], "Equals", [1.0]),
    (True, "NotEquals", "true"),
    ("1", "NotEquals", "*"),
    ("1", "NotEquals", ""),
    (True, "AnyIn", ["true"]),
    ("a*", "AnyIn", ["abc"]),
    ("b", "AnyIn", '["a", "b"]'),
    ("5", "AnyIn", "1-10"),
    (["a", "x"], "AnyIn", ["a", "b"]),
    ([], "AllIn", ["a"]),
    (["5", "6"], "AllIn", "1-10"),
    (["a"], "AnyIn", "a"),
    ([5.0], "AnyIn", 5.0),
    (1000000.0, "AnyNotIn", [1000000]),
    (["5", "11"], "AnyNotIn", "1-10"),
    ("a", "AnyNotIn", "b"),
    (["x"], "AllNotIn", ["a", "b"]),
    (["a"], "In", ["a", "b"]),
    (["b"], "In", "b"),
    (["b"], "NotIn", "b"),
    (["a", "c"], "NotIn", ["a", "b"]),
    ("1h", "GreaterThan", 3000),
    ("1Gi", "LessThan", "2048Mi"),
    (5.0, "GreaterThanOrEquals", "5"),
    ("1.10.0", "GreaterThan", "1.9.0"),
    ("1.2.3-rc.1", "LessThan", "1.2.3"),
    ("90s", "DurationGreaterThan", 60),
    (60.0, "DurationLessThanOrEquals", "1m"),
]
FALSE = [
    ("a*", "Equal", "abc"),
    (None, "NotEqual", "a"),
    ("a*", "Equals", "abc"),
    (None, "Equals", None),
    (None, "NotEquals", "a"),
    (None, "AnyNotIn", ["a"]),
    ({}, "AllNotIn", ["a"]),
    (True, "Equals", "true"),
    ("5m", "Equals", "300"),
    ("1", "Equals", "*"),
    ("1", "Equals", 1.0),
    ([1.0], "Equals", [1]),
    ({"a": 1}, "Equals", {"a": True}),
    (1000000.0, "AnyIn", [1000000]),
    ("a", "AnyNotIn", 5),
    (["5", "6"], "AnyNotIn", "1-10"),
    ("5", "AnyNotIn", "[5]"),
    (["a"], "AllIn", 5),
    (["a"], "AnyNotIn", "a"),
    ([], "AnyNotIn", ["a"]),
    ("a", "NotIn", "b"),
    (["a"], "In", ["a", 1]),
    ("1h", "GreaterThan", "3000"),
    ("v1.2.3", "GreaterThan", "1.0.0"),
    (None, "GreaterThan", 1),
    (True, "LessThan", 5),
    ("5", "DurationGreaterThan", 1),
]


@pytest.mark.parametrize(("key", "name", "value"), TRUE)
def test_holds(key, name, value):
    assert operators[name].holds(key, value) is True
    assert operators[name].test(value)(key) is True


@pytest.mark.parametrize(("key", "name", "value"), FALSE)
def test_holds_not(key, name, value):
    assert operators[name].holds(key, value) is False
    assert operators[name].test(value)(key) is False


MANY, WILD = ["a"] * (FEW + 1), ["a*"] * (FEW + 1)


@pytest.mark.parametrize(
    ("left", "right", "count"),
    [
        (MANY, MANY, 0),
        (WILD, MANY, (FEW + 1) ** 2),
        (MANY, WILD, (FEW + 1) ** 2),
        (WILD, WILD, 2 * (FEW + 1) ** 2),
        (WILD[1:], WILD, 0),
        (WILD, WILD[1:], 0),
        ("a*", WILD, 0),
        (WILD, {"a": 1}, 0),
        (MANY, "a*,b,c", (FEW + 1) * 2),
        (MANY, "a,b,c", 0),
    ],
)
def test_elements_that_are_held_against_each_other_are_counted(left, right, count):
    assert pairs(left, right) == count


def test_what_is_told_to_give_way_to_other_operators():
    found = {one.name: one.successors for one in operators.values() if one.warned}
    assert found == {"In": ("AnyIn", "AllIn"), "NotIn": ("AnyNotIn", "AllNotIn")}
