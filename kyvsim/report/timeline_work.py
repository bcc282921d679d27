"""What of the background's work is worth telling: attempts that fail, or do nothing."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kyvsim.model.simulation import Simulation, TimelineEvent

_WORK = "UpdateRequest"
_FAILED = frozenset({"denied", "failed"})


class Work(NamedTuple):
    """The events about UpdateRequests and their attempts, as views tell them."""

    shown: frozenset[int]
    hidden: frozenset[int]
    """Failed writes that are told once already."""
    shorter: Mapping[int, TimelineEvent]
    """Events that say less, since others have said it, by number."""


def telling_work(simulation: Simulation) -> Work:
    """Return what is to be told of UpdateRequests.

    Of attempts that fail the first and the last one are enough, and of their writes the first.
    """
    attempts: dict[object, list[TimelineEvent]] = {}
    writes: dict[int, list[TimelineEvent]] = {}
    for event in simulation.events:
        if event.object.kind == _WORK and event.action == "attempt":
            attempts.setdefault(event.object, []).append(event)
        elif event.object.kind != _WORK and event.cause is not None:
            writes.setdefault(event.cause, []).append(event)
    shown: set[int] = {one.number for one in simulation.events if one.outcome == "skipped"}
    hidden: set[int] = set()
    shorter: dict[int, TimelineEvent] = {}
    for some in attempts.values():
        if some[-1].outcome == "done" and not some[-1].obstacles:
            continue
        told = _told(some, writes, shorter)
        shown |= told
        failed = (one for attempt in some for one in writes.get(attempt.number, ()))
        hidden |= {one.number for one in failed if one.outcome in _FAILED} - told
    return Work(frozenset(shown), frozenset(hidden), shorter)


def _told(
    attempts: Sequence[TimelineEvent],
    writes: Mapping[int, Sequence[TimelineEvent]],
    shorter: dict[int, TimelineEvent],
) -> set[int]:
    """Return the events to tell of one UpdateRequest, and put down those that say less."""
    first, last = attempts[0], attempts[-1]
    told = {first.number, last.number, *(one.cause for one in attempts if one.cause is not None)}
    failed = [one for one in writes.get(first.number, ()) if one.outcome in _FAILED]
    if failed:
        told.add(failed[0].number)
        shorter[first.number] = first._replace(obstacles=())
    if last is not first and last.obstacles == first.obstacles:
        message = f"{last.message}: fails alike"
        shorter[last.number] = last._replace(message=message, obstacles=())
    return told
