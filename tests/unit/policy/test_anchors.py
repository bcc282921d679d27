import pytest

from kyvsim.policy.anchors import (
    Anchor,
    checking_order,
    has_wildcard_key,
    is_tracking,
    may_skip,
    parse_anchor,
    tracked_keys,
)


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
    assert checking_order(pattern) == (["(y)", "=(z)"], ["d", "c", "<(g)", "a", "b"])


def test_what_a_pattern_holds():
    pattern = {"a": [{"^(b)": [{"c": 1}]}], "X(d)": "null"}
    assert is_tracking(pattern)
    assert not may_skip(pattern)
    assert may_skip({"a": {"<(b)": 1}})
    assert not is_tracking({"a": {"<(b)": 1, "=(c)": 1}})
    assert tracked_keys({"(a)": 1, "^(b)": [], "=(c)": 1, "d": 1}) == (("(a)", "a"), ("^(b)", "b"))
    assert has_wildcard_key({"metadata": {"labels": {"a*": "b"}}})
    assert not has_wildcard_key({"a": "b*"})
