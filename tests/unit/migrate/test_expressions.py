"""Tests as text of several lines: the same test as on one line."""

from hypothesis import given
from hypothesis import strategies as st

from kyvsim.cel.parser import parse
from kyvsim.cel.unparse import written
from kyvsim.migrate.expressions import (
    Conditional,
    Not,
    Plain,
    Quantified,
    Relation,
    Test,
    every,
    laid_out,
    one_line,
    short_line,
    some,
)

WORDS = st.sampled_from(["a", "b.c", "object.metadata.labels", "variables.aRatherLongName"])
PARTS = st.one_of(
    WORDS.map(Plain),
    st.builds(Relation, WORDS, st.sampled_from(["==", "<", "in"]), WORDS),
)


def compound(inner: st.SearchStrategy[Test]) -> st.SearchStrategy[Test]:
    """Return tests that are made of others."""
    several = st.lists(inner, min_size=2, max_size=4).map(tuple)
    return st.one_of(
        st.builds(Not, inner),
        several.map(every),
        several.map(some),
        st.builds(lambda source, body: Quantified(source, "x", body), WORDS, inner),
        st.builds(Conditional, inner, inner, inner),
    )


TESTS = st.recursive(PARTS, compound, max_leaves=25)


@given(TESTS)
def test_the_lines_are_the_test(test: Test) -> None:
    lines = laid_out(test)
    assert written(parse(lines, frozenset())) == written(parse(one_line(test), frozenset()))


@given(TESTS, st.integers(0, 200))
def test_a_short_line_is_the_line_where_it_is_short(test: Test, width: int) -> None:
    line = one_line(test)
    assert short_line(test, width) == (line if len(line) <= width else None)
