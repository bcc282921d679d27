"""What a shape shows the pattern finds nothing wrong with; an exact one says it both ways."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shown_shapes import assert_same_where_known, compile_unseen, is_shown

from kyvsim.engine.pattern import compile_pattern
from kyvsim.engine.pattern.shape import alternative_shapes, pattern_shape
from kyvsim.policy.read import pattern_node, read_pattern

TEXTS = ("a", "b", "", "1Gi", "512Mi", "false", "*", "conditional anchor mismatch")
LEAVES = st.sampled_from([*TEXTS, True, False, None, 0.0, 1.0, 3])
KEYS = st.sampled_from(["a", "b", "labels", "metadata", "x/y", "+(b)"])
OBJECTS = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3)
)
PATTERN_KEYS = st.sampled_from(
    ["a", "b", "=(a)", "X(b)", "+(b)", "metadata", "=(labels)", "labels", "=(x/*)", "a*"]
)
PATTERN_LEAVES = st.sampled_from(
    ["*", "?*", "a | b", "!a", "<=1Gi", "false", "null", "1-3", True, None, 0, 1.0, 3]
)
PATTERNS = st.recursive(
    PATTERN_LEAVES,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=1) | st.dictionaries(PATTERN_KEYS, inner, max_size=3)
    ),
)


@given(PATTERNS, OBJECTS)
def test_what_a_shape_shows_matches(pattern, obj):
    root = pattern_node(pattern, ())
    known = pattern_shape(root)
    if known is None:
        return
    shape, exact = known
    shown = is_shown(shape, obj)
    matches = compile_pattern(root)(obj) is None
    assert matches or not shown
    if exact and "conditional" not in str(obj):
        assert matches is shown


@given(PATTERNS, st.lists(OBJECTS, min_size=2, max_size=12))
def test_what_is_found_of_an_exact_shape_is_all_that_a_pattern_looks_at(pattern, objects):
    root = pattern_node(pattern, ())
    known = pattern_shape(root)
    if known is None or not known[1]:
        return
    check = compile_pattern(root)

    def say(obj):
        failure = check(obj)
        return failure and (failure.kind, failure.path)

    assert_same_where_known(known[0], objects, say)


@pytest.mark.parametrize(
    "pattern",
    [
        {"(a)": "b"},
        {"<(a)": "b"},
        {"^(a)": [{"b": "c"}]},
        {"a": []},
        {"a": [["b"]]},
        {"metadata": {"labels": {"a*": "b"}}},
        {"a": "conditional anchor mismatch"},
    ],
)
def test_a_pattern_that_more_than_the_shape_decides_has_none(pattern):
    assert pattern_shape(pattern_node(pattern, ())) is None
    assert list(alternative_shapes([read_pattern(pattern, ())])) == [None]


def test_a_tag_that_a_wildcard_means_is_left_to_the_pattern():
    shape, exact = pattern_shape(pattern_node({"metadata": {"annotations": {"=(x/*)": "a"}}}, ()))
    walk = compile_unseen([shape])
    tags = [{}, {"y": "b"}, {"x/y": "a"}, {"x/y": "b"}]
    assert [walk({"metadata": {"annotations": one}}) for one in tags] == [0, 0, 1, 1]
    assert not exact


def test_of_a_value_whose_words_weigh_more_nothing_is_shown():
    shape, _ = pattern_shape(pattern_node({"a": "b"}, ()))
    assert not is_shown(shape, {"a": "global anchor mismatch"})
