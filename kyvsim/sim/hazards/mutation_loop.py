"""KH022: rules that mutate what exists set each other off, again and again."""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from kyvsim.kube.objects import ObjectKey
from kyvsim.model.simulation import Hazard, HazardLevel, TimelineEvent
from kyvsim.sim.hazards.facts import Facts

_ACTION = "mutate existing"
_ROUNDS = 5
_LAST = 1.0
"""Rounds take some hundredths of a second: what was busy so long before the end is so still."""


class _Round(NamedTuple):
    """The writes from one of a rule to an object up to the next that it led to."""

    events: tuple[TimelineEvent, ...]
    number: int


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield the rules of rounds that have not come to an end when the run does."""
    told: set[frozenset[str]] = set()
    rounds: dict[int, _Round] = {}
    for event in facts.events:
        chain = _since_same(facts, event) if _writes(event) else ()
        if not chain:
            continue
        known = rounds.get(chain[0].number)
        one = rounds[event.number] = _Round(chain, known.number + 1 if known else 1)
        rules = frozenset(rule for each in chain for rule in each.policies)
        goes_on = facts.endless or event.time > facts.parts.clock.elapsed - _LAST
        if one.number >= _ROUNDS and goes_on and rules not in told:
            told.add(rules)
            yield _hazard(facts, one)


def _writes(event: TimelineEvent) -> bool:
    return event.action == _ACTION and event.outcome == "done"


def _since_same(facts: Facts, event: TimelineEvent) -> tuple[TimelineEvent, ...]:
    """Return the writes from the last of the same rule to the same object that led to one."""
    chain = [event]
    for cause in islice(facts.causes(event), 1, None):
        if _writes(cause):
            chain.insert(0, cause)
            if (cause.object, cause.policies) == (event.object, event.policies):
                return tuple(chain)
    return ()


def _hazard(facts: Facts, one: _Round) -> Hazard:
    rules = tuple(dict.fromkeys(rule for event in one.events for rule in event.policies))
    objects: tuple[ObjectKey, ...] = tuple(dict.fromkeys(event.object for event in one.events))
    names = " and ".join(f"`{rule}`" for rule in rules)
    each = "itself" if len(rules) == 1 else "each other"
    return Hazard(
        "KH022",
        HazardLevel.ERROR,
        f"{names} set {each} off for ever: what one writes is a trigger of the next, since "
        "`skipBackgroundRequests: false` lets rules see what Kyverno writes itself; leave that "
        "away, or add a precondition that holds only before the change",
        objects=objects,
        policies=rules,
        events=tuple(event.number for event in one.events),
        location=facts.place_of(rules[0]) if rules else None,
    )
