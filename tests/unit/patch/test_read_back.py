import pytest

from kyvsim.patch.errors import UnreadableObjectError
from kyvsim.patch.read_back import read_back, with_whole_numbers


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
def test_numbers(before, after):
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


def test_what_is_no_object():
    with pytest.raises(UnreadableObjectError) as caught:
        read_back({"b": 1.0, "a": "<"})
    assert caught.value.message == 'Object \'Kind\' is missing in \'{"a":"\\u003c","b":1}\''
    for broken in ({"kind": ""}, {"kind": 5.0}, {"kind": "A", "apiVersion": "a/b/c"}, [1.0]):
        with pytest.raises(UnreadableObjectError):
            read_back(broken)
    assert read_back({"kind": "A", "n": 1.0})["n"].__class__ is int
