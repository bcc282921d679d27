"""Expressions that are compiled late are those of `re`."""

import re

import pytest

from kyvsim.light.regex import regex


def test_an_expression_finds_what_a_compiled_one_finds():
    late, compiled = regex(r"(a+)(b)?", re.IGNORECASE), re.compile(r"(a+)(b)?", re.IGNORECASE)
    for text in ("", "xAab", "b", "aa"):
        assert late.findall(text) == compiled.findall(text)
        assert (late.search(text) is None) == (compiled.search(text) is None)
        assert late.sub("-", text) == compiled.sub("-", text)
    assert late.pattern == compiled.pattern
    assert late.groups == 2


def test_bytes_have_expressions_too():
    assert regex(rb"^a", re.MULTILINE).findall(b"b\na\na") == [b"a", b"a"]


def test_nothing_is_compiled_before_it_is_used():
    late = regex("(")
    with pytest.raises(re.error):
        late.match("x")


def test_what_compiled_expressions_have_not_is_not_there():
    with pytest.raises(AttributeError):
        regex("a").nothing  # noqa: B018 — asking is what is tried
