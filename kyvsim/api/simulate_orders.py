"""A scenario in other orders of its steps, played by several processes ahead of time.

Which order is to be tried next is known when the one before was played. Mostly it is one that
waited already: those are begun meanwhile. One that nobody asks for in the end was played in vain.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from functools import lru_cache

from kyvsim.api.processes import process_pool
from kyvsim.api.simulation import readers
from kyvsim.model.simulation import Scenario
from kyvsim.simulator.context import Readers
from kyvsim.simulator.exploration import Directions, Played, Player, play_directed
from kyvsim.simulator.scenario import play

_AHEAD = 2
"""So many orders are begun for each process, that none waits for the others."""


@contextmanager
def player(scenario: Scenario, jobs: int) -> Iterator[Player]:
    """Give what plays a scenario in an order, by so many processes."""
    if jobs == 1:
        yield lambda directions, _: played(scenario, directions)
        return
    with ExitStack() as closed:
        yield _Ahead(scenario, jobs, closed).play


def played(scenario: Scenario, directions: Directions) -> Played:
    """Return what becomes of a scenario in an order of its steps."""
    reading = _reading()
    return play_directed(
        lambda directed: play(scenario, reading, directed.choose, directed.watch), directions
    )


@lru_cache(maxsize=1)
def _reading() -> Readers:
    """Return what reads policies, the same for all that a process plays."""
    return readers()


class _Ahead:
    """Plays orders before they are asked for; here, once one of its processes was killed."""

    def __init__(self, scenario: Scenario, jobs: int, closed: ExitStack) -> None:
        self._scenario = scenario
        self._jobs = jobs
        self._closed = closed
        self._pool: ProcessPoolExecutor | None = None
        self._begun: dict[Directions, Future[Played]] = {}
        self._broken = False

    def play(self, directions: Directions, likely: Callable[[int], Iterable[Directions]]) -> Played:
        """Return what becomes of an order; have those played meanwhile that come after it."""
        following = () if self._broken else tuple(likely(_AHEAD * self._jobs))
        try:
            for one in (directions, *following) if following else ():
                if one not in self._begun:
                    self._begun[one] = self._workers().submit(played, self._scenario, one)
            if directions in self._begun:
                return self._begun.pop(directions).result()
        except BrokenProcessPool:
            self._broken = True
            self._begun.clear()
        return played(self._scenario, directions)

    def _workers(self) -> ProcessPoolExecutor:
        if self._pool is None:
            self._pool = self._closed.enter_context(process_pool(self._jobs))
        return self._pool
