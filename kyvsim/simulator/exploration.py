"""Find races: run one scenario with its steps in many orders."""

import heapq
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, combinations, pairwise
from typing import NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import ObjectKey, metadata, text_field, without_server_fields
from kyvsim.model.simulation import Hazard, HazardLevel, Interleavings, ScenarioEnding, Simulation
from kyvsim.simulator.api_server import ObjectStore
from kyvsim.simulator.api_server.metadata import Identities
from kyvsim.simulator.scheduler import Task


class Footprint(NamedTuple):
    """The keys that a step reads (without name: a list) and writes; group replaces apiVersion."""

    reads: frozenset[ObjectKey]
    writes: frozenset[ObjectKey]

    def overlaps(self, other: "Footprint") -> bool:
        """Return whether the order of two steps can matter."""
        return (
            not self.writes.isdisjoint(other.writes)
            or _reads_any(self.reads, other.writes)
            or _reads_any(other.reads, self.writes)
        )


NOTHING = Footprint(frozenset(), frozenset())


def _reads_any(reads: Iterable[ObjectKey], writes: frozenset[ObjectKey]) -> bool:
    return bool(writes) and any(
        read in writes
        if read.name
        else any(
            read[:2] == write[:2] and read.namespace in {"", write.namespace} for write in writes
        )
        for read in reads
    )


FOLLOWING = frozenset(
    {"ClusterEphemeralReport", "ClusterPolicyReport", "EphemeralReport", "Event", "PolicyReport"}
)
"""Kinds that only report on other objects: their order has no effect; they are not compared."""

Directions: TypeAlias = tuple[str, ...]
"""The actors of the first steps, in order."""


class StepChoice(NamedTuple):
    """A step that was run, and those that could have been run in its place.

    It is sent between processes, so its task has an empty function.
    """

    actor: str
    others: tuple[str, ...]
    usual: bool
    """Whether it was the first that was due."""
    footprint: Footprint
    task: Task


class Played(NamedTuple):
    """The result of one run, and its steps."""

    simulation: Simulation
    steps: tuple[StepChoice, ...]


class DirectedRun:
    """Chooses the steps of one run: first as directed, then the first that is due."""

    def __init__(self, directions: Directions = ()) -> None:
        self._directions = directions
        self._store: ObjectStore | None = None
        self._seen_changes = 0
        self._open: tuple[tuple[str, ...], bool, Task] | None = None
        self.steps: list[StepChoice] = []

    def watch(self, store: ObjectStore) -> None:
        """Record from now on what steps read from a store and write to it."""
        self._store = store
        self._seen_changes = len(store.changes)
        store.read_keys = set()

    def choose(self, enabled: Sequence[Task]) -> int:
        """Pick the step of the directed actor, or the first one."""
        self.close()
        # Steps may run up to 0.1 seconds early.
        near = [task for task in enabled if task.due <= enabled[0].due + 0.1]
        actors = [task.actor for task in near]
        place = len(self.steps)
        directed = self._directions[place] if place < len(self._directions) else actors[0]
        index = actors.index(directed) if directed in actors else 0
        others = tuple(one for one in actors if one != actors[index])
        self._open = (others, index == 0, near[index])
        return index

    def close(self) -> None:
        """Record the footprint of the last step."""
        if self._open is None:
            return
        others, usual, task = self._open
        store, footprint = self._store, NOTHING
        if store is not None and store.read_keys is not None:
            keys = [change.key for change in store.changes[self._seen_changes :]]
            footprint = Footprint(
                frozenset(key for key in store.read_keys if key.kind not in FOLLOWING),
                frozenset(
                    key._replace(api_version=key.group) for key in keys if key.kind not in FOLLOWING
                ),
            )
            self._seen_changes = len(store.changes)
            store.read_keys = set()
        done = task._replace(run=_nothing)
        self.steps.append(StepChoice(task.actor, others, usual, footprint, done))
        self._open = None


def play_directed(run: Callable[[DirectedRun], Simulation], directions: Directions) -> Played:
    """Return the result of a run that lets `DirectedRun` choose every step."""
    directed = DirectedRun(directions)
    simulation = run(directed)
    directed.close()
    return Played(simulation, tuple(directed.steps))


def _nothing() -> None:
    """Replace the function of a step that was run already."""


class Race(NamedTuple):
    """Two steps with overlapping footprints that do not depend on each other."""

    earlier: int
    later: int


class Causality:
    """The causal order of the steps of one run.

    A step follows from the one that scheduled it, from the previous one of its actor, and from all
    earlier ones with an overlapping footprint. Timers wait for everything that is due before them,
    and nothing that is due later precedes them.
    """

    def __init__(self, steps: Sequence[StepChoice]) -> None:
        self._steps = steps
        self.pasts: list[int] = []
        """For each step, the steps that it follows from, as bits."""
        self._parents: list[int] = []
        self._needs: list[int] = []
        """For each step, the steps that it depends on, as bits."""
        self.races: list[Race] = []
        self.names: list[int] = []
        """For each step, a key that is equal in all runs: hashes its actor and scheduling step."""
        self._groups = list(range(len(steps)))
        self._follow()
        # An actor runs its steps in the order in which they were scheduled: to reorder two
        # steps of one component, the steps that scheduled them are swapped.
        for earlier, later in combinations(range(len(steps)), 2):
            same = steps[earlier].actor == steps[later].actor
            race = self._race_of_parents(earlier, later) if same else None
            if race is not None and self.component(race.earlier) == self.component(race.later):
                self.races.append(race)
        self.races = list(dict.fromkeys(self.races))
        known: dict[int, int] = {}
        counts: dict[tuple[int, str], int] = {}
        for step in self._steps:
            kind = (known.get(step.task.parent, 0), step.actor)
            counts[kind] = counts.get(kind, 0) + 1
            known[step.task.number] = hash((*kind, counts[kind]))
            self.names.append(known[step.task.number])

    def _follow(self) -> None:
        last: dict[str, int] = {}
        numbers: dict[int, int] = {}
        barrier = -1
        for index, step in enumerate(self._steps):
            parent = numbers.get(step.task.parent, -1)
            needs = past = 0
            for before in (parent, last.get(step.actor, -1), barrier):
                if before >= 0:
                    needs |= self._needs[before] | 1 << before
                    past |= self._with(before)
            if step.task.timer:
                needs = past = (1 << index) - 1
                barrier = index
            if parent >= 0 and not step.task.fresh:
                self._join(parent, index)
            self._needs.append(needs)
            self._parents.append(parent)
            # It also follows from the past of each overlapping step.
            for before in range(index - 1, -1, -1):
                other = self._steps[before]
                if other.footprint.overlaps(step.footprint):
                    self._join(before, index)
                    past |= self._with(before)
                    if other.actor != step.actor and not needs >> before & 1:
                        self.races.append(Race(before, index))
            self.pasts.append(past)
            last[step.actor] = numbers[step.task.number] = index

    def _race_of_parents(self, earlier: int, later: int) -> Race | None:
        while self._steps[earlier].actor == self._steps[later].actor:
            earlier, later = self._parents[earlier], self._parents[later]
            if earlier < 0 or later <= earlier:
                return None
        return None if self._needs[later] >> earlier & 1 else Race(earlier, later)

    def _with(self, index: int) -> int:
        return self.pasts[index] | 1 << index

    def _join(self, one: int, other: int) -> None:
        self._groups[self.component(other)] = self.component(one)

    def component(self, index: int) -> int:
        """Return the component of a step: components share no footprints or parents."""
        while self._groups[index] != index:
            self._groups[index] = self._groups[self._groups[index]]
            index = self._groups[index]
        return index

    def swapped(self, race: Race) -> list[list[int]]:
        """Return the steps to run before the earlier step so that the later one precedes it.

        Those are the steps that the later one needs, or also those in its past that do not follow
        from the earlier one.
        """
        first = 1 << race.earlier
        between = range(race.earlier + 1, race.later)
        needs, past = self._needs[race.later], self.pasts[race.later]
        short = [one for one in between if needs >> one & 1]
        whole = [one for one in between if past >> one & 1 and not self.pasts[one] & first]
        orders = [[*some, race.later] for some in (short, whole)]
        return orders if short != whole else orders[:1]

    def key(self, race: Race, swapped: Sequence[int]) -> int:
        """Return a key that is equal for all orders that cannot be distinguished.

        It hashes the steps of the race's component up to the swap, and their dependencies.
        """
        component = self.component(race.earlier)
        entries, before = [], 0
        for one in (*range(race.earlier), *swapped):
            if self.component(one) == component:
                past = self.pasts[one] & before
                names = (self.names[index] for index in range(one) if past >> index & 1)
                entries.append((self.names[one], frozenset(names)))
                before |= 1 << one
        return hash(frozenset(entries))

    def components(self, names: frozenset[int]) -> Iterator[int]:
        """Yield the components of the steps with these names."""
        for index, name in enumerate(self.names):
            if name in names:
                yield self.component(index)


def text_of(simulation: Simulation) -> str:
    """Return the text that identifies an ending: objects, hazards, expectations."""
    entries = [
        *(without_server_fields(obj) for obj in simulation.objects if obj["kind"] not in FOLLOWING),
        *sorted({hazard.code for hazard in simulation.hazards}),
        *((one.text, one.met) for one in simulation.expectations),
    ]
    lines = "\n".join(json.dumps(one, sort_keys=True) for one in entries)
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID", lines)
    # Names that the server generated, by their prefix.
    every = (metadata(obj) for obj in simulation.objects)
    generated = (one for one in every if text_field(one, "generateName"))
    names = {text_field(one, "name"): text_field(one, "generateName") for one in generated}
    for name, base in sorted(names.items()):
        text = text.replace(name, f"{base}*")
    return "\n".join(sorted(text.splitlines()))


# The orders of steps to try.
#
# Dynamic partial-order reduction (Flanagan and Godefroid, 2005; Abdulla and others, 2014): if two
# steps of a run overlap and neither follows from the other, the later one is tried before the
# earlier one, together with what it needs. Orders with no visible difference are tried once. Steps
# belong to components that share nothing: in a run whose order was changed in one component the
# others keep their order, since theirs are tried separately. If several components each have an
# order with a different ending, these are tried together. Runs with the fewest changes of order are
# first, and among them races between actors that were rarely tried.

Player: TypeAlias = Callable[[Directions, Callable[[int], Iterable[Directions]]], Played]
"""Runs a scenario in an order; its second argument returns the orders likely to be next."""

_MANY = 1 << 30
MOST_CHANGES = 2
"""Orders with more changes are not tried: few races need them."""


class Order(NamedTuple):
    """One run, and how much its order differs from the usual one."""

    simulation: Simulation
    changes: int
    """How often an actor ran before the one that was due first."""
    directions: Directions
    waiting: int = 0
    """How many orders were still to be tried after it."""


class _OrderChange(NamedTuple):
    """The change in one component."""

    names: frozenset[int]
    """The names of the steps that were swapped."""
    keys: tuple[int, ...]
    """The keys that it shares with equivalent orders of the component, one for each change."""


class _Plan(NamedTuple):
    """An order to try; plans sort by priority."""

    changes: int
    tried: int
    """How many plans for races of the same actors came before it."""
    chance: int
    directions: Directions = ()
    swaps: tuple[_OrderChange, ...] = ()
    """Its changes, one for each component."""


def explore(
    play: Player, limit: int | None, seed: int = 0, most_changes: int = MOST_CHANGES
) -> Iterator[Order]:
    """Yield runs in orders that can differ, the usual one first; at most `limit` of them.

    If the limit excludes some, another seed tries others.
    """
    plans = _Plans(seed, most_changes)
    tried = 0
    while limit is None or tried < limit:
        plan = plans.take()
        if plan is None:
            return
        tried += 1
        left = None if limit is None else limit - tried
        simulation, steps = play(plan.directions, partial(plans.likely, left))
        plans.learn(plan, steps, text_of(simulation))
        yield Order(simulation, plan.changes, plan.directions, plans.left())


class _Plans:
    """The orders still to try."""

    def __init__(self, seed: int, most_changes: int) -> None:
        self._chance = Identities(seed)
        self._most = most_changes
        self._waiting = [_Plan(0, 0, 0)]
        self._planned: set[frozenset[int]] = {frozenset()}
        self._seen: dict[int, set[int]] = {}
        """By hash of the first actors of runs: the keys of their swaps, 0 for the usual order."""
        self._sorts: dict[tuple[str, str], int] = {}
        self._endings: set[str] = set()
        self._decisive: set[int] = set()
        """The keys of swaps that led to a different ending."""
        self._elsewhere: dict[int, list[_Plan]] = {}
        """Plans for swaps in another component, by key; if that swap alone ends differently."""

    def take(self) -> _Plan | None:
        """Return the next order to try, None if there is none."""
        while self._waiting:
            plan = heapq.heappop(self._waiting)
            if not self._is_known(plan):
                return plan
        return None

    def likely(self, left: int | None, count: int) -> Iterator[Directions]:
        """Yield the next known orders: at most `count`.

        No more than `left`, the number of runs left to try; None for any number.
        """
        most = count if left is None else min(count, left)
        for plan in heapq.nsmallest(most, self._waiting):
            if not self._is_known(plan):
                yield plan.directions

    def left(self) -> int:
        """Return how many orders have not been tried."""
        return sum(not self._is_known(one) for one in self._waiting)

    def _is_known(self, plan: _Plan) -> bool:
        """Return whether an equivalent run, or one in the usual order, began in this order."""
        if len(plan.swaps) != 1:
            return False
        known = self._seen.get(_hashes(plan.directions)[-1], set())
        return 0 in known or not known.isdisjoint(plan.swaps[0].keys)

    def learn(self, plan: _Plan, steps: Sequence[StepChoice], ending: str) -> None:
        """Plan the orders that a run shows to be useful."""
        keys = {key for swap in plan.swaps for key in swap.keys}
        for beginning in _hashes(step.actor for step in steps):
            self._seen.setdefault(beginning, set()).update(keys or {0})
        causality = Causality(steps)
        own = {component for swap in plan.swaps for component in causality.components(swap.names)}
        joined, is_new = len(plan.swaps) > 1, ending not in self._endings
        for race in causality.races:
            apart = joined or (own and causality.component(race.earlier) not in own)
            for made in self._swapping(plan, steps, causality, race):
                key = made.swaps[-1].keys[-1]
                if not apart or (key in self._decisive and (joined or is_new)):
                    self._add(made)
                elif joined or is_new:
                    # It is tried if that change alone leads to a different ending.
                    self._elsewhere.setdefault(key, []).append(made)
        self._endings.add(ending)
        if is_new:
            self._decisive |= keys
            for one in [one for key in sorted(keys) for one in self._elsewhere.pop(key, ())]:
                self._add(one)

    def _add(self, plan: _Plan) -> None:
        # The keys that it shares with equivalent orders, for all components that it changes.
        key = frozenset(swap.keys[-1] for swap in plan.swaps)
        if key not in self._planned:
            self._planned.add(key)
            heapq.heappush(self._waiting, plan)

    def _swapping(
        self, plan: _Plan, steps: Sequence[StepChoice], causality: Causality, race: Race
    ) -> Iterator[_Plan]:
        """Yield the orders that swap a race, without those that need too many changes."""
        actors = [step.actor for step in steps]
        for swapped in causality.swapped(race):
            ahead = [actors[index] for index in swapped]
            before = actors[: race.earlier]
            at = before[-1] if before else ""
            changes = _changes(steps, race.earlier) + sum(
                one != two for one, two in pairwise((at, *ahead))
            )
            swaps = _with_swap(plan, causality, race, causality.key(race, swapped))
            if len(swaps) > 1:
                # Changes in other components are kept, after the swap.
                rest = range(race.earlier, len(plan.directions))
                ahead += [actors[index] for index in rest if index not in swapped]
                changes = plan.changes + 1
            if ahead[0] not in steps[race.earlier].others or changes > self._most:
                continue
            sort = (actors[race.earlier], actors[race.later])
            tried = self._sorts[sort] = self._sorts.get(sort, 0) + 1
            directions = (*actors[: race.earlier], *ahead)
            yield _Plan(changes, tried, self._chance.below(_MANY), directions, swaps)


def _with_swap(plan: _Plan, causality: Causality, race: Race, key: int) -> tuple[_OrderChange, ...]:
    """Return the changes of a plan and another one, merged with those of its component."""
    component = causality.component(race.earlier)
    names = frozenset({causality.names[race.earlier], causality.names[race.later]})
    keys: tuple[int, ...] = ()
    others = []
    for swap in plan.swaps:
        if component in causality.components(swap.names):
            names |= swap.names
            keys += swap.keys
        else:
            others.append(swap)
    return (*others, _OrderChange(names, (*keys, key)))


def _changes(steps: Sequence[StepChoice], end: int) -> int:
    """Return how often an actor ran before the one that was due first."""
    actors = ["", *(step.actor for step in steps)]
    return sum(
        not steps[index].usual and actors[index] != actors[index + 1] for index in range(end)
    )


def _hashes(actors: Iterable[str]) -> list[int]:
    """Return a hash for every prefix of a list of actors."""
    return list(accumulate(actors, lambda before, actor: hash((before, actor)), initial=0))


def interleavings_of(orders: Iterable[Order]) -> Interleavings:
    """Return the different endings of at least one run, that of the usual order first."""
    endings: dict[str, ScenarioEnding] = {}
    complete = True
    for order in orders:
        ending = ScenarioEnding(order.simulation, order.changes, 1)
        known = endings.setdefault(text_of(order.simulation), ending)
        if known is not ending:
            shortest = min(known, ending, key=lambda one: (one.changes, len(one.simulation.events)))
            endings[text_of(order.simulation)] = shortest._replace(runs=known.runs + 1)
        complete = order.waiting == 0
    every = tuple(endings.values())
    return Interleavings(sum(one.runs for one in every), complete, MOST_CHANGES, every)


def with_interleavings(interleavings: Interleavings) -> Simulation:
    """Return the usual run, with a hazard if other orders end differently.

    KH012: an error if another order meets fewer expectations or has more hazards that are errors.
    """
    usual, *others = interleavings.endings
    simulation = usual.simulation._replace(interleavings=interleavings)
    if not others:
        return simulation
    worse = any(_failures(one.simulation) > _failures(usual.simulation) for one in others)
    runs = sum(one.runs for one in others)
    hazard = Hazard(
        "KH012",
        HazardLevel.ERROR if worse else HazardLevel.WARNING,
        f"the result depends on the order of two steps: {runs} of {interleavings.runs} orders end "
        f"differently, in {len(others)} {'way' if len(others) == 1 else 'ways'}",
    )
    return simulation._replace(hazards=(*simulation.hazards, hazard))


def _failures(simulation: Simulation) -> int:
    unmet = sum(not one.met for one in simulation.expectations)
    return unmet + sum(one.level is HazardLevel.ERROR for one in simulation.hazards)
