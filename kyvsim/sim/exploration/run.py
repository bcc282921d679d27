"""One run in a chosen order, and what it shows about other orders."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import ObjectKey
from kyvsim.model.simulation import Simulation
from kyvsim.sim.exploration.footprint import NOTHING, Footprint
from kyvsim.sim.server import Change, Store
from kyvsim.sim.time import Task

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
