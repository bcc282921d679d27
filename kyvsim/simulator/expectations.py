"""What a scenario expects of objects, looked at after every write."""

from collections.abc import Iterable
from typing import NamedTuple

from kyvsim.kubernetes.discovery import split_api_version
from kyvsim.kubernetes.objects import Json, ObjectKey, metadata, object_key, text_field
from kyvsim.kubernetes.quantities import SECOND, format_duration
from kyvsim.kubernetes.wildcard import matches
from kyvsim.model.simulation import OF_REQUESTS, Demand, Expectation, Expected
from kyvsim.model.source import Location
from kyvsim.simulator.api_server import StoreChange
from kyvsim.simulator.context import SimulationContext

# Whether an object is as a scenario wants it.
#
# A mapping fits one that has its fields, a list one with an item for each of its items, text the
# same text or one that its wildcards match; null matches a missing field.

_NUMBERS = frozenset({int, float})
_LONGEST = 60


class FieldMismatch(NamedTuple):
    """Where an object is not as wanted, and how."""

    path: str
    reason: str
    depth: int
    """How many fields were as wanted before."""

    def __str__(self) -> str:
        return f"`{self.path}` {self.reason}"


def first_mismatch(wanted: Json, found: Json) -> FieldMismatch | None:
    """Return the first place at which an object does not fit, or None where it fits."""
    fitting = [0]
    return _compare(wanted, found, "", fitting)


def closest_mismatch(wanted: Json, objects: Iterable[Json]) -> tuple[Json, FieldMismatch] | None:
    """Return the object that fits best and why it does not; None where there is none at all.

    One of the wanted name is closer than any other.
    """
    name = metadata(wanted).get("name")
    best: tuple[tuple[bool, int], Json, FieldMismatch] | None = None
    for obj in objects:
        failed = first_mismatch(wanted, obj)
        if failed is None:
            continue
        named = name is None or matches(str(name), text_field(metadata(obj), "name"))
        rank = (named, failed.depth)
        if best is None or rank > best[0]:
            best = (rank, obj, failed)
    return (best[1], best[2]) if best and best[0][0] else None


def pattern_key(wanted: Json) -> ObjectKey:
    """Return what a pattern names, its wildcards included."""
    meta = metadata(wanted)
    return ObjectKey(
        text_field(wanted, "apiVersion"),
        text_field(wanted, "kind"),
        text_field(meta, "namespace"),
        text_field(meta, "name"),
    )


def _compare(wanted: Json, found: Json, path: str, fitting: list[int]) -> FieldMismatch | None:
    if wanted is None:
        return None if found is None else _wrong(path, f"is {_shown(found)}", fitting)
    if found is None:
        return _wrong(path, "is not there", fitting)
    if wanted.__class__ is dict:
        if found.__class__ is not dict:
            return _wrong(path, f"is {_shown(found)}, no mapping", fitting)
        for name, value in wanted.items():
            failed = _compare(value, found.get(name), f"{path}.{name}".lstrip("."), fitting)
            if failed is not None:
                return failed
        return None
    if wanted.__class__ is list:
        return _compare_lists(wanted, found, path, fitting)
    if not _same(wanted, found):
        return _wrong(path, f"is {_shown(found)}, not {_shown(wanted)}", fitting)
    fitting[0] += 1
    return None


def _compare_lists(
    wanted: list[Json], found: Json, path: str, fitting: list[int]
) -> FieldMismatch | None:
    if found.__class__ is not list:
        return _wrong(path, f"is {_shown(found)}, no list", fitting)
    if not wanted and found:
        return _wrong(path, "is not empty", fitting)
    for index, value in enumerate(wanted):
        if any(first_mismatch(value, one) is None for one in found):
            fitting[0] += 1
            continue
        place = f"{path}[{index}]"
        if len(found) == 1:
            return _compare(value, found[0], place, fitting)
        return _wrong(place, f"is met by none of {len(found)} items", fitting)
    return None


def _same(wanted: Json, found: Json) -> bool:
    if wanted.__class__ is str:
        return found.__class__ is str and matches(wanted, found)
    both = {wanted.__class__, found.__class__}
    return (len(both) == 1 or both <= _NUMBERS) and bool(wanted == found)


def _wrong(path: str, reason: str, fitting: list[int]) -> FieldMismatch:
    return FieldMismatch(path or "the object", reason, fitting[0])


def _shown(value: Json) -> str:
    if value.__class__ is dict or value.__class__ is list:
        return "a mapping" if value.__class__ is dict else "a list"
    if value.__class__ is bool:
        return "true" if value else "false"
    text = " ".join(str(value).split())
    return f"`{text if len(text) <= _LONGEST else text[: _LONGEST - 1] + '…'}`"


class ExpectationResult(NamedTuple):
    """How an expectation came out."""

    met: bool
    time: float
    reason: str = ""


class Expectations:
    """The expectations of one run: opened as steps come, closed at its end."""

    def __init__(self, sim: SimulationContext) -> None:
        self._sim = sim
        self._every: list[_Watched | Expectation] = []
        self._open: list[_Watched] = []
        """Those that nothing has settled yet."""
        sim.store.watch(self._observe)

    def open(self, entries: Iterable[Expected]) -> None:
        """Watch for what is expected of objects from now on."""
        for entry in entries:
            watched = _Watched(entry, self._sim)
            self._every.append(watched)
            self._open.append(watched)
            watched.check_stored()

    def answer(self, text: str, location: Location, settled: ExpectationResult) -> None:
        """Note an expectation that was settled by the answer to a request."""
        self._every.append(Expectation(text, *settled, location))

    def miss(self, entries: Iterable[Expected], why: str) -> None:
        """Record that expectations could not be checked."""
        now = self._sim.clock.elapsed
        for entry in entries:
            self.answer(
                described(entry), entry.location, ExpectationResult(met=False, time=now, reason=why)
            )

    @property
    def latest(self) -> float:
        """The last moment at which one of them can still come out."""
        deadlines = [one.deadline for one in self._every if isinstance(one, _Watched)]
        return max((one for one in deadlines if one is not None), default=0.0)

    def close(self, *, cut: bool = False) -> tuple[Expectation, ...]:
        """Return how all of them came out, in the order in which they were opened.

        Where the run was cut, what only its end could tell is not met.
        """
        return tuple(
            one.close(cut=cut) if isinstance(one, _Watched) else one for one in self._every
        )

    def _observe(self, change: StoreChange) -> None:
        for one in self._open:
            one.observe(change)
        if any(one.is_settled for one in self._open):
            self._open = [one for one in self._open if not one.is_settled]


class _Watched:
    """One expectation of objects, until it is settled."""

    def __init__(self, entry: Expected, sim: SimulationContext) -> None:
        self._entry = entry
        self._sim = sim
        self._key = pattern_key(entry.wanted)
        self._settled: ExpectationResult | None = None
        self._was_there = False
        now = sim.clock.elapsed
        self.deadline = None if entry.within is None else now + entry.within

    @property
    def is_settled(self) -> bool:
        """Whether it is known how it came out, whatever happens still."""
        return self._settled is not None

    def check_stored(self) -> None:
        """Settle what the objects that are there settle, and those that are gone already."""
        self._was_there = self._entry.demand is Demand.GONE and self._has_been_there()
        for obj in self._there():
            self._see(obj)
        self._see_absence()

    def observe(self, change: StoreChange) -> None:
        """Settle what a write settles."""
        if self._settled is None and self._concerns(change.subject):
            self._see(self._as_requested(change.new) if change.new is not None else None)
            self._see_absence()

    def close(self, *, cut: bool) -> Expectation:
        """Return how it came out at the end of time, or where the run was cut."""
        now = self._sim.clock.elapsed
        settled = self._settled
        if settled is None and cut and not self._late():
            settled = ExpectationResult(
                met=False, time=now, reason="the run was stopped before its end"
            )
        return Expectation(
            described(self._entry), *settled or self._at_end(now), self._entry.location
        )

    def _see(self, obj: Json) -> None:
        """Settle what one object that fits settles."""
        if self._settled is not None or obj is None or self._late():
            return
        if first_mismatch(self._entry.wanted, obj) is not None:
            return
        now, check = self._sim.clock.elapsed, self._entry.demand
        self._was_there = True
        if check is Demand.EVENTUALLY:
            self._settled = ExpectationResult(met=True, time=now)
        elif check is Demand.NEVER:
            text = f"{_name(object_key(obj))} fits"
            self._settled = ExpectationResult(met=False, time=now, reason=text)

    def _see_absence(self) -> None:
        """Settle that what was there is gone; without a time limit only the end counts."""
        limited = self._entry.demand is Demand.GONE and self.deadline is not None
        if not limited or not self._was_there or self._settled is not None or self._late():
            return
        if not self._fitting():
            self._settled = ExpectationResult(met=True, time=self._sim.clock.elapsed)

    def _late(self) -> bool:
        return self.deadline is not None and self._sim.clock.elapsed > self.deadline

    def _at_end(self, now: float) -> ExpectationResult:
        check, end = self._entry.demand, now if self.deadline is None else self.deadline
        if check is Demand.NEVER:
            return ExpectationResult(met=True, time=end)
        fitting = self._fitting()
        if check is Demand.GONE:
            there = f"{_name(object_key(fitting[0]))} is there" if fitting else ""
            met = not fitting and self.deadline is None
            why = "it was there at that time" if self._was_there else "it was never there"
            return ExpectationResult(met, end, there or ("" if met else why))
        if check is Demand.FINALLY and fitting:
            return ExpectationResult(met=True, time=end)
        return ExpectationResult(
            met=False, time=end, reason=self._why_not(came_later=bool(fitting))
        )

    def _why_not(self, *, came_later: bool) -> str:
        if came_later:
            return "it came later"
        closest = closest_mismatch(self._entry.wanted, self._there())
        if closest is not None:
            return f"{_name(object_key(closest[0]))}: {closest[1]}"
        return f"there is no {_name(self._key)}"

    def _fitting(self) -> list[Json]:
        return [obj for obj in self._there() if first_mismatch(self._entry.wanted, obj) is None]

    def _has_been_there(self) -> bool:
        every = (change.subject for change in self._sim.store.changes)
        versions = (self._as_requested(obj) for obj in every if self._concerns(obj))
        return any(first_mismatch(self._entry.wanted, one) is None for one in versions)

    def _there(self) -> list[Json]:
        """Return the stored objects of the expected kind, in the expected version."""
        every = self._sim.store.every()
        return [self._as_requested(obj) for obj in every if self._concerns(obj)]

    def _as_requested(self, obj: Json) -> Json:
        return {**obj, "apiVersion": self._key.api_version or obj["apiVersion"]}

    def _concerns(self, obj: Json) -> bool:
        key = object_key(obj)
        group = split_api_version(self._key.api_version)[0]
        same_group = split_api_version(key.api_version)[0] == group or not self._key.api_version
        return key.kind == self._key.kind and same_group


def described(entry: Expected) -> str:
    """Return what an entry expects, in a line."""
    if entry.demand in OF_REQUESTS:
        return f"{entry.demand}: {' '.join(entry.wanted.split())}"
    limit = None if entry.within is None else format_duration(round(entry.within * SECOND))
    within = "" if limit is None else f" within {limit}"
    fields = sorted(set(entry.wanted) - {"apiVersion", "kind", "metadata"})
    meta = sorted(set(metadata(entry.wanted)) - {"name", "namespace"})
    further = ", ".join([*(f"metadata.{name}" for name in meta), *fields])
    with_ = f" with {further}" if further else ""
    return f"{entry.demand}{within}: {_name(pattern_key(entry.wanted))}{with_}"


def _name(key: ObjectKey) -> str:
    place = "/".join(filter(None, (key.namespace, key.name)))
    return f"{key.kind} {place}".strip()
