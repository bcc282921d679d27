import re

import pytest

from kyvsim.equivalence.edits import samples, wildcards
from kyvsim.kubernetes.wildcard import compile_text_pattern, matches

PATTERNS = [
    "registry.example.com/*",
    "*:latest",
    "!*:latest",
    "?*",
    ">=5",
    "<10",
    "!7",
    "5-9",
    "1Gi",
    ">512Mi",
    "a | b",
    "safe-* | *-safe",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_gives_values_that_fit_and_values_that_do_not(pattern):
    fits = compile_text_pattern(pattern)
    found = [*samples([pattern])]
    assert any(map(fits, found))
    if pattern != "?*":
        assert not all(map(fits, found))


def test_the_first_value_is_the_one_that_is_written():
    assert next(samples(["exact"])) == "exact"
    assert next(samples([3])) == 3
    assert next(samples([False])) is False


@pytest.mark.parametrize(
    ("written", "beside"),
    [
        (3, [4, 2, "3"]),
        (True, [False]),
        ("2Gi", ["1Gi", "3Gi", "2147483648"]),
        ("1h", ["0h", "2h", "3600", "3600000ms"]),
        ("1h30m", ["5399s", "5401s", "5400"]),
        ("*:latest", ["x:latest", "x:latestx"]),
        ("ab/*", ["ab/x", "xab/x"]),
    ],
)
def test_neighbours_are_a_step_away(written, beside):
    found = [*samples([written])]
    assert all(one in found for one in beside)


def test_what_is_written_comes_before_all_that_is_beside_it():
    assert [*samples(["a", "b"])][:2] == ["a", "b"]


@pytest.mark.parametrize(
    "expression", [r"\bjcmd\b", "^[a-z]+$", r"^v\d+\.\d+$", "^(a|b)$", "x.*y", r"a\.b"]
)
def test_regular_expressions_give_texts_that_match(expression):
    texts = [one for one in samples([expression]) if isinstance(one, str)]
    assert any(re.search(expression, one) for one in texts)
    assert not all(re.search(expression, one) for one in texts)


def test_texts_of_numbers_give_numbers_too():
    assert 1000 in [*samples(["1000"])]


def test_texts_with_wildcards_match_what_is_written():
    found = [*wildcards(["nodes/proxy", ["get"], "bad*", 1])]
    assert found[0] == "*"
    assert {"nodes/*", "*/proxy", "nodes/prox?", "g*", "ge?"} <= set(found)
    assert all(matches(one, "nodes/proxy") or matches(one, "get") for one in found)
    assert [*wildcards(["*", 1, None])] == []
