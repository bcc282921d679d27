"""KH006: the name of a generated object is not valid, or is taken already."""

from collections.abc import Iterator

from kyvsim.kube.objects import Json, ObjectKey, labels
from kyvsim.model.obstacle import Reason
from kyvsim.model.simulation import Hazard, HazardLevel, TimelineEvent
from kyvsim.sim.hazards.facts import Facts

_WRITES = frozenset({"generate", "synchronize"})
_LABEL = "generate.kyverno.io/"
_OWNER = tuple(
    f"{_LABEL}{part}" for part in ("policy-namespace", "policy-name", "rule-name", "trigger-uid")
)


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield objects that could not be written, and those that others owned before."""
    yield from _invalid(facts)
    told: set[tuple[object, ...]] = set()
    for event in facts.events:
        taken = _taken(event)
        if taken and (event.object, event.policies) not in told:
            told.add((event.object, event.policies))
            yield _hazard(facts, event, taken, HazardLevel.ERROR)


def _invalid(facts: Facts) -> Iterator[Hazard]:
    told: set[tuple[ObjectKey, str]] = set()
    for attempt, obstacle in facts.hindered(Reason.INVALID):
        tried = [
            one
            for one in facts.events
            if one.cause == attempt.number and obstacle.object == one.object and one.obstacles
        ]
        text = f"the object is refused: {obstacle.message}"
        event = tried[0] if tried else attempt
        if (event.object, text) not in told:
            told.add((event.object, text))
            yield _hazard(facts, event, text, HazardLevel.ERROR)


def _taken(event: TimelineEvent) -> str:
    """Return whose object a rule has written over, "" where it was its own or nobody's."""
    if event.action not in _WRITES or event.outcome != "done" or event.before is None:
        return ""
    before, after = _owner(event.before), _owner(event.after)
    if not any(before):
        return "there was an object of this name that no rule had made: it is taken over"
    if before == after:
        return ""
    if before[:3] != after[:3]:
        return f"it overwrites what `{before[1]}/{before[2]}` generated: the last one wins"
    return "two triggers generate one object: each overwrites what the other one made"


def _owner(obj: Json) -> tuple[str, ...]:
    marks = labels(obj)
    return tuple(marks.get(name, "") for name in _OWNER)


def _hazard(facts: Facts, event: TimelineEvent, text: str, level: HazardLevel) -> Hazard:
    return Hazard(
        "KH006",
        level,
        text,
        objects=(event.object,),
        policies=event.policies,
        events=(event.number,),
        location=facts.place_of(event.policies[0]) if event.policies else None,
    )
