"""How deep expressions may be nested; the limits are those of Kyverno 1.19.0's command line."""

import pytest

from kyvsim.kubernetes.regexes import RegexError, compile_regex, is_too_high


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
