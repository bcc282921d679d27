"""One run in a chosen order, and which steps of it led to which."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple, TypeAlias

from kyvsim.kubernetes.discovery import split_api_version
from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.model.simulation import Simulation
from kyvsim.simulator.api_server import Change, Store
from kyvsim.simulator.time import Task

# What a step read and wrote: two steps that do not meet in it may change places.


class Footprint(NamedTuple):
    """Keys by group in place of apiVersion; a read without a name is that of a list."""

    reads: frozenset[ObjectKey]
    writes: frozenset[ObjectKey]

    def meets(self, other: "Footprint") -> bool:
        """Return whether the order of two steps can matter."""
        return (
            not self.writes.isdisjoint(other.writes)
            or _sees(self.reads, other.writes)
            or _sees(other.reads, self.writes)
        )


NOTHING = Footprint(frozenset(), frozenset())


def _sees(reads: Iterable[ObjectKey], writes: frozenset[ObjectKey]) -> bool:
    return bool(writes) and any(
        read in writes if read.name else any(_lists(read, write) for write in writes)
        for read in reads
    )


def _lists(read: ObjectKey, write: ObjectKey) -> bool:
    same_kind = read[:2] == write[:2]
    return same_kind and (not read.namespace or read.namespace == write.namespace)


# One run in a chosen order, and what it shows about other orders.

_WINDOW = 0.1
"""Seconds by which a step may come too early; what is further off waits for its time."""

FOLLOWING = frozenset(
    {"ClusterEphemeralReport", "ClusterPolicyReport", "EphemeralReport", "Event", "PolicyReport"}
)
"""Kinds that only tell of others: their order matters to nobody, and they are not compared."""


Directions: TypeAlias = tuple[str, ...]
"""The actors whose steps are to come first, one after the other."""


class Choice(NamedTuple):
    """A step that was run, and those that could have been run in its place.

    It crosses processes: its task has nothing left to do.
    """

    actor: str
    others: tuple[str, ...]
    usual: bool
    """Whether it was the one that was due first."""
    footprint: Footprint
    task: Task


class Played(NamedTuple):
    """What became of one run, and the steps that it took."""

    simulation: Simulation
    steps: tuple[Choice, ...]


class DirectedRun:
    """Chooses the steps of one run: first as told, then what is due first."""

    def __init__(self, directions: Directions = ()) -> None:
        self._directions = directions
        self._store: Store | None = None
        self._seen_changes = 0
        self._open: tuple[tuple[str, ...], bool, Task] | None = None
        self.steps: list[Choice] = []

    def watch(self, store: Store) -> None:
        """Note from now on what steps read from a store, and write to it."""
        self._store = store
        self._seen_changes = len(store.changes)
        store.read_keys = set()

    def choose(self, enabled: Sequence[Task]) -> int:
        """Pick the step of the actor that is told, or the first one."""
        self.close()
        near = [task for task in enabled if task.due <= enabled[0].due + _WINDOW]
        actors = [task.actor for task in near]
        place = len(self.steps)
        told = self._directions[place] if place < len(self._directions) else actors[0]
        index = actors.index(told) if told in actors else 0
        others = tuple(one for one in actors if one != actors[index])
        self._open = (others, index == 0, near[index])
        return index

    def close(self) -> None:
        """Note what the step that ran last has touched."""
        if self._open is not None:
            others, usual, task = self._open
            done = task._replace(run=_nothing)
            self.steps.append(Choice(task.actor, others, usual, self._touched(), done))
            self._open = None

    def _touched(self) -> Footprint:
        store = self._store
        if store is None or store.read_keys is None:
            return NOTHING
        changes = store.changes[self._seen_changes :]
        self._seen_changes = len(store.changes)
        writes = frozenset(map(_written, changes))
        found = Footprint(
            frozenset(filter(_counts, store.read_keys)), frozenset(filter(_counts, writes))
        )
        store.read_keys = set()
        return found


def play_directed(run: Callable[[DirectedRun], Simulation], directions: Directions) -> Played:
    """Return what becomes of a run that asks at every choice."""
    directed = DirectedRun(directions)
    simulation = run(directed)
    directed.close()
    return Played(simulation, tuple(directed.steps))


def _nothing() -> None:
    """Do what a step does that was run already."""


def _counts(key: ObjectKey) -> bool:
    return key.kind not in FOLLOWING


def _written(change: Change) -> ObjectKey:
    key = change.key
    return key._replace(api_version=split_api_version(key.api_version)[0])


# Which steps of a run led to which: what could have come in another order, and what could not.


class Race(NamedTuple):
    """Two steps that touch the same things, the later of which nobody had to wait for."""

    earlier: int
    later: int


class Causality:
    """What follows from what in one run.

    A step follows from the one that wanted it, from the one of its actor before it, and from all
    before it that touch the same things. Timers wait for everything that is due before them, and
    nothing that is due later comes before them.
    """

    def __init__(self, steps: Sequence[Choice]) -> None:
        self._steps = steps
        self.pasts: list[int] = []
        """For each step the steps that it follows from, as bits."""
        self._wanted_by: list[int] = []
        self._needs: list[int] = []
        """For each step those without which nobody would run it, as bits."""
        self.races: list[Race] = []
        self.names: list[int] = []
        """Of each step what it is in every run that it is part of: whose, and wanted by which."""
        self._groups = list(range(len(steps)))
        self._follow()
        self.races = list(dict.fromkeys((*self.races, *self._queued())))
        self._name()

    def _follow(self) -> None:
        last: dict[str, int] = {}
        numbers: dict[int, int] = {}
        barrier = -1
        for index, step in enumerate(self._steps):
            wanted_by = numbers.get(step.task.parent, -1)
            needs = past = 0
            for before in (wanted_by, last.get(step.actor, -1), barrier):
                if before >= 0:
                    needs |= self._needs[before] | 1 << before
                    past |= self._with(before)
            if step.task.timer:
                needs = past = (1 << index) - 1
                barrier = index
            if wanted_by >= 0 and not step.task.fresh:
                self._join(wanted_by, index)
            self._needs.append(needs)
            self._wanted_by.append(wanted_by)
            self.pasts.append(self._met(index, past))
            last[step.actor] = numbers[step.task.number] = index

    def _met(self, index: int, past: int) -> int:
        """Return the past of a step with what it meets, and note its races."""
        footprint, needs = self._steps[index].footprint, self._needs[index]
        for before in range(index - 1, -1, -1):
            if self._steps[before].footprint.meets(footprint):
                self._join(before, index)
                past |= self._with(before)
                if (
                    self._steps[before].actor != self._steps[index].actor
                    and not needs >> before & 1
                ):
                    self.races.append(Race(before, index))
        return past

    def _queued(self) -> Iterator[Race]:
        """Yield what to turn round so that an actor takes two steps of one story the other way.

        An actor takes its steps in the order in which they were wanted: it is those that wanted
        them that can be turned round.
        """
        for earlier, later in combinations(range(len(self._steps)), 2):
            same = self._steps[earlier].actor == self._steps[later].actor
            race = self._wanting(earlier, later) if same else None
            if race is not None and self.story(race.earlier) == self.story(race.later):
                yield race

    def _wanting(self, earlier: int, later: int) -> Race | None:
        while self._steps[earlier].actor == self._steps[later].actor:
            earlier, later = self._wanted_by[earlier], self._wanted_by[later]
            if earlier < 0 or later <= earlier:
                return None
        return None if self._needs[later] >> earlier & 1 else Race(earlier, later)

    def _with(self, index: int) -> int:
        return self.pasts[index] | 1 << index if index >= 0 else 0

    def _name(self) -> None:
        known: dict[int, int] = {}
        counts: dict[tuple[int, str], int] = {}
        for step in self._steps:
            kind = (known.get(step.task.parent, 0), step.actor)
            counts[kind] = counts.get(kind, 0) + 1
            known[step.task.number] = hash((*kind, counts[kind]))
            self.names.append(known[step.task.number])

    def _find(self, index: int) -> int:
        while self._groups[index] != index:
            self._groups[index] = self._groups[self._groups[index]]
            index = self._groups[index]
        return index

    def _join(self, one: int, other: int) -> None:
        self._groups[self._find(other)] = self._find(one)

    def story(self, index: int) -> int:
        """Return to which story a step belongs: stories share nothing, and hand nothing on."""
        return self._find(index)

    def turned(self, race: Race) -> list[list[int]]:
        """Return the steps to take before the earlier one so that the later one precedes it.

        That is all that the later one needs, or also what it has seen that does not follow from
        the earlier one.
        """
        first = 1 << race.earlier
        between = range(race.earlier + 1, race.later)
        needs, past = self._needs[race.later], self.pasts[race.later]
        short = [one for one in between if needs >> one & 1]
        whole = [one for one in between if past >> one & 1 and not self.pasts[one] & first]
        found = [[*some, race.later] for some in (short, whole)]
        return found if short != whole else found[:1]

    def key(self, race: Race, turned: Sequence[int]) -> int:
        """Return what an order has in common with all that only differ where nobody could tell.

        It is that of the steps of the race's story up to the turn, and of what each follows from.
        """
        story = self.story(race.earlier)
        told, before = [], 0
        for one in (*range(race.earlier), *turned):
            if self.story(one) == story:
                past = self.pasts[one] & before
                names = (self.names[index] for index in range(one) if past >> index & 1)
                told.append((self.names[one], frozenset(names)))
                before |= 1 << one
        return hash(frozenset(told))

    def stories(self, names: frozenset[int]) -> Iterator[int]:
        """Yield the stories that steps of some names belong to."""
        for index, name in enumerate(self.names):
            if name in names:
                yield self.story(index)
