"""Who waits for objects that are not there, or not as they should be."""

from collections.abc import Iterable

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.simulator.api_server import Change
from kyvsim.simulator.kubernetes.work_queue import WorkQueue


class MissingObjects:
    """Puts what waits for an object back into a queue when that object is written."""

    def __init__(self, queue: WorkQueue) -> None:
        self._queue = queue
        self._waiting: dict[ObjectKey, dict[ObjectKey, None]] = {}
        """By what is missing, what waits for it."""
        self._needs: dict[ObjectKey, tuple[ObjectKey, ...]] = {}

    def note(self, waiter: ObjectKey, missing: Iterable[ObjectKey]) -> None:
        """Keep in mind what something waits for now, and nothing else."""
        self.forget(waiter)
        needs = tuple(missing)
        for key in needs:
            self._waiting.setdefault(key, {})[waiter] = None
        if needs:
            self._needs[waiter] = needs

    def forget(self, waiter: ObjectKey) -> None:
        """Forget what something waited for."""
        for key in self._needs.pop(waiter, ()):
            self._waiting.get(key, {}).pop(waiter, None)

    def observe(self, change: Change) -> None:
        """Look at what waited for the object that was written."""
        if self._needs and change.new is not None:
            for waiter in self._waiting.get(change.key, ()):
                self._queue.add(waiter)
