"""KH027: a rule that checks or changes what comes, or what is there, cannot be evaluated."""

from collections.abc import Iterator
from types import MappingProxyType

from kyvsim.model.simulation import Hazard, HazardLevel, TimelineEvent, Unevaluated
from kyvsim.sim.hazards.facts import Facts

_DENIED = "the request is denied for that"
_LET_IN = "what came is let in, and the rule has done nothing about it"
_SCANNED = "reports have an error, which says nothing of the object"
_GIVEN_UP = "no policy is reported on anew: the report on the object stays as it was"
_KEPT = "the object is not deleted"
_GRAVE = frozenset({_LET_IN, _KEPT})
_BY_ACTION = MappingProxyType({"scan": _SCANNED, "give up scan": _GIVEN_UP, "evaluate": _KEPT})


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield rules that end in an error, each error once.

    That is an error where something is let in, or is to be cleaned up; a warning where a request
    is denied for it, or nobody waits.
    """
    found: dict[Unevaluated, list[TimelineEvent]] = {}
    for event in facts.events:
        for one in event.unevaluated:
            found.setdefault(one, []).append(event)
    for one, events in found.items():
        ends = dict.fromkeys(_end(event, one.rule) for event in events)
        yield Hazard(
            "KH027",
            HazardLevel.ERROR if _GRAVE & set(ends) else HazardLevel.WARNING,
            f"the rule ends in an error, which is no failure: {one.message}; {'; '.join(ends)}",
            objects=tuple(dict.fromkeys(event.object for event in events)),
            policies=(one.rule,),
            events=tuple(dict.fromkeys(event.number for event in events)),
            location=facts.place_of(one.rule),
        )


def _end(event: TimelineEvent, rule: str) -> str:
    denies = event.outcome == "denied" and rule in event.policies
    return _BY_ACTION.get(event.action) or (_DENIED if denies else _LET_IN)
