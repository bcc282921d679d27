"""Enumerations are those of the standard library in all that the package uses of them."""

import copy
import enum
import json
import pickle
import subprocess
import sys

import pytest

from kyvsim.light.enumeration import Enum, StrEnum


def colours(base, name):
    """Return a class of texts, which is called by a name of this module."""

    class Colour(base):
        """A colour."""

        RED = "red"
        """What blood has."""
        BLUE = "blue"
        ALSO_RED = "red"

        @property
        def shown(self):
            return f"{self.value}!"

    Colour.__name__ = Colour.__qualname__ = name
    return Colour


def stages(base, colour, name):
    """Return a class whose members have parts, likewise."""

    class Stage(base):
        FIRST = (colour.RED, 1)
        LAST = (colour.BLUE, 2)

        def __init__(self, first, _number):
            self.colour = first

        __hash__ = object.__hash__

    Stage.__name__ = Stage.__qualname__ = name
    return Stage


Ours, Theirs = colours(StrEnum, "Ours"), colours(enum.StrEnum, "Theirs")
OurStage = stages(Enum, Ours, "OurStage")
TheirStage = stages(enum.Enum, Theirs, "TheirStage")


class OurPlain(Enum):
    ONE = 1
    TWO = 2


class TheirPlain(enum.Enum):
    ONE = 1
    TWO = 2


def said(ask, kind):
    try:
        return ask(kind)
    except AttributeError as error:  # which is worded as any class's
        return type(error)
    except (KeyError, TypeError, ValueError) as error:
        return type(error), str(error).replace("Theirs", "Ours").replace("Their", "Our")


def which(member):
    match member:
        case Ours.RED | Theirs.RED:
            return 1
        case _:
            return 2


OF_TEXTS = [
    lambda kind: [(one.name, one.value, one._name_, one._value_) for one in kind],
    len,
    lambda kind: list(kind.__members__),
    lambda kind: kind.ALSO_RED is kind.RED,
    lambda kind: kind("blue") is kind.BLUE,
    lambda kind: kind(kind.BLUE) is kind.BLUE,
    lambda kind: kind["BLUE"] is kind.BLUE,
    lambda kind: kind("green"),
    lambda kind: kind["GREEN"],
    lambda kind: kind.GREEN,
    lambda kind: kind(3),
    lambda kind: kind([]),
    lambda kind: str(kind.RED),
    lambda kind: f"{kind.RED:>5}|{kind.RED}",
    lambda kind: repr(kind.RED).partition(".")[2],
    lambda kind: kind.RED == "red",
    lambda kind: kind.RED == kind.BLUE,
    lambda kind: kind.RED < kind.BLUE,
    lambda kind: hash(kind.RED) == hash("red"),
    lambda kind: {"red": 1}[kind.RED],
    lambda kind: sorted([kind.RED, kind.BLUE]) == [kind.BLUE, kind.RED],
    lambda kind: isinstance(kind.RED, str),
    lambda kind: isinstance(kind.RED, kind),
    lambda kind: kind.RED in kind,
    lambda kind: json.dumps({kind.RED: [kind.BLUE]}),
    ", ".join,
    lambda kind: kind.RED.shown,
    lambda kind: kind.RED.upper(),
    lambda kind: pickle.loads(pickle.dumps([kind.RED]))[0] is kind.RED,
    lambda kind: copy.deepcopy(kind.RED) is kind.RED,
    lambda kind: copy.copy(kind.RED) is kind.RED,
    lambda kind: [which(one) for one in kind],
    lambda kind: setattr(kind, "RED", 1),
    lambda kind: kind.__doc__,
    lambda kind: bool(kind.RED),
    bool,
]


@pytest.mark.parametrize("ask", OF_TEXTS)
def test_members_that_are_texts_are_those_of_the_standard_library(ask):
    assert said(ask, Ours) == said(ask, Theirs)


OF_STAGES = [
    lambda kind: [(one.name, one.value[1], one.colour.name) for one in kind],
    lambda kind: kind["LAST"].colour.value,
    lambda kind: kind.FIRST == kind.FIRST,
    lambda kind: kind.FIRST == kind.LAST,
    lambda kind: kind.FIRST.value == kind.FIRST,
    lambda kind: hash(kind.FIRST) == object.__hash__(kind.FIRST),
    lambda kind: {kind.FIRST: 1}[kind.FIRST],
    lambda kind: pickle.loads(pickle.dumps(kind.LAST)) is kind.LAST,
    lambda kind: kind.FIRST < kind.LAST,
]


@pytest.mark.parametrize("ask", OF_STAGES)
def test_members_with_parts_are_those_of_the_standard_library(ask):
    found, expected = said(ask, OurStage), said(ask, TheirStage)
    assert found == expected


@pytest.mark.parametrize(
    "ask",
    [
        lambda kind: [str(one).removeprefix("Our").removeprefix("Their") for one in kind],
        lambda kind: [repr(one).replace("Their", "Our") for one in kind],
        lambda kind: f"{kind.ONE}".replace("Their", "Our"),
        lambda kind: hash(kind.ONE) == hash("ONE"),
        lambda kind: kind(2) is kind.TWO,
        lambda kind: kind.ONE == 1,
        lambda kind: pickle.loads(pickle.dumps(kind.ONE)) is kind.ONE,
    ],
)
def test_plain_members_are_those_of_the_standard_library(ask):
    assert said(ask, OurPlain) == said(ask, TheirPlain)


def test_members_have_a_place_in_the_class_that_is_their_own():
    assert isinstance(OurPlain.ONE, OurPlain)
    assert not isinstance(OurPlain.ONE, OurStage)
    assert OurPlain.ONE in OurPlain
    assert 2 in OurPlain
    assert 3 not in OurPlain


def test_nothing_of_the_standard_library_is_loaded_for_them():
    code = """
import sys
from kyvsim.light.enumeration import StrEnum
print("enum" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
