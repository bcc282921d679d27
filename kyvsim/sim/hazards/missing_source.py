"""KH005: a clone rule's source is not there when the trigger comes."""

from collections.abc import Iterator

from kyvsim.model.obstacle import Reason
from kyvsim.model.simulation import Hazard, HazardLevel
from kyvsim.sim.hazards.facts import Facts, rules_of


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield UpdateRequests that were given up for want of a source."""
    for event, obstacle in facts.hindered(Reason.SOURCE_MISSING):
        rules = rules_of(event, obstacle)
        yield Hazard(
            "KH005",
            HazardLevel.ERROR,
            f"nothing was cloned: {obstacle.message}; a source that comes later changes nothing "
            "until the trigger changes",
            policies=rules,
            events=(event.number,),
            location=facts.place_of(rules[0]),
        )
