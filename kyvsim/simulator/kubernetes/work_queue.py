"""What a controller still has to look at, as client-go's work queues hold it."""

from collections.abc import Callable, Mapping

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.simulator.api_server import Change, Store
from kyvsim.simulator.latency import LONGEST_RETRY, NOTICE, RETRY
from kyvsim.simulator.parts import Parts

_MOST_DOUBLINGS = 16
"""After so many failures in a row the time between two attempts is the longest in any case."""


class WorkQueue:
    """Objects that one controller looks at soon; each is in it once, however often it is added."""

    def __init__(self, parts: Parts, actor: str, work: Callable[[ObjectKey], bool]) -> None:
        self._parts = parts
        self._actor = actor
        self._work = work
        self._waiting: set[ObjectKey] = set()
        self._failures: dict[ObjectKey, int] = {}

    def add(self, key: ObjectKey, delay: float = NOTICE) -> None:
        """Have a look at an object a moment from now; `work` says whether that went well."""
        if key not in self._waiting:
            self._waiting.add(key)
            self._parts.scheduler.after(delay, self._actor, lambda: self._run(key))

    def add_at(self, key: ObjectKey, delay: float) -> None:
        """Have a look at an object when some time has passed, and also earlier if it is added."""
        self._parts.scheduler.after(delay, self._actor, lambda: self._look(key), timer=True)

    def _run(self, key: ObjectKey) -> None:
        self._waiting.discard(key)
        self._look(key)

    def _look(self, key: ObjectKey) -> None:
        if self._work(key):
            self._failures.pop(key, None)
            return
        count = self._failures.get(key, 0)
        self._failures[key] = min(count + 1, _MOST_DOUBLINGS)
        self.add_at(key, min(RETRY * 2**count, LONGEST_RETRY))


def watch_kinds(
    store: Store, reactions: Mapping[tuple[str, str], Callable[[Change], None]]
) -> None:
    """Call the reaction to its kind, by apiVersion and kind, on every write of an object."""

    def observe(change: Change) -> None:
        subject = change.subject
        reactions[subject["apiVersion"], subject["kind"]](change)

    store.watch(observe, reactions)
