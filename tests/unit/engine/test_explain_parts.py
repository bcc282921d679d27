"""Where maps and lists stand in an object, by identity and by content."""

import pytest

from kyvsim.engine.explain import Parts, number_of

INNER = {"name": "a"}
OBJECT = {"list": [INNER, {"name": "b"}, [1, 2]], "again": INNER, "twin": {"name": "b"}, "one": 1}


@pytest.fixture
def numbers():
    return {}


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (OBJECT, ()),
        (INNER, ("list", 0)),
        (OBJECT["list"][2], ("list", 2)),
        (OBJECT["twin"], ("twin",)),
        ({"name": "a"}, None),
    ],
)
def test_a_part_is_found_where_it_first_stands(value, path, numbers):
    parts = Parts(OBJECT, numbers)
    assert parts.path_of(value, number_of(value, numbers)) == path


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ([1, 2], ("list", 2)),
        ([1.0, True + 1], ("list", 2)),  # equal, as values are
        ([2, 1], None),
        ({"name": "a"}, None),  # twice, though it is one object
        ({"name": "b"}, None),
        ({"name": "c"}, None),
        (1, None),
    ],
)
def test_what_equals_one_part_only_is_found(value, path, numbers):
    parts = Parts(OBJECT, numbers)
    assert parts.only_path_of(number_of(value, numbers)) == path


def test_the_order_of_keys_makes_no_difference_and_that_of_items_does(numbers):
    parts = Parts({"a": {"x": 1, "y": [2]}}, numbers)
    assert parts.only_path_of(number_of({"y": [2], "x": 1}, numbers)) == ("a",)
    assert parts.only_path_of(number_of({"y": [2, 2], "x": 1}, numbers)) is None
