"""KH020: what a rule writes in the background is denied."""

from collections.abc import Iterator

from kyvsim.model.obstacle import Obstacle, Reason
from kyvsim.model.simulation import Hazard, HazardLevel, TimelineEvent
from kyvsim.sim.hazards.facts import Facts, rules_of

_WAY_OUT = (
    "let the object have what is asked for, or exclude it there: by the label "
    "`app.kubernetes.io/managed-by: kyverno`, which generated objects carry, or by the subject "
    "`kyverno-background-controller`"
)


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield objects of rules that other rules, or other webhooks, do not let in."""
    told: set[tuple[object, ...]] = set()
    for event, obstacle in facts.hindered(Reason.DENIED):
        hazard = _hazard(facts, event, obstacle)
        about = (hazard.objects, hazard.policies)
        if about not in told:
            told.add(about)
            yield hazard


def _hazard(facts: Facts, event: TimelineEvent, obstacle: Obstacle) -> Hazard:
    writes = [
        one
        for one in facts.events
        if one.cause == event.number and one.object == obstacle.object and one.outcome == "denied"
    ]
    deniers = tuple(
        dict.fromkeys(rule for one in writes for each in one.obstacles for rule in each.rules)
    )
    by = ", ".join(f"`{one}`" for one in deniers) or "another webhook"
    rules = rules_of(event, obstacle)
    end = (
        "the UpdateRequest is given up after five attempts"
        if event.given_up
        else "it is tried again"
    )
    return Hazard(
        "KH020",
        HazardLevel.ERROR,
        f"what the rule writes is denied by {by}: {end}, and a later change of that policy alone "
        f"brings nothing; {_WAY_OUT}",
        objects=(obstacle.object,) if obstacle.object else (),
        policies=(*rules, *deniers),
        events=(event.number, *(one.number for one in writes[:1])),
        location=facts.place_of(rules[0]) if rules else None,
    )
