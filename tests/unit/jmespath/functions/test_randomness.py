import random
import re

import pytest

from kyvsim.jmespath.functions import QueryError
from kyvsim.jmespath.functions.strings import random as random_text
from kyvsim.model.ports import BudgetError, Meter, System


class Dice:
    def __init__(self, seed):
        self.source = random.Random(seed)

    def below(self, bound):
        return self.source.randrange(bound)


def make(pattern, seed=1):
    return random_text(System(clock=None, entropy=Dice(seed), meter=Meter()), pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "[0-9a-z]{8}",
        "(ab|cd){2,5}x?",
        "a*b+",
        r"\.A[\]a-]{3}",
        "a|(b|)c",
        ".{3}",
        "[^^]",
        "a{2,}",
        "[^a-y]{0,1}",
        "^abc$",
        "[]]",
        "x{0}",
    ],
)
def test_texts_fit_their_pattern(pattern):
    for seed in range(30):
        assert re.fullmatch(pattern, make(pattern, seed), re.DOTALL)


def test_the_same_entropy_makes_the_same_text():
    assert make("[a-z]{20}", 3) == make("[a-z]{20}", 3)
    assert make("[a-z]{20}", 3) != make("[a-z]{20}", 4)


def test_every_character_of_a_class_comes_up():
    assert {make("[a-ce]", seed) for seed in range(200)} == set("abce")


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("", "no pattern provided"),
        (r"\d", r"error parsing regexp: invalid escape sequence: `\d`"),
        ("(?:a)", "error parsing regexp: missing argument to repetition operator: `?`"),
        ("a{1001}", "error parsing regexp: invalid repeat count: `{1001}`"),
        ("[b-a]", "error parsing regexp: invalid character class range: `b-a`"),
        ("[a", "error parsing regexp: missing closing ]: `[a`"),
        ("(a", "error parsing regexp: missing closing ): `(a`"),
        ("a)", "error parsing regexp: unexpected ): `a)`"),
        ("\\", "error parsing regexp: trailing backslash at end of expression: ``"),
        ("[[:digit:]]", "random: a class with a name is not supported: `[[:digit:]`"),
        (r"a\n", r"random: this escape sequence is not supported: `\n`"),
        (r"[\x41]", r"random: this escape sequence is not supported: `\x`"),
        ("[^ -~]", "random: no printable character fits the class: `[^ -~]`"),
        ("(" * 101 + ")" * 101, "random: the groups are nested too deeply"),
    ],
)
def test_bad_patterns(pattern, problem):
    with pytest.raises(QueryError) as caught:
        make(pattern)
    assert caught.value.message == problem


def test_what_is_no_repetition_stands_for_itself():
    assert make("a{,2}") == "a{,2}"


def test_texts_stay_within_bounds():
    with pytest.raises(BudgetError, match="budget of 1,000,000 steps for a rule"):
        make("((([a-z]{900}){1})+)+")
