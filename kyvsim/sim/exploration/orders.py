"""The orders of steps that are worth trying.

Dynamic partial-order reduction (Flanagan and Godefroid, 2005): where two steps of a run touch the
same objects, the later one is tried before the earlier one; steps that do not meet keep their
order, since nobody could tell the difference. Runs with the fewest changes of order come first.
"""

import heapq
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import NamedTuple

from kyvsim.model.simulation import Simulation
from kyvsim.sim.exploration.run import DirectedRun, Step


class Order(NamedTuple):
    """One run, and how far its order is from the usual one."""

    simulation: Simulation
    changes: int
    """How many times a step was preferred to the one that was due first."""
    directions: tuple[str, ...]
    """The actors whose steps came first, as far as the order was told."""


def explore(run: Callable[[DirectedRun], Simulation], limit: int | None) -> Iterator[Order]:
    """Yield runs in orders that may differ, the usual one first; at most `limit` of them.

    `run` simulates everything anew and asks the run that it is given at every choice.
    """
    tie = count()
    waiting: list[tuple[int, int, int, tuple[str, ...]]] = [(0, 0, next(tie), ())]
    asked: set[tuple[str, ...]] = set()
    seen: set[tuple[str, ...]] = set()
    tried = 0
    while waiting and (limit is None or tried < limit):
        changes, _, _, directions = heapq.heappop(waiting)
        if directions in seen:
            continue
        directed = DirectedRun(directions)
        simulation = run(directed)
        directed.close()
        tried += 1
        actors = tuple(step.actor for step in directed.steps)
        seen.update(actors[:length] for length in range(len(actors) + 1))
        yield Order(simulation, changes, directions)
        for other in _alternatives(directed.steps):
            if other not in asked:
                asked.add(other)
                heapq.heappush(waiting, (changes + 1, len(other), next(tie), other))


def _alternatives(steps: Sequence[Step]) -> Iterator[tuple[str, ...]]:
    """Yield directions that turn round a pair of steps that meet."""
    actors = [step.actor for step in steps]
    for later, step in enumerate(steps):
        earlier = _last_meeting(steps, later)
        if earlier is None:
            continue
        others = steps[earlier].others
        for actor in [step.actor] if step.actor in others else others:
            yield (*actors[:earlier], actor)


def _last_meeting(steps: Sequence[Step], later: int) -> int | None:
    """Return the last step before another one that it meets, of another actor."""
    step = steps[later]
    for index in range(later - 1, -1, -1):
        before = steps[index]
        if before.actor != step.actor and before.footprint.meets(step.footprint):
            return index
    return None
