"""Wildcards and text patterns."""

import itertools
import re
import time

import pytest

from kyvsim.kubernetes.wildcard import (
    Comparison,
    Range,
    compile_text_pattern,
    compile_wildcard,
    fits_itself_only,
    has_wildcard,
    is_range,
    matches,
    parse_alternatives,
    plain_alternatives,
)


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        ("", "", True),
        ("", "a", False),
        ("*", "", True),
        ("?", "", False),
        ("?*", "a", True),
        ("nginx:*", "nginx:1\n2", True),
        ("*-prod", "a-prod-", False),
        ("a*a", "a", False),
        ("a*b*c", "a-b-b-c", True),
        ("*b*", "abc", True),
        ("*ab*ba*", "aba", False),
        ("a?c", "aéc", True),
        ("[ab]", "a", False),
    ],
)
def test_matches(pattern, text, fits):
    assert matches(pattern, text) is fits
    assert compile_wildcard(pattern)(text) is fits


def test_all_short_patterns_against_a_regular_expression():
    texts = ["".join(chars) for size in range(5) for chars in itertools.product("ab", repeat=size)]
    for size in range(5):
        for chars in itertools.product("ab*?", repeat=size):
            pattern = "".join(chars)
            slow = re.compile(pattern.replace("*", ".*").replace("?", "."))
            test = compile_wildcard(pattern)
            for text in texts:
                assert matches(pattern, text) == test(text) == bool(slow.fullmatch(text))


def test_many_stars_take_no_exponential_time():
    start = time.perf_counter()
    assert not matches("*a" * 20 + "?*b", "a" * 3000)
    assert time.perf_counter() - start < 2


def test_has_wildcard():
    assert has_wildcard("a*")
    assert has_wildcard("?")
    assert not has_wildcard("[a]")


FITS = [
    ("nginx:*", "nginx:1.25"),
    ("a | b", "b"),
    ("a|b", "a|b"),
    (">1 & <10", 5.0),
    ("!a & !b", "c"),
    (">=1Gi", "1024Mi"),
    ("<1h", "59m"),
    ("8080", 8080.0),
    ("8.08E+03", 8080.0),
    ("<10", None),
    ("!5", None),
    ("0", None),
    ("0s", None),
    ("!false", True),
    ("true", True),
    ("1-10", "10"),
    ("1!-10", 11),
    ("1Gi-3Gi", "2Gi"),
    ("-10--1", -5.0),
    ("!4-6", "5"),
    ("> 5", "6"),
    ("a|", ""),
    ("!", "!"),
]
FITS_NOT = [
    ("nginx:*", "redis:7"),
    ("80*", 8080.0),
    (">a", "b"),
    ("!foo", None),
    ("", None),
    ("false", None),
    ("?*", None),
    ("?*", {}),
    ("!x", []),
    ("1-10", "1-11"),
    ("1-10|x", "1-10"),
    ("1!-10", 10),
    ("5m-1h", "2h"),
    ("!1Gi", "1024Mi"),
    ("true", "TRUE"),
    ("<=1h", "61m"),
]


@pytest.mark.parametrize(("pattern", "value"), FITS)
def test_fits(pattern, value):
    assert compile_text_pattern(pattern)(value) is True


@pytest.mark.parametrize(("pattern", "value"), FITS_NOT)
def test_fits_not(pattern, value):
    assert compile_text_pattern(pattern)(value) is False


def test_the_alternatives_of_a_text():
    assert parse_alternatives(" a* |!b&>=1Gi | 1!-5") == (
        (Comparison("", "a*"),),
        (Comparison("!", "b"), Comparison(">=", "1Gi")),
        (Range("1", "5", inside=False),),
    )


def test_plain_alternatives_are_texts_that_fit_as_they_are():
    assert plain_alternatives("a | >5 | 1-3 | b & c | d*") == {
        "a | >5 | 1-3 | b & c | d*",
        "a",
        "d*",
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1-2", True), ("1Mi-2Gi", True), ("1!-2", False), (">1-2", False), ("a-b", False)],
)
def test_is_range(text, expected):
    assert is_range(text) is expected


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("web-1", True),
        ("a.io/b:v1@x", True),
        ("1st", True),
        ("", False),
        ("a*", False),
        ("a|b", False),
        ("!a", False),
        (" a", False),
        ("5", False),  # 5.0 fits as well
        ("1Gi", False),  # 1024Mi
        ("1h", False),  # 60m
        ("1-3", False),
    ],
)
def test_texts_that_nothing_but_themselves_fits(text, alone):
    assert fits_itself_only(text) is alone
