"""Virtual time: the clock, and the steps of actors in its order. Nothing sleeps."""

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
        """Seconds since the simulation began."""
        self._stamped = -1.0, ""

    def now(self) -> datetime:
        """Return the current time in UTC."""
        return self.start + timedelta(seconds=self.elapsed)

    def move_to(self, elapsed: float) -> None:
        """Move on to a number of seconds after the start; time never runs backwards."""
        self.elapsed = max(self.elapsed, elapsed)

    def stamp(self) -> str:
        """Return the time as objects carry it, in whole seconds."""
        known, text = self._stamped
        if known != self.elapsed:
            text = self.now().strftime("%Y-%m-%dT%H:%M:%SZ")
            self._stamped = self.elapsed, text
        return text


class Task(NamedTuple):
    """One step of one actor; steps are atomic, and an actor's steps keep their order."""

    due: float
    """Seconds after the start of the simulation."""
    number: int
    actor: str
    run: Callable[[], None]
    timer: bool
    """Whether it only waits for its time, as a rescan does; no work is pending for its sake."""
    follows: bool = False
    """Whether it is a delayed consequence of a step, as a scan some time after a change is, and not
    one of a schedule."""
    parent: int = 0
    """The number of the step that scheduled it, 0 if none did."""
    fresh: bool = False
    """Whether it only follows that step in time, and does not depend on what that one did."""


Choose = Callable[[Sequence[Task]], int]
"""Picks one of the tasks that may run next, the first of each actor, in order of time."""


def earliest(enabled: Sequence[Task]) -> int:
    """Pick what is due first."""
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
        """In the order of their times, and of their numbers where those are equal."""
        self._stopped: frozenset[str] = frozenset()
        self._count = 0
        self.running = 0
        """The number of the step that runs now, 0 where none does."""
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
        """Let `actor` run a step some seconds from now."""
        if actor in self._stopped:
            return
        self._count += 1
        due = self.clock.elapsed + seconds + (0.0 if timer else self._delays.get(actor, 0.0))
        task = Task(due, self._count, actor, run, timer, follows, self.running, fresh)
        insort(self._pending, task, key=lambda one: (one.due, one.number))

    def follow_up(self, seconds: float, actor: str, run: Callable[[], None]) -> None:
        """Let `actor` do what follows from something done, on purpose some seconds later."""
        self.after(seconds, actor, run, timer=True, follows=True)

    def stop(self, actors: frozenset[str]) -> None:
        """Let actors forget what they were about to do, but for timers, and take on nothing new."""
        self._stopped |= actors
        self._pending = [
            task
            for task in self._pending
            if task.actor not in actors or (task.timer and not task.follows)
        ]

    def resume(self, actors: frozenset[str]) -> None:
        """Let actors take on work again."""
        self._stopped -= actors

    def advance(self, seconds: float) -> None:
        """Let time pass, and everything happen that is due meanwhile."""
        end = self.clock.elapsed + seconds
        while self.step(end):
            pass
        self.clock.move_to(end)

    def run_until(self, done: Callable[[], bool], seconds: float) -> bool:
        """Run until `done` returns True, at most for some virtual seconds; return whether it did.

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
        """Run until only timers wait, at most for some virtual seconds; return whether they do.

        With `follow_ups`, timers are run, too, that follow from what was done. `after_step` is
        called after each step.
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
        """Return the first task of each actor that may run by `end`; timers wait for their time.

        A timer counts only where nothing else is due before it.
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
