"""Nodes and patched objects."""

import pytest

from kyvsim.patch.nodes import (
    ABSENT,
    UnreadableObjectError,
    is_empty,
    is_named,
    read_back,
    same,
    text,
    wrong_kind,
)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a", "a"),
        (80, "80"),
        (80.0, "80"),
        (1.5, "1.5"),
        (1e21, "1e+21"),
        (True, "true"),
        (None, "null"),
        ({"a": 1}, ""),
        ([1], ""),
    ],
)
def test_text(value, shown):
    assert text(value) == shown


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        ("1", 1, False),
        (None, False, False),
        ({"a": [1, {"b": None}]}, {"a": [1.0, {"b": None}]}, True),
        ({"a": None}, {}, False),
        ({"a": None}, {"b": None}, False),
        ([1, 2], [1], False),
        ([], {}, False),
        (2**53 + 1, float(2**53), False),
    ],
)
def test_same(one, other, expected):
    assert same(one, other) is expected
    assert same(other, one) is expected


def test_emptiness():
    assert [is_empty(value) for value in (ABSENT, None, {}, [], "", {"a": 1})] == [
        True,
        True,
        True,
        False,
        False,
        False,
    ]
    assert [is_named(value) for value in (ABSENT, None, {}, [], "", 0)] == [False] * 4 + [True] * 2


def test_errors_show_the_node():
    error = wrong_kind("SequenceNode", {"b": [1, "x"], "a": None})
    assert error.message == (
        "wrong node kind: expected SequenceNode but got MappingNode: "
        'node contents:\n{"a": null, "b": [1, "x"]}\n'
    )


def test_what_is_no_object():
    with pytest.raises(UnreadableObjectError) as caught:
        read_back({"b": 1.0, "a": "<"})
    assert caught.value.message == 'Object \'Kind\' is missing in \'{"a":"\\u003c","b":1}\''
    for broken in ({"kind": ""}, {"kind": 5.0}, {"kind": "A", "apiVersion": "a/b/c"}, [1.0]):
        with pytest.raises(UnreadableObjectError):
            read_back(broken)
    assert read_back({"kind": "A", "n": 1.0})["n"].__class__ is int
