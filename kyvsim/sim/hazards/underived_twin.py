"""KH030: the API server evaluates a policy on Pods, and nobody what is derived from it."""

from collections.abc import Iterator

from kyvsim.kube.gvk import parse_kind_selector
from kyvsim.languages import language_of
from kyvsim.model.policy import Policy
from kyvsim.model.simulation import Hazard, HazardLevel
from kyvsim.sim.hazards.facts import Facts


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield policies that are left to the API server, with rules that autogen derives of them."""
    for policy in facts.policies:
        kinds = _derived_kinds(policy)
        if kinds and facts.kyverno.cache.is_left_to_the_server(policy):
            yield Hazard(
                "KH030",
                HazardLevel.WARNING,
                f"`{policy.key}` is left to the API server, by an admission policy for Pods alone: "
                f"what autogen derives for {', '.join(kinds)} counts for nothing",
                policies=(policy.key,),
                location=facts.place(policy),
            )


def _derived_kinds(policy: Policy) -> list[str]:
    """Return the kinds that only derived rules match."""
    written = {rule.name for rule in policy.rules}
    derived = [one for one in language_of(policy).derive(policy) if one.name not in written]
    kinds = (text for rule in derived for one in rule.facts.match for text in one.kinds)
    return sorted({parse_kind_selector(text)[2] for text in kinds})
