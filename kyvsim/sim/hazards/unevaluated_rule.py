"""KH027: a rule that checks or changes what comes, or what is there, cannot be evaluated."""

from collections.abc import Iterator

from kyvsim.model.simulation import Hazard, HazardLevel, TimelineEvent, Unevaluated
from kyvsim.sim.hazards.facts import Facts

_DENIED = "the request is denied for that"
_LET_IN = "what came is let in, and the rule has done nothing about it"
_SCANNED = "reports have an error, which says nothing of the object"


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield rules that end in an error at admission or in a scan, each error once.

    An error where something is let in; a warning where a request is denied, or nobody waits.
    """
    found: dict[Unevaluated, list[TimelineEvent]] = {}
    for event in facts.events:
        for one in event.unevaluated:
            found.setdefault(one, []).append(event)
    for one, events in found.items():
        ends = dict.fromkeys(_end(event, one.rule) for event in events)
        yield Hazard(
            "KH027",
            HazardLevel.ERROR if _LET_IN in ends else HazardLevel.WARNING,
            f"the rule ends in an error, which is no failure: {one.message}; {'; '.join(ends)}",
            objects=tuple(dict.fromkeys(event.object for event in events)),
            policies=(one.rule,),
            events=tuple(dict.fromkeys(event.number for event in events)),
            location=facts.place_of(one.rule),
        )


def _end(event: TimelineEvent, rule: str) -> str:
    if event.action == "scan":
        return _SCANNED
    return _DENIED if event.outcome == "denied" and rule in event.policies else _LET_IN
