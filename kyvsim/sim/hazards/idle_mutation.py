"""KH028: a MutatingPolicy finds no existing object to change, or nobody asks it to."""

from collections.abc import Iterator

from kyvsim.languages.cel.facts import mutates, mutating_facts
from kyvsim.languages.cel.listed_targets import named_kinds
from kyvsim.model.policy import Policy
from kyvsim.model.simulation import Hazard, HazardLevel
from kyvsim.sim.hazards.facts import Facts

_NOT_ASKED = (
    "it names targets, so the objects of requests stay as they are, and without "
    "`evaluation: {mutateExisting: {enabled: true}}` nobody looks for the targets"
)
_NONE_NAMED = (
    "its rules for existing objects name no resource that is served in that version: a wildcard "
    "in `apiGroups`, `apiVersions` or `resources` stands for none there, and nobody says so"
)


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield policies that find nothing to change, whatever there is."""
    for policy in facts.policies:
        why = _why_idle(policy, facts) if mutates(policy.kind) else ""
        if why:
            yield Hazard(
                "KH028",
                HazardLevel.ERROR,
                f"`{policy.key}` changes no existing object: {why}",
                policies=(policy.key,),
                location=facts.place(policy),
            )


def _why_idle(policy: Policy, facts: Facts) -> str:
    said = mutating_facts(policy)
    if not said.changes_existing:
        return _NOT_ASKED if said.keeps_triggers else ""
    if said.by_expression or any(named_kinds(policy, facts.parts.store.defined)):
        return ""
    return _NONE_NAMED
