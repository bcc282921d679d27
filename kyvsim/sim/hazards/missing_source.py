"""KH005: a clone rule's source is not there when the trigger comes."""

from collections.abc import Iterator

from kyvsim.model.simulation import Hazard, HazardLevel
from kyvsim.sim.hazards.facts import Facts, why


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield UpdateRequests that were given up for want of a source."""
    for event in facts.failed_attempts("source resource"):
        yield Hazard(
            "KH005",
            HazardLevel.ERROR,
            f"nothing was cloned: {why(event)}; a source that comes later changes nothing until "
            "the trigger changes",
            policies=event.policies,
            events=(event.number,),
            location=facts.place_of(event.policies[0]) if event.policies else None,
        )
