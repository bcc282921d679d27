"""Whether what the last assertions of a test found stays for as long as they might look for it.

A real cluster is looked at until it is as it should be, which says nothing where it was so already:
an object that a cleanup is about to delete is there at the first look. Here the end of a test is
looked at until its time is up, so what passes here passes there, however late somebody looks.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json, ObjectKey, metadata, object_key
from kyvsim.simulator.context import Parts


class Found(NamedTuple):
    """What an assertion found."""

    name: str
    """What it asks for."""
    objects: tuple[tuple[ObjectKey, Json], ...]
    """The objects that were as it says, with their uids."""
    until: float
    """When its time is up."""
    unmet: Callable[[], str]
    """Why no object is as it says, "" where one is."""


def found(
    name: str, objects: Sequence[Json], until: float, unmet: Callable[[], str]
) -> Found | None:
    """Return what an assertion found in the cluster; None for a tree that asks for no object."""
    named = tuple((object_key(one), metadata(one).get("uid")) for one in objects if one is not None)
    return Found(name, named, until, unmet) if named else None


def deleted_too_soon(
    standing: Sequence[Found], parts: Parts, advance: Callable[[Callable[[], bool], float], bool]
) -> str:
    """Let the time of assertions pass; return which of them came too early, "" for none.

    Only what is deleted counts: what changes goes on, as a Pod does that runs and then ends.
    """
    reason, revision = "", parts.store.revision

    def lost() -> bool:
        nonlocal reason, revision
        if parts.store.revision != revision:
            revision = parts.store.revision
            told = (_told(one, parts) for one in standing if parts.clock.elapsed <= one.until)
            reason = next(filter(None, told), "")
        return bool(reason)

    last = max((one.until for one in standing), default=0.0)
    advance(lost, max(last - parts.clock.elapsed, 0.0))
    return reason


def _told(one: Found, parts: Parts) -> str:
    if any(_uid(key, parts) == uid for key, uid in one.objects) or not one.unmet():
        return ""
    key = one.objects[0][0]
    by = (event for event in reversed(parts.timeline.events) if event.action == "delete")
    actor = next((event.actor for event in by if event.object == key), "")
    who = f" by {actor}" if actor else ""
    return f"{one.name}: was there too early: it is deleted{who} at {parts.clock.elapsed:.3f} s"


def _uid(key: ObjectKey, parts: Parts) -> Json:
    obj = parts.store.get(*key)
    return None if obj is None else metadata(obj).get("uid")
