"""Regular expressions."""

import pytest

from kyvsim.kubernetes.regexes import (
    RegexError,
    as_bytes,
    compile_regex,
    each_match,
    is_found,
    is_too_high,
)


@pytest.mark.parametrize(
    ("pattern", "text", "spans"),
    [
        ("a*", "baac", [(0, 0), (1, 3), (4, 4)]),
        ("x*", "é", [(0, 0), (2, 2)]),
        (r"\B", "aéa", []),
        (r"\B", "éa", [(0, 0)]),
        ("", "ab", [(0, 0), (1, 1), (2, 2)]),
        ("z", "ab", []),
    ],
)
def test_matches_are_those_of_go(pattern, text, spans):
    compiled = compile_regex(pattern)
    assert [match.span() for match in each_match(compiled, as_bytes(text))] == spans
    assert is_found(compiled, text) is bool(spans)


def test_half_a_surrogate_pair_is_one_character():
    assert is_found(compile_regex("^.a$"), "\ud800a")


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("a\\", "trailing backslash at end of expression: ``"),
        ("[b-a]", "invalid character class range: `b-a`"),
        ("(?P<1", "invalid named capture: `(?P<1`"),
        ("a)", "unexpected ): `a)`"),
        (r"b\C", r"invalid escape sequence: `\C`"),
    ],
)
def test_go_words_for_bad_expressions(capfd, pattern, problem):
    with pytest.raises(RegexError) as caught:
        compile_regex(pattern)
    assert str(caught.value) == f"error parsing regexp: {problem}"
    assert capfd.readouterr() == ("", "")


# How deep expressions may be nested; the limits are those of Kyverno 1.19.0's command line.


@pytest.mark.parametrize(
    ("opening", "core", "closing", "most"),
    [
        ("(", "a", ")", 999),
        ("(", "a", ")*", 499),
        ("(?P<n>", "a", ")", 999),
        ("(?:", "a", "b)*", 500),
        ("(?:", "a", "|bc)*", 499),
    ],
)
def test_the_highest_that_is_taken(opening, core, closing, most):
    assert not is_too_high(opening * most + core + closing * most)
    assert is_too_high(opening * (most + 1) + core + closing * (most + 1))


@pytest.mark.parametrize(
    "pattern",
    [
        "(?:" * 1500 + "a" + ")" * 1500,
        "(?:" * 600 + "a" + "|b)" * 600,
        "(a)" * 2000,
        r"\Q" + "(" * 2000,
        r"\(" * 2000,
        "[(]" * 2000,
        "(" * 2000 + "[",
    ],
)
def test_what_is_not_high(pattern):
    assert not is_too_high(pattern)


def test_what_is_too_high_is_refused_before_any_work():
    with pytest.raises(RegexError, match=r"error parsing regexp: expression nests too deeply: `\("):
        compile_regex("(" * 100_000 + "a" + ")" * 100_000)
