"""Virtual time: the clock, and the scheduled steps of actors. Nothing sleeps."""

from bisect import insort
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import NamedTuple

START = datetime(2026, 1, 1, tzinfo=UTC)


class VirtualClock:
    """A `Clock` that only moves when it is set."""

    def __init__(self, start: datetime = START) -> None:
        self.start = start
        self.elapsed = 0.0
        """Seconds since the start of the simulation."""
        self._stamped = -1.0, ""

    def now(self) -> datetime:
        """Return the current time in UTC."""
        return self.start + timedelta(seconds=self.elapsed)

    def move_to(self, elapsed: float) -> None:
        """Move the clock to a number of seconds after the start; it never moves backwards."""
        self.elapsed = max(self.elapsed, elapsed)

    def stamp(self, later: float = 0.0) -> str:
        """Return the time some seconds from now, in whole seconds, in the format of objects."""
        known, text = self._stamped
        at = self.elapsed + later
        if known != at:
            text = (self.start + timedelta(seconds=at)).strftime("%Y-%m-%dT%H:%M:%SZ")
            self._stamped = at, text
        return text


class Task(NamedTuple):
    """One step of one actor; steps are atomic, and an actor's steps keep their order."""

    due: float
    """Seconds after the start of the simulation."""
    number: int
    actor: str
    run: Callable[[], None]
    timer: bool
    """Whether it only waits for its time, as a periodic rescan does; no work is pending."""
    follows: bool = False
    """Whether it is the delayed consequence of a step, such as a scan after a change."""
    parent: int = 0
    """The number of the step that scheduled it, 0 if none did."""
    fresh: bool = False
    """Whether it only comes after that step, and does not depend on what that one did."""


Choose = Callable[[Sequence[Task]], int]
"""Picks one of the tasks that can run next: the first of each actor, by time."""


def earliest(enabled: Sequence[Task]) -> int:
    """Pick the task that is due first."""
    del enabled
    return 0


class Scheduler:
    """The pending tasks, and the clock that they move."""

    def __init__(
        self,
        clock: VirtualClock,
        choose: Choose = earliest,
        delays: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        """Delay the steps of actors by some seconds, except for timers."""
        self.clock = clock
        self._choose = choose
        self._delays = delays
        self._pending: list[Task] = []
        """Ordered by time, then by number."""
        self._stopped: frozenset[str] = frozenset()
        self._count = 0
        self.running = 0
        """The number of the running step, or 0."""
        self.actor = ""
        self.done = 0

    def after(
        self,
        seconds: float,
        actor: str,
        run: Callable[[], None],
        *,
        timer: bool = False,
        follows: bool = False,
        fresh: bool = False,
    ) -> None:
        """Schedule a step of `actor` some seconds from now."""
        if actor in self._stopped:
            return
        self._count += 1
        due = self.clock.elapsed + seconds + (0.0 if timer else self._delays.get(actor, 0.0))
        task = Task(due, self._count, actor, run, timer, follows, self.running, fresh)
        insort(self._pending, task, key=lambda one: (one.due, one.number))

    def follow_up(self, seconds: float, actor: str, run: Callable[[], None]) -> None:
        """Schedule a delayed consequence of a step, some seconds from now."""
        self.after(seconds, actor, run, timer=True, follows=True)

    def stop(self, actors: frozenset[str]) -> None:
        """Drop the pending steps of actors, except for timers, and ignore new ones."""
        self._stopped |= actors
        self._pending = [
            task
            for task in self._pending
            if task.actor not in actors or (task.timer and not task.follows)
        ]

    def resume(self, actors: frozenset[str]) -> None:
        """Accept new steps of actors again."""
        self._stopped -= actors

    def advance(self, seconds: float) -> None:
        """Advance the clock, and run all steps that are due until then."""
        end = self.clock.elapsed + seconds
        while self.step(end):
            pass
        self.clock.move_to(end)

    def run_until(self, done: Callable[[], bool], seconds: float) -> bool:
        """Run until `done` returns True, for at most `seconds` of virtual time; return its result.

        `done` is called after every step.
        """
        end = self.clock.elapsed + seconds
        while not done():
            if not self.step(end):
                self.clock.move_to(end)
                return done()
        return True

    def settle(
        self,
        seconds: float,
        *,
        follow_ups: bool = False,
        after_step: Callable[[], None] = lambda: None,
    ) -> bool:
        """Run until only timers are pending, for at most `seconds` of virtual time.

        Return whether that is so. With `follow_ups`, timers that follow from steps are run, too.
        `after_step` is called after each step.
        """

        def done() -> bool:
            after_step()
            return all(one.timer and not (follow_ups and one.follows) for one in self._pending)

        return self.run_until(done, seconds)

    def step(self, end: float) -> bool:
        """Run the next task due by `end`; return whether there was one."""
        enabled = self._enabled(end)
        if not enabled:
            return False
        task = enabled[self._choose(enabled)]
        self._pending.remove(task)
        self.clock.move_to(task.due)
        self.running, self.actor = task.number, task.actor
        task.run()
        self.running, self.actor = 0, ""
        self.done += 1
        return True

    def _enabled(self, end: float) -> list[Task]:
        """Return the first task of each actor that can run by `end`; timers wait for their time.

        A timer only runs if nothing else is due before it.
        """
        work: dict[str, Task] = {}
        for task in self._pending:
            if task.due > end:
                break
            if task.timer:
                if not work:
                    return [task]
                break
            work.setdefault(task.actor, task)
            if self._choose is earliest:
                break
        return list(work.values())
