"""What of the background's work is worth telling: attempts that fail, or do nothing."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kyvsim.model.simulation import Simulation, TimelineEvent

_WORK = "UpdateRequest"


class Work(NamedTuple):
    """The events about UpdateRequests and their attempts, as views tell them."""

    shown: frozenset[int]
    hidden: frozenset[int]
    """Failed writes that are told once already."""
    messages: Mapping[int, str]
    """Shorter messages, by the number of the event."""


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
    messages: dict[int, str] = {}
    for some in attempts.values():
        if some[-1].outcome == "done" and not _note(some[-1]):
            continue
        told = _told(some, writes, messages)
        shown |= told
        failed = (one for attempt in some for one in writes.get(attempt.number, ()))
        hidden |= {one.number for one in failed if one.outcome == "failed"} - told
    return Work(frozenset(shown), frozenset(hidden), messages)


def _told(
    attempts: Sequence[TimelineEvent],
    writes: Mapping[int, Sequence[TimelineEvent]],
    messages: dict[int, str],
) -> set[int]:
    """Return the events to tell of one UpdateRequest, and put shorter messages down."""
    first, last = attempts[0], attempts[-1]
    told = {first.number, last.number, *(one.cause for one in attempts if one.cause is not None)}
    failed = [one for one in writes.get(first.number, ()) if one.outcome == "failed"]
    if failed:
        told.add(failed[0].number)
        messages[first.number] = _head(first)
    if last is not first and _note(last).startswith(_note(first)):
        ending = _note(last).removeprefix(_note(first)).lstrip("; ")
        messages[last.number] = "; ".join(filter(None, (f"{_head(last)}: fails alike", ending)))
    return told


def _head(event: TimelineEvent) -> str:
    return event.message.partition(": ")[0]


def _note(event: TimelineEvent) -> str:
    return event.message.partition(": ")[2]
