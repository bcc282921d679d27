"""What autogen carries of the bodies of rules into the rules that it derives for controllers.

Source of the rules: upstream pkg/autogen/v1.
"""

from collections.abc import Callable

from kyvsim.kube.objects import Json
from kyvsim.languages.classic.rule_type import Autogen, PodTemplate
from kyvsim.languages.classic.rules.shifted_references import shift_references

_KEPT = ("failureAction", "failureActionOverrides", "allowExistingViolations")


def nested(part: Json, template: PodTemplate) -> Json:
    """Return a pattern or patch for a Pod as one for what keeps the Pod."""
    return {"spec": {template.field: part}}


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
