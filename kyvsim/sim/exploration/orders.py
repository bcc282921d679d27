"""The orders of steps that are worth trying.

Dynamic partial-order reduction (Flanagan and Godefroid, 2005): where two steps of a run touch the
same objects, the later one is tried before the earlier one; steps that do not meet keep their
order, since nobody could tell the difference. Runs with the fewest changes of order come first.
"""

import heapq
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from kyvsim.model.simulation import Simulation
from kyvsim.sim.exploration.run import DirectedRun, Step
from kyvsim.sim.server.identity import Identities

_MANY = 1 << 30
MOST_CHANGES = 2
"""Orders that need more changes than this are not tried: few races do."""


class Order(NamedTuple):
    """One run, and how far its order is from the usual one."""

    simulation: Simulation
    changes: int
    """How many times an actor was let go before the one that was due first."""
    directions: tuple[str, ...]
    """The actors whose steps came first, as far as the order was told."""
    waiting: int = 0
    """How many orders were still to be tried after it."""


def explore(
    run: Callable[[DirectedRun], Simulation], limit: int | None, seed: int = 0
) -> Iterator[Order]:
    """Yield runs in orders that may differ, the usual one first; at most `limit` of them.

    `run` simulates everything anew and asks the run that it is given at every choice. Where the
    limit leaves some out, another seed tries others.
    """
    chance = Identities(seed)
    waiting: list[tuple[int, int, tuple[str, ...]]] = [(0, 0, ())]
    asked: set[tuple[str, ...]] = set()
    seen: set[tuple[str, ...]] = set()
    tried = 0
    while waiting and (limit is None or tried < limit):
        changes, _, directions = heapq.heappop(waiting)
        if directions in seen:
            continue
        directed = DirectedRun(directions)
        simulation = run(directed)
        directed.close()
        tried += 1
        actors = tuple(step.actor for step in directed.steps)
        seen.update(actors[:length] for length in range(len(actors) + 1))
        for other, cost in _alternatives(directed.steps):
            if other not in asked and cost <= MOST_CHANGES:
                asked.add(other)
                heapq.heappush(waiting, (cost, chance.below(_MANY), other))
        left = sum(one not in seen for _, _, one in waiting)
        yield Order(simulation, changes, directions, left)


def _alternatives(steps: Sequence[Step]) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield directions that turn round a pair of steps that meet, and their changes of order."""
    actors = [step.actor for step in steps]
    costs = [0]
    for index, step in enumerate(steps):
        goes_on = index > 0 and actors[index - 1] == step.actor
        costs.append(costs[-1] + (not step.usual and not goes_on))
    for later, step in enumerate(steps):
        earlier = _last_meeting(steps, later)
        if earlier is None:
            continue
        others = steps[earlier].others
        for actor in [step.actor] if step.actor in others else others:
            goes_on = earlier > 0 and actors[earlier - 1] == actor
            yield (*actors[:earlier], actor), costs[earlier] + (not goes_on)


def _last_meeting(steps: Sequence[Step], later: int) -> int | None:
    """Return the last step before another one that it meets, of another actor."""
    step = steps[later]
    for index in range(later - 1, -1, -1):
        before = steps[index]
        if before.actor != step.actor and before.footprint.meets(step.footprint):
            return index
    return None
