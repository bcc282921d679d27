from copy import deepcopy

import pytest

from kyvsim.context.variables import split_name, with_variables


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
