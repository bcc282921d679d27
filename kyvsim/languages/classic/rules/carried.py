"""What autogen carries of the bodies of rules into the rules that it derives for controllers.

Source of the rules: upstream pkg/autogen/v1.
"""

from collections.abc import Callable

from kyvsim.kube.objects import Json
from kyvsim.languages.classic.rule_type import Autogen, PodTemplate
from kyvsim.languages.classic.rules.shifted_references import shift_references

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
