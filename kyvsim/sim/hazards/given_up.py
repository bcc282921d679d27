"""KH026: an UpdateRequest was given up for a reason that no other hazard tells of."""

from collections.abc import Iterator

from kyvsim.model.obstacle import Obstacle, Reason
from kyvsim.model.simulation import Hazard, HazardLevel, TimelineEvent
from kyvsim.sim.hazards.facts import Facts, rules_of

_LOST = (
    Reason.CONFLICT,
    Reason.EXISTS,
    Reason.NOT_FOUND,
    Reason.NOT_MET,
    Reason.NO_KIND,
    Reason.OTHER,
    Reason.RULE_GONE,
    Reason.TRIGGER_DIFFERS,
)
_NOTHING_LOST = "nothing is lost, the controller's log has errors that are none"


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield what was given up: an error where something is wanting, an info where nothing is."""
    for event, obstacle in facts.hindered(*_LOST):
        if event.given_up:
            text = f"an UpdateRequest was given up after five attempts: {obstacle.message}"
            yield _hazard(facts, event, obstacle, text)
    for event, obstacle in facts.hindered(Reason.NAMESPACE_GOES):
        text = f"nothing is written into a namespace that is being deleted: {_NOTHING_LOST}"
        yield _hazard(facts, event, obstacle, text)._replace(level=HazardLevel.INFO)
    for event, obstacle in facts.hindered(Reason.TRIGGER_MISSING, Reason.TRIGGER_STAYS):
        text = _without_trigger(facts, event, obstacle)
        if event.given_up and text:
            yield _hazard(facts, event, obstacle, text)._replace(level=HazardLevel.INFO)


def _without_trigger(facts: Facts, event: TimelineEvent, obstacle: Obstacle) -> str:
    """Return why there was no trigger, "" where it was denied (KH002) or came late (KH013)."""
    request = facts.request_of(event)
    if request is not None and request.outcome == "denied":
        return ""
    if request is not None and request.outcome == "failed":
        return f"the request for which the UpdateRequest was written failed: {_NOTHING_LOST}"
    stored = facts.stored.get(obstacle.uid)
    if stored is not None and stored.number > event.number:
        return ""
    return f"the trigger was gone when the UpdateRequest was worked on: {_NOTHING_LOST}"


def _hazard(facts: Facts, event: TimelineEvent, obstacle: Obstacle, text: str) -> Hazard:
    rules = rules_of(event, obstacle)
    return Hazard(
        "KH026",
        HazardLevel.ERROR,
        text,
        objects=(obstacle.object,) if obstacle.object else (),
        policies=rules,
        events=(event.number,),
        location=facts.place_of(rules[0]) if rules else None,
    )
