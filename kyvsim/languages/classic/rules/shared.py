"""What rule types share: what autogen carries of a body, and bodies that are empty."""

import re
from collections.abc import Callable, Iterator

from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.rule_type import Autogen, PodTemplate, Remark, Remarks

# Absolute `$(…)` references in messages, moved along with the pattern they point into.


REFERENCE = re.compile(r"(^|[^\\])(\$\(.[^ ]*\))")
"""A reference: group 1 is what stands before it, group 2 itself.

upstream: pkg/engine/variables/re.compile, RegexReferences.
"""


def shift_references(message: str, way: str, pivot: str) -> str:
    """Return `message` with `way` put behind `pivot` in every reference.

    `pivot` is the name of the rule's body; for `anyPattern` the index that follows stays with it.
    """
    if "$(" not in message:
        return message

    def shifted(found: re.Match[str]) -> str:
        before, reference = found.groups()
        anchor = pivot
        if pivot == "anyPattern" and pivot in reference:
            index = reference.partition(pivot)[2][1:].split("/")[0]
            anchor = f"{pivot}/{index}"
        return before + reference.replace(anchor, f"{anchor}/{way}")

    return REFERENCE.sub(shifted, message)


# What autogen carries of the bodies of rules into the rules that it derives for controllers.
#
# Source of the rules: upstream pkg/autogen/v1.


_QUANTIFIERS = frozenset({"any", "all"})
_KEPT = ("failureAction", "failureActionOverrides", "allowExistingViolations")


def nested(part: Json, template: PodTemplate) -> Json:
    """Return a pattern or patch for a Pod as one for what keeps the Pod."""
    return {"spec": {template.field: part}}


def carried_conditions(conditions: Json) -> Json:
    """Return conditions as a derived rule has them: without an `any` or `all` that is empty.

    Upstream writes a rule down to change it, and a list of nothing is left out then. So an empty
    `any`, which never holds, is one that asks for nothing in what is derived.
    """
    if conditions.__class__ is list:
        return [carried_conditions(one) for one in conditions]
    if conditions.__class__ is not dict:
        return conditions
    return {name: one for name, one in conditions.items() if one != [] or name not in _QUANTIFIERS}


def carried_deny(deny: Json, _: PodTemplate) -> Json:
    """Return what a rule denies, with its conditions as a derived rule has them."""
    return _deny(deny)


def carried_loops(loops: Json, _: PodTemplate) -> Json:
    """Return loops, and those within them, with what they deny as a derived rule has it.

    Their preconditions stay as they are: an empty `any` does not hold there either.
    """
    return _loops(loops)


def _deny(deny: Json) -> Json:
    return _with(deny, conditions=carried_conditions)


def _loops(loops: Json) -> Json:
    return [_with(loop, deny=_deny, foreach=_loops) for loop in loops]


def _with(part: Json, **fields: Callable[[Json], Json]) -> Json:
    """Return a map with some of its fields changed, where it has them."""
    return part | {name: made(part[name]) for name, made in fields.items() if part.get(name)}


def _as_is(body: Json, _: PodTemplate) -> Json:
    return body


def carried_check(
    field: str, rewrite: Callable[[Json, PodTemplate], Json] = _as_is, *, pivot: str = ""
) -> Autogen:
    """Return how a validate rule is carried over: its body rewritten, its message shifted.

    `pivot` is what references in the message are shifted behind: the field, unless it is given.
    """

    def carry(section: Json, template: PodTemplate) -> Json:
        kept = {name: section[name] for name in _KEPT if name in section}
        if message := section.get("message"):
            kept["message"] = shift_references(message, template.way, pivot or field)
        return {**kept, field: rewrite(section[field], template)}

    return Autogen(carry)


# Bodies that say the same of every object, because what they would look at is empty.


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
