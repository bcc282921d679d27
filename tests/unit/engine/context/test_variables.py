import random
from copy import deepcopy

import pytest

from kyvsim.engine.context import json_context
from kyvsim.engine.context.json_context import split_name, with_variables


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("a", ("a",)),
        ("a.b.c", ("a", "b", "c")),
        ('"a.b".c', ("a.b", "c")),
        ('a."b.c".d', ("a", "b.c", "d")),
        ('"a"', ("a",)),
    ],
)
def test_dots_part_a_name_but_not_between_quotes(name, parts):
    assert split_name(name) == parts


@pytest.mark.parametrize(
    ("data", "variables", "merged"),
    [
        ({}, {"a": 1.0}, {"a": 1.0}),
        ({}, {"a.b": 1.0}, {"a": {"b": 1.0}}),
        ({"a": {"x": 1.0}}, {"a.b": 2.0}, {"a": {"x": 1.0, "b": 2.0}}),
        ({"a": {"x": {"y": 1.0}}}, {"a": {"x": {"z": 2.0}}}, {"a": {"x": {"y": 1.0, "z": 2.0}}}),
        ({"a": [1.0]}, {"a": [2.0]}, {"a": [2.0]}),
        ({"a": "text"}, {"a.b": 1.0}, {"a": {"b": 1.0}}),
        ({"a": {"b": 1.0}}, {"a": None}, {"a": None}),
        ({}, {"a.b": 1.0, "a.c": 2.0}, {"a": {"b": 1.0, "c": 2.0}}),
    ],
)
def test_variables_are_merged_into_maps_and_replace_everything_else(data, variables, merged):
    kept = deepcopy(data)
    assert with_variables(data, variables) == merged
    assert data == kept


def one_at_a_time(data, variables):
    for name, value in variables.items():
        data = with_variables(data, {name: value})
    return data


NAMES = ("", "a", "a.b", "a.b.c", "a.c", '"a.b".c', "d", "d.e", "a.b.c.d")
VALUES = (1, None, {}, {"b": {"x": 1}}, {"b": 2, "c": {"d": 3}}, [1])


@pytest.mark.parametrize("seed", range(20))
def test_variables_together_are_as_one_after_the_other(seed):
    chance = random.Random(seed)
    for _ in range(50):
        names = chance.sample(NAMES, 5)
        variables = {name: chance.choice(VALUES) for name in names}
        data = {"a": {"b": {"c": 1, "x": {"y": 2}}, "c": [1]}, "d": 5}
        before = deepcopy((data, variables))
        assert with_variables(data, variables) == one_at_a_time(data, variables), variables
        assert (data, variables) == before


def test_maps_are_copied_once_for_all_variables_below_them(monkeypatch):
    """The work is that of the data and of the variables, not of one times the other."""
    merged = []
    data = {"cm": {"data": {f"old{number}": 1 for number in range(100)}}}
    put = json_context._put  # noqa: SLF001 — what is counted

    def counted(fields, copied, parts, value):
        put(fields, copied, parts, value)
        merged.append(fields["cm"]["data"])

    monkeypatch.setattr(json_context, "_put", counted)
    with_variables(data, {f"cm.data.k{number}": 1 for number in range(50)})
    assert len({id(one) for one in merged}) == 1
    assert len(data["cm"]["data"]) == 100
