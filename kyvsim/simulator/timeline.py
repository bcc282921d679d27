"""The timeline of a run."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.model.simulation import TimelineEvent
from kyvsim.simulator.scheduler import VirtualClock

OF_EVERY_NAMESPACE = frozenset({("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")})
"""The objects that Kubernetes creates in every namespace, by kind and name."""


class Timeline:
    """Events in chronological order."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self.events: list[TimelineEvent] = []
        self._numbers: dict[ObjectKey, list[int]] = {}
        self.cause: int | None = None
        """The event that caused the running step, if known."""
        self.results = 0
        """The number of results of rules without the skipped ones."""
        self.skipped = 0

    def count_results(self, key: ObjectKey, results: int, skipped: int) -> None:
        """Count the results of rules for an object, except for synthesised objects."""
        if (key.kind, key.name) not in OF_EVERY_NAMESPACE:
            self.results += results
            self.skipped += skipped

    def record(
        self,
        actor: str,
        action: str,
        key: ObjectKey,
        *,
        outcome: str = "done",
        message: str = "",
        **details: Any,
    ) -> TimelineEvent:
        """Add an event at the current time, with further fields, and return it."""
        event = TimelineEvent(
            number=len(self.events),
            time=self._clock.elapsed,
            actor=actor,
            action=action,
            object=key,
            outcome=outcome,
            message=message,
            cause=self.cause,
            **details,
        )
        self.events.append(event)
        self._numbers.setdefault(key, []).append(event.number)
        return event

    def amend(self, event: TimelineEvent, **changes: Any) -> None:
        """Change fields of an event, which may have been the cause of others already."""
        self.events[event.number] = event._replace(**changes)

    def about(self, key: ObjectKey) -> Sequence[int]:
        """Return the numbers of the events about an object, in order."""
        return self._numbers.get(key, ())

    def first_about(self, key: ObjectKey, start: int = 0) -> int | None:
        """Return the number of the first event about an object, not before `start`."""
        numbers = self.about(key)
        at = bisect_left(numbers, start)
        return numbers[at] if at < len(numbers) else None

    @contextmanager
    def following(self, cause: int | None) -> Iterator[None]:
        """Record events in this context with a cause."""
        before, self.cause = self.cause, cause
        try:
            yield
        finally:
            self.cause = before
