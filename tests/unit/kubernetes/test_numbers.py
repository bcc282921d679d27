import pytest

from kyvsim.kubernetes.quantities import with_floats, with_whole_numbers


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (80.0, 80),
        (-0.0, 0),
        (1.5, 1.5),
        (1e21, 1e21),
        (1e20, 1e20),
        (9007199254740993.0, 9007199254740992),
        (1234567890123456768.0, 1234567890123456800),
        (9223372036854775808.0, 9223372036854775808.0),
        (-9223372036854775808.0, -9223372036854775808.0),
    ],
)
def test_whole_numbers(before, after):
    found = with_whole_numbers(before)
    assert (found, type(found)) == (after, type(after))


def test_booleans_stay():
    assert with_whole_numbers({"a": [True, False]}) == {"a": [True, False]}
    assert with_whole_numbers(True) is True


def test_parts_without_whole_numbers_are_shared():
    value = {"same": {"a": ["x", 1.5]}, "other": [{"n": 1.0}, {"m": "x"}]}
    found = with_whole_numbers(value)
    assert found == {"same": {"a": ["x", 1.5]}, "other": [{"n": 1}, {"m": "x"}]}
    assert found["same"] is value["same"]
    assert found["other"][1] is value["other"][1]
    assert value["other"][0]["n"].__class__ is float
    assert with_whole_numbers(value["same"]) is value["same"]


def test_floats():
    value = {"same": {"a": ["x", 1.5, True]}, "other": [{"n": 1}, {"m": "x"}], "none": None}
    found = with_floats(value)
    assert found == value
    assert found["other"][0]["n"].__class__ is float
    assert found["same"] is value["same"]
    assert found["other"][1] is value["other"][1]
    assert value["other"][0]["n"].__class__ is int
    assert list(found) == list(value)
    assert with_floats(value["same"]) is value["same"]
    assert with_floats(True) is True
    assert with_floats(2).__class__ is float
