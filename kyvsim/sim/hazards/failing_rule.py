"""KH025: a rule that works in the background cannot be evaluated for its trigger."""

from collections.abc import Iterator

from kyvsim.model.obstacle import Reason
from kyvsim.model.simulation import Hazard, HazardLevel
from kyvsim.sim.hazards.facts import Facts, rules_of

_REASONS = (Reason.LIST_FAILED, Reason.NO_VALUE, Reason.RULE_FAILED)


_WITH_RULES = (
    "a precondition keeps out triggers that it is not for, `|| 'value'` stands in for a field that "
    "may be missing"
)
_IN_CEL = (
    "a condition keeps out what it is not for, `object.?field.orValue('value')` stands in for a "
    "field that may be missing"
)


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
            f"the rule does nothing: {obstacle.message}; {end}; {_hint(rules, facts)}",
            policies=rules,
            events=(event.number,),
            location=facts.place_of(rules[0]) if rules else None,
        )


def _hint(rules: tuple[str, ...], facts: Facts) -> str:
    named = (one for one in facts.policies if one.key in rules and not one.facts.has_rules)
    return _IN_CEL if any(named) else _WITH_RULES
