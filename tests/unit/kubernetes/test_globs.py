"""Globs without separators."""

import pytest

from kyvsim.kubernetes.wildcard import GlobError, compile_glob


@pytest.mark.parametrize(
    ("glob", "text", "fits"),
    [
        ("ghcr.io/*", "ghcr.io/a/b:1", True),
        ("ghcr.io/*", "docker.io/a", False),
        ("a?c", "abc", True),
        ("a?c", "ac", False),
        ("a.c", "abc", False),
        ("[a-c]x", "bx", True),
        ("[!a-c]x", "bx", False),
        ("[xyz]", "y", True),
        ("[!xyz]", "a", True),
        ("[-a]", "-", True),
        ("{a,b*}c", "bbbc", True),
        ("{a,{b,c}}d", "cd", True),
        ("{a,b", "b", True),
        ("a,b}", "a,b}", True),
        (r"a\*", "a*", True),
        (r"a\*", "ab", False),
        ("*", "line\nbreak", True),
        ("*a*a*a*a*a*a*a*a*a*a*b", "a" * 5000, False),
    ],
)
def test_what_fits(glob, text, fits):
    assert (compile_glob(glob).fullmatch(text) is not None) is fits


@pytest.mark.parametrize(
    ("glob", "problem"),
    [
        ("[a", "unexpected end of input"),
        ("[a-", "unexpected end of input"),
        ("[a-bc]", "expected close range character"),
        ("[b-a]", "hi character 'a' should be greater than lo 'b'"),
        ("[]", "could not parse range"),
    ],
)
def test_what_is_no_glob(glob, problem):
    with pytest.raises(GlobError) as caught:
        compile_glob(glob)
    assert str(caught.value) == problem
