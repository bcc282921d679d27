"""Functions that compare plain data."""

import pytest

from kyvsim.kubernetes.objects import changed_fields


@pytest.mark.parametrize(
    ("before", "after", "paths"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1, "b": {"c": 1}}, {"a": 2, "b": {"d": 1}}, [("a",), ("b", "c"), ("b", "d")]),
        ({"a": [1, {"b": 1}]}, {"a": [1, {"b": 2}]}, [("a", 1, "b")]),
        ({"a": [1]}, {"a": [1, 2]}, [("a",)]),
        (None, {"a": 1}, [()]),
    ],
)
def test_changed_fields_are_the_outermost_ones(before, after, paths):
    assert list(changed_fields(before, after)) == paths
