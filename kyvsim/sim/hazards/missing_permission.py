"""KH007: the background controller may not do what a rule needs."""

from collections.abc import Iterator

from kyvsim.model.simulation import Hazard, HazardLevel
from kyvsim.sim.hazards.facts import Facts, why
from kyvsim.sim.kyverno.users import BACKGROUND

_HINT = (
    "a ClusterRole with the label `rbac.kyverno.io/aggregate-to-background-controller: "
    '"true"` gives it the right'
)


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield UpdateRequests that were given up for want of a permission."""
    for event in facts.failed_attempts(f'User "{BACKGROUND.username}" cannot'):
        yield Hazard(
            "KH007",
            HazardLevel.ERROR,
            f"the background controller lacks a permission: {why(event)}; {_HINT}",
            policies=event.policies,
            events=(event.number,),
            location=facts.place_of(event.policies[0]) if event.policies else None,
        )
