import time

import pytest

from kyvsim.jmespath.functions import QueryError, function_named
from kyvsim.jmespath.functions.strings import (
    regex_match,
    regex_replace_all,
    regex_replace_all_literal,
)
from kyvsim.model.ports import Meter, System

SYSTEM = System(None, None, Meter())


@pytest.mark.parametrize(
    ("pattern", "source", "fits"),
    [
        ("a$", "a\n", False),
        (r"^\d+$", "\u0664", False),
        ("^b", "ab", False),
        ("", "", True),
        ("^15$", 15.0, True),
        ("^10000000$", 1e7, True),
        (r"\pL", "é", True),
        (r"\B", "aéa", False),
        (r"\B", "é", True),
    ],
)
def test_match(pattern, source, fits):
    assert regex_match(pattern, source) is fits


@pytest.mark.parametrize(
    ("pattern", "source", "replacement", "result"),
    [
        ("a(b+)?", "ab-a", "<$1>", "<b>-<>"),
        ("(?P<n>a)", "a", "${n}x$nx", "ax"),
        ("(a)", "a", "$1x", ""),
        ("(a)", "a", "$$1$", "$1$"),
        ("a*", "baac", "x", "xbxcx"),
        ("^", "ab", "-", "-ab"),
        ("é", "aéb", "$0$0", "aééb"),
        ("1", 1.5, 2.0, "2.5"),
        ("(a)", "a", "$01$9", ""),
        (r"\B", "aéb", "-", "aéb"),
        ("x*", "é日", "-", "-é-日-"),
        ("(?P<name>.)", "é", "${name}${name}é", "ééé"),
    ],
)
def test_replace(pattern, source, replacement, result):
    assert regex_replace_all(SYSTEM, pattern, source, replacement) == result


def test_literal_replacement():
    assert regex_replace_all_literal(SYSTEM, "b*", "abc", "$0") == "$0a$0c$0"


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("[", "missing closing ]: `[`"),
        ("(", "missing closing ): `(`"),
        (r"\C", r"invalid escape sequence: `\C`"),
        ("a++", "invalid nested repetition operator: `++`"),
        ("a(?=b)", "invalid or unsupported Perl syntax: `(?=`"),
        ("*", "missing argument to repetition operator: `*`"),
        ("x{1001}", "invalid repeat count: `{1001}`"),
    ],
)
def test_go_words_for_bad_expressions(pattern, problem):
    with pytest.raises(QueryError) as caught:
        regex_match(pattern, "a")
    assert caught.value.message == f"error parsing regexp: {problem}"
    with pytest.raises(QueryError) as caught:
        regex_replace_all(SYSTEM, pattern, "a", "b")
    assert caught.value.message.startswith("JMESPath function 'regex_replace_all': error parsing")


def test_escaped_c_inside_a_quote_is_fine():
    assert regex_match(r"\Q\C\E", r"\C")


def test_evil_expressions_take_linear_time():
    start = time.perf_counter()
    assert not regex_match("^(a+)+$", "a" * 5000 + "b")
    assert time.perf_counter() - start < 2


def test_wildcards():
    pattern_match = function_named("pattern_match").code
    assert pattern_match("1.?", 1.5)
    assert not pattern_match("[a-z]", "a")
