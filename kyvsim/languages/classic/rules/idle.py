"""Bodies that say the same of every object, because what they would look at is empty."""

from collections.abc import Iterator

from kyvsim.kube.objects import Json
from kyvsim.languages.classic.rule_type import Remark, Remarks

NOTHING_CHECKED = "it checks nothing"
NOTHING_CHANGED = "it changes nothing"


def empty(nothing: Json, name: str, result: str) -> Remarks:
    """Return what remarks that a body is `nothing`, which is an empty list or mapping."""

    def remarks(body: Json) -> Iterator[Remark]:
        if body == nothing and body.__class__ is nothing.__class__:
            yield (), f"`{name}` is empty, so {result}"

    return remarks


def is_empty(value: Json) -> bool:
    """Return whether a value is a list or mapping without anything in it."""
    return value in ([], {})


def never_holds(conditions: Json) -> bool:
    """Return whether conditions name alternatives and list none."""
    return conditions.__class__ is dict and conditions.get("any") == []


def never_denies(deny: Json) -> Iterator[Remark]:
    """Yield that the conditions of a `deny` block never hold."""
    if deny.__class__ is dict and never_holds(deny.get("conditions")):
        yield (), "`any` of its conditions is empty, so it never denies"
