"""KH025: a rule that works in the background cannot be evaluated for its trigger."""

from collections.abc import Iterator

from kyvsim.model.obstacle import Reason
from kyvsim.model.simulation import Hazard, HazardLevel
from kyvsim.sim.hazards.facts import Facts, rules_of

_REASONS = (Reason.LIST_FAILED, Reason.NO_VALUE, Reason.RULE_FAILED)


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield rules that end in an error where nobody waits for them, each error once."""
    told: set[tuple[object, ...]] = set()
    for event, obstacle in facts.hindered(*_REASONS):
        rules = rules_of(event, obstacle)
        if (rules, obstacle.message) in told:
            continue
        told.add((rules, obstacle.message))
        end = (
            "the UpdateRequest is given up after five attempts"
            if event.given_up
            else "Kyverno takes this for done, and tries no second time"
        )
        yield Hazard(
            "KH025",
            HazardLevel.ERROR,
            f"the rule does nothing: {obstacle.message}; {end}; a precondition keeps out triggers "
            "that it is not for, `|| 'value'` stands in for a field that may be missing",
            policies=rules,
            events=(event.number,),
            location=facts.place_of(rules[0]) if rules else None,
        )
