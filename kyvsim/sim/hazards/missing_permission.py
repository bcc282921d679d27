"""KH007: the background controller may not do what a rule needs."""

from collections.abc import Iterator

from kyvsim.model.obstacle import Reason
from kyvsim.model.simulation import Hazard, HazardLevel
from kyvsim.sim.hazards.facts import Facts, rules_of

_HINT = (
    "a ClusterRole with the label `rbac.kyverno.io/aggregate-to-background-controller: "
    '"true"` gives it the right'
)


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield UpdateRequests that were given up for want of a permission."""
    for event, obstacle in facts.hindered(Reason.NO_RIGHT):
        rules = rules_of(event, obstacle)
        yield Hazard(
            "KH007",
            HazardLevel.ERROR,
            f"the background controller lacks a permission: {obstacle.message}; {_HINT}",
            policies=rules,
            events=(event.number,),
            location=facts.place_of(rules[0]) if rules else None,
        )
