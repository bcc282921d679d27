"""KH029: what a policy makes for controllers of Pods changes existing objects once more."""

from collections.abc import Iterator

from kyvsim.model.obstacle import Reason
from kyvsim.model.simulation import Hazard, HazardLevel
from kyvsim.sim.hazards.facts import Facts, rules_of


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield the policies whose variants changed targets, each with the first of them."""
    told: set[tuple[str, ...]] = set()
    for event, obstacle in facts.hindered(Reason.CHANGED_AGAIN):
        policies = rules_of(event, obstacle)
        if policies in told:
            continue
        told.add(policies)
        yield Hazard(
            "KH029",
            HazardLevel.ERROR,
            f"the policy changes existing objects more than once: {obstacle.message}; what is "
            "derived for controllers runs on every target, whatever its kind; "
            "`autogen: {podControllers: {controllers: []}}` leaves it away",
            objects=(obstacle.object,) if obstacle.object else (),
            policies=policies,
            events=(event.number,),
            location=facts.place_of(policies[0]) if policies else None,
        )
