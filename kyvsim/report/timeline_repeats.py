"""Rounds of a timeline that are alike: told once, the others folded."""

from collections.abc import Hashable, Iterator, Sequence
from typing import Final, NamedTuple

from kyvsim.model.simulation import TimelineEvent

_LONGEST: Final = 8
"""Events of the longest round that is looked for."""
_LEAST: Final = 3
"""Rounds from which on it is worth folding."""


class Repeat(NamedTuple):
    """Rounds that follow on one another."""

    first: int
    """The index of the first event of the first round."""
    length: int
    """How many events a round has."""
    rounds: int

    @property
    def end(self) -> int:
        """The index after the last event."""
        return self.first + self.length * self.rounds


def repeats(events: Sequence[TimelineEvent]) -> Iterator[Repeat]:
    """Yield the rounds in which the same is done again to objects of the same kind.

    Of several ways to see it the one that folds most counts, then the shortest round.
    """
    marks = [_mark(one) for one in events]
    at = 0
    while at < len(marks):
        found = [_repeat(marks, at, length) for length in range(1, _LONGEST + 1)]
        best = max(found, key=lambda one: (one.end, -one.length))
        if best.rounds >= _LEAST:
            yield best
            at = best.end
        else:
            at += 1


def _repeat(marks: Sequence[Hashable], first: int, length: int) -> Repeat:
    """Return how often a round comes from an index on; a single one counts as an empty repeat."""
    round_ = marks[first : first + length]
    rounds, at = 1, first + length
    while len(round_) == length and marks[at : at + length] == round_:
        rounds, at = rounds + 1, at + length
    return Repeat(first, length, rounds) if rounds >= _LEAST else Repeat(first, 0, 1)


def _mark(event: TimelineEvent) -> Hashable:
    """Return what events have in common that are alike; names of objects may differ."""
    key = event.object
    told = event.told.replace(key.name, "*") if key.name else event.told
    same = (event.actor, event.action, event.outcome, event.policies, event.unevaluated)
    return (*same, key.kind, key.namespace, told)
