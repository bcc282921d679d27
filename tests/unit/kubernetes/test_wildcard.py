import itertools
import re
import time

import pytest

from kyvsim.kubernetes.wildcard import compile_wildcard, has_wildcard, matches


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
