"""KH010: a generated object's namespace is not there: nothing is made, and nobody is told."""

from collections.abc import Iterator

from kyvsim.model.simulation import Hazard, HazardLevel
from kyvsim.sim.hazards.facts import Facts, why


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield UpdateRequests that count as completed although nothing could be written."""
    for event in facts.failed_attempts("nothing generated: "):
        yield Hazard(
            "KH010",
            HazardLevel.ERROR,
            f"{why(event)}: Kyverno takes this for done, tries no second time and says so only "
            "in its log",
            policies=event.policies,
            events=(event.number,),
            location=facts.place_of(event.policies[0]) if event.policies else None,
        )
