"""Two runs side by side: which events of one are which of the other, and how they differ."""

from collections.abc import Hashable, Iterator
from difflib import SequenceMatcher
from enum import StrEnum
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json, lasting, metadata, text_field
from kyvsim.model.simulation import Simulation, TimelineEvent
from kyvsim.report.object_text import Marked
from kyvsim.report.timeline_chart import difference
from kyvsim.report.timeline_rows import shown_events

_NAMED_BY_CHANCE = frozenset({"UpdateRequest"})


class PairDifference(StrEnum):
    """How the events of a pair differ."""

    ALIKE = "alike"
    DIFFERS = "differs"
    ONLY_FIRST = "only in A"
    ONLY_SECOND = "only in B"


class Pair(NamedTuple):
    """An event of each run that are the same step, or one that only one of them has."""

    first: TimelineEvent | None
    second: TimelineEvent | None

    @property
    def difference(self) -> PairDifference:
        """How they differ; times, and numbers of causes, are no difference."""
        if self.second is None:
            return PairDifference.ONLY_FIRST
        if self.first is None:
            return PairDifference.ONLY_SECOND
        same = _outcome(self.first) == _outcome(self.second)
        same = same and _change(self.first) == _change(self.second)
        return PairDifference.ALIKE if same else PairDifference.DIFFERS


def pairs_of(simulation: Simulation, other: Simulation, *, every: bool) -> Iterator[Pair]:
    """Yield the events of two runs, in an order that is that of both."""
    first = list(shown_events(simulation, every=every))
    second = list(shown_events(other, every=every))
    marks = [_step(one) for one in first], [_step(one) for one in second]
    for tag, start, end, from_, to in SequenceMatcher(None, *marks, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from map(Pair, first[start:end], second[from_:to])
        else:
            yield from (Pair(one, None) for one in first[start:end])
            yield from (Pair(None, one) for one in second[from_:to])


def _step(event: TimelineEvent) -> Hashable:
    """Return what makes events of two runs the same step; names that chance gave are no part."""
    key = event.object
    given = _prefix(event.after) or _prefix(event.before)
    name = "*" if key.kind in _NAMED_BY_CHANCE else f"{given}*" if given else key.name
    return (event.actor, event.action, key.kind, key.namespace, name)


def _prefix(obj: Json) -> str:
    return text_field(metadata(obj), "generateName") if obj.__class__ is dict else ""


def _outcome(event: TimelineEvent) -> Hashable:
    return (event.outcome, event.told, event.policies, event.unevaluated)


def _change(event: TimelineEvent) -> list[Marked]:
    """Return what an event made otherwise in its object, which may have differed before."""
    lasting_only = event._replace(before=lasting(event.before), after=lasting(event.after))
    return [(mark, line) for mark, line in difference(lasting_only) if mark in "+-"]
