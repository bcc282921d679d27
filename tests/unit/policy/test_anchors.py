import pytest

from kyvsim.policy.anchors import (
    Anchor,
    Demand,
    checking_order,
    demand_of,
    field_of,
    is_tracking,
    may_skip,
    parse_anchor,
)
from kyvsim.policy.read import pattern_node
from kyvsim.policy.visit import has_wildcard_key


@pytest.mark.parametrize(
    ("text", "anchor"),
    [
        ("(a)", Anchor("", "a")),
        ("=(a)", Anchor("=", "a")),
        (" X(a b) ", Anchor("X", "a b")),
        ("^((a))", Anchor("^", "(a)")),
        ("+(a)", Anchor("+", "a")),
        ("<(a)", Anchor("<", "a")),
        ("a", None),
        ("()", None),
        ("x(a)", None),
        ("(a)b", None),
    ],
)
def test_parse_anchor(text, anchor):
    assert parse_anchor(text) == anchor


def test_anchors_come_first_and_nested_ones_before_plain_keys():
    pattern = {"b": 1, "a": 2, "d": {"(x)": 1}, "c": [{"=(x)": 1}], "=(z)": 1, "(y)": 1, "<(g)": 1}
    phases = checking_order(pattern_node(pattern, ()))
    texts = tuple([one.text for one in entries] for entries in phases)
    assert texts == (["(y)", "=(z)"], ["d", "c", "<(g)", "a", "b"])


def test_what_the_anchors_of_a_pattern_mean():
    pattern = pattern_node({"a": [{"^(b)": [{"c": 1}]}], "X(d)": "null"}, ())
    assert pattern.anchors == {"^", "X"}
    assert is_tracking(pattern)
    assert not any(map(may_skip, pattern.entries))
    skipping = pattern_node({"a": {"<(b)": 1, "=(c)": 1}}, ())
    assert not is_tracking(skipping)
    assert all(map(may_skip, skipping.entries))


def test_what_an_entry_demands_of_which_field():
    pattern = {"a": "*", "=(b)": "*", "+(c)": "x", "X(d)": 1, "^(e)": []}
    found = [(field_of(one), demand_of(one)) for one in pattern_node(pattern, ()).entries]
    assert found == [
        ("a", Demand.PRESENCE),
        ("b", Demand.FIT),
        ("+(c)", Demand.FIT),
        ("d", Demand.ABSENCE),
        ("e", Demand.ELEMENTS),
    ]


def test_wildcards_in_keys():
    assert has_wildcard_key(pattern_node({"metadata": {"labels": {"a*": "b"}}}, ()))
    assert not has_wildcard_key(pattern_node({"a": "b*"}, ()))
