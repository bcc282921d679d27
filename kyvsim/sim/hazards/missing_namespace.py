"""KH010: a generated object's namespace is not there: nothing is made, and nobody is told."""

from collections.abc import Iterator

from kyvsim.model.obstacle import Reason
from kyvsim.model.simulation import Hazard, HazardLevel
from kyvsim.sim.hazards.facts import Facts, rules_of


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield UpdateRequests that could write nothing for want of a namespace."""
    for event, obstacle in facts.hindered(Reason.NO_NAMESPACE):
        rules = rules_of(event, obstacle)
        end = (
            "the UpdateRequest was given up after five attempts"
            if event.given_up
            else "Kyverno takes this for done, tries no second time and says so only in its log"
        )
        yield Hazard(
            "KH010",
            HazardLevel.ERROR,
            f"{obstacle.message}: {end}",
            objects=(obstacle.object,) if obstacle.object else (),
            policies=rules,
            events=(event.number,),
            location=facts.place_of(rules[0]),
        )
