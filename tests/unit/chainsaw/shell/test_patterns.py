"""The regular expressions of grep, in linear time."""

import pytest

from kyvsim.chainsaw.errors import HardError, UnsupportedError
from kyvsim.chainsaw.shell.patterns import PatternError, compile_pattern
from kyvsim.kubernetes.regexes import as_bytes

LINES = ("aaa", "ab", "b", "]x", "x{", "a|b", "a^b", "b a c", "a.c", "-", "*a", "a)", "a\\b", "A1")
FOUND = [
    # what GNU grep 3.11 prints of these lines
    ("(a+)+$", "E", "aaa *a"),
    ("\\(a*\\)*b", "", "ab b a|b a^b b.a.c a\\b"),
    ("a\\|b$", "", "aaa ab b a|b a^b b.a.c a.c *a a) a\\b"),
    ("a|b", "", "a|b"),
    ("[]a]x", "", "]x"),
    ("[^]a]x", "", ""),
    ("a^b", "", "a^b"),
    ("a^b", "E", ""),
    ("a**b", "", "ab b a|b a^b b.a.c a\\b"),
    ("*a", "", "*a"),
    ("^*a", "", "*a"),
    ("a{2,3}", "E", "aaa"),
    ("a\\{2\\}", "", "aaa"),
    ("a{2}", "", ""),
    ("^a{,1}b", "E", "ab b b.a.c"),
    ("x{", "E", "x{"),
    ("a)", "E", "a)"),
    ("[[:upper:]][0-9]", "", "A1"),
    ("[a\\]b", "", "ab a\\b"),
    ("a\\.c", "", "a.c"),
    ("a.c", "F", "a.c"),
    ("^a$|^b$", "E", "b"),
    ("a", "w", "a|b a^b b.a.c a.c *a a) a\\b"),
    ("a.*", "x", "aaa ab a|b a^b a.c a) a\\b"),
    ("a1", "i", "A1"),
    ("^(a|ab)$", "E", "ab"),
    ("^a+?$", "E", "aaa"),
    ("^-\n^b$", "", "b -"),
]


@pytest.mark.parametrize(("pattern", "flags", "lines"), FOUND)
def test_patterns_mean_what_they_mean_to_grep(pattern, flags, lines):
    compiled = compile_pattern(pattern, flags)
    found = [line for line in LINES if compiled.search(as_bytes(line))]
    assert " ".join(one.replace(" ", ".") for one in found) == lines


def test_the_longest_match_counts():
    assert compile_pattern("a|ab", "E").search(b"abc")[0] == b"ab"


@pytest.mark.parametrize(
    "pattern", ["[", "[a", "\\(", "\\)", "a\\", "[[:x:]]", "[z-a]", "a\\{x\\}"]
)
def test_wrong_patterns_are_refused_as_by_grep(pattern):
    with pytest.raises(PatternError):
        compile_pattern(pattern, "")


@pytest.mark.parametrize("pattern", ["\\(a\\)\\1", "\\(a\\)b\\(c\\)\\2*"])
def test_back_references_are_named(pattern):
    with pytest.raises(HardError, match="back reference"):
        compile_pattern(pattern, "")


@pytest.mark.parametrize("pattern", ["\\d", "[[.a.]]", "(?i)a", "a{9999}", "((a{999}){999}){999}"])
def test_what_means_something_else_here_is_not_simulated(pattern):
    if pattern == "(?i)a":
        assert compile_pattern(pattern, "E").search(b"A") is None
        return
    with pytest.raises(UnsupportedError):
        compile_pattern(pattern, "E")


def test_length_and_groups_are_bounded():
    for pattern in ("a" * 5000, "(" * 200 + ")" * 200):
        with pytest.raises(UnsupportedError):
            compile_pattern(pattern, "E")
