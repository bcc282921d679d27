"""Collects what a policy mentions, while its texts are read."""

import json
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json
from kyvsim.model.policy import About, Hole, Mention, Way

_ROOTS: Mapping[str, About] = MappingProxyType(
    {
        "object": About.OBJECT,
        "oldObject": About.OLD_OBJECT,
        "target": About.OBJECT,
        "request": About.REQUEST,
        "namespaceObject": About.NAMESPACE,
        "world": About.WORLD,
    }
)


IMAGE_WAYS: tuple[Way, ...] = tuple(
    ("spec", name, Hole.ELEMENT, "image")
    for name in ("containers", "initContainers", "ephemeralContainers")
)
"""Where Pods name images."""


class Reading(NamedTuple):
    """What a part of an expression may come to: what stands at some ways, or one of some values.

    Ways begin with the name of a variable.
    """

    ways: tuple[Way, ...] = ()
    values: tuple[Json, ...] = ()
    spread: bool = False
    """Whether it is a list of all that stands at the ways, rather than one of them."""
    counts: bool = False
    """Whether it is how much there is of that."""

    @property
    def elements(self) -> "Reading":
        """What an element is, where this is a list."""
        return self._replace(spread=False) if self.spread else self.below(Hole.ELEMENT)

    def below(self, step: str | Hole) -> "Reading":
        """Return what stands one step further in."""
        return Reading(tuple((*way, step) for way in self.ways))


NOTHING = Reading()


def looked_up(source: str) -> Reading:
    """Return what comes from outside of a request: `source` says how it is asked for."""
    return Reading((("world", source),))


def either(readings: Iterable[Reading]) -> Reading:
    """Return what is one of several readings."""
    some = tuple(readings)
    return Reading(
        tuple(dict.fromkeys(way for one in some for way in one.ways)),
        tuple(value for one in some for value in one.values),
        counts=any(one.counts for one in some),
    )


class Notebook:
    """Keeps the ways that were read and the values that were held against them."""

    def __init__(self) -> None:
        self._values: dict[tuple[About, Way], dict[str, Json]] = {}
        self._sizes: dict[tuple[About, Way], dict[int, None]] = {}
        self._alike: list[tuple[Way, Way]] = []
        """Ways that are held against each other: what is written for one is for the other, too."""

    def note(self, about: About, way: Way, values: Iterable[Json] = ()) -> None:
        """Take a place and values for it."""
        known = self._values.setdefault((about, way), {})
        for value in values:
            known.setdefault(json.dumps(value, default=str), value)

    def read(self, reading: Reading) -> Reading:
        """Take the ways of a reading, with its own values; return it."""
        self.hold(reading, reading.values)
        return reading

    def hold(self, reading: Reading, values: Iterable[Json]) -> None:
        """Take values that are held against what a reading comes to."""
        held = tuple(values)
        for way in reading.ways:
            place = _placed(way)
            if place is None:
                continue
            self.note(*place, () if reading.counts else held)
            if reading.counts:
                self._sizes.setdefault(place, {}).update(dict.fromkeys(_whole(held)))

    def compare(self, one: Reading, other: Reading) -> None:
        """Take two readings that are held against each other."""
        self.hold(one, other.values)
        self.hold(other, one.values)
        if one.counts or other.counts:
            return
        self._alike += ((first, second) for first in one.ways for second in other.ways)

    def mentions(self) -> Iterator[Mention]:
        """Yield what was taken, in that order; ways that only lead on to others need no mention."""
        for one, other in self._alike:
            self._share(one, other)
        inner = {(about, way[:end]) for about, way in self._values for end in range(len(way))}
        for (about, way), values in self._values.items():
            sizes = tuple(self._sizes.get((about, way), ()))
            if values or sizes or (about, way) not in inner:
                yield Mention(about, way, tuple(values.values()), sizes)

    def _share(self, one: Way, other: Way) -> None:
        places = [place for place in map(_placed, (one, other)) if place in self._values]
        if len(places) == 2:
            whole = {**self._values[places[0]], **self._values[places[1]]}
            self._values.update(dict.fromkeys(places, whole))


def endings(reading: Reading) -> Reading:
    """Return a reading with patterns of texts that end so in place of its texts."""
    return reading._replace(
        values=tuple(f"*{one}" if isinstance(one, str) else one for one in reading.values)
    )


def _whole(values: Iterable[Json]) -> Iterator[int]:
    """Yield the whole numbers among values."""
    return (int(one) for one in values if one.__class__ in {int, float} and one == int(one))


def _placed(way: Way) -> tuple[About, Way] | None:
    """Return what a way is about; None for one that starts at no part of a request."""
    if not way:
        return None
    root, *rest = way
    if root == "request" and rest[:1] in (["object"], ["oldObject"]):
        root, *rest = rest
    about = _ROOTS.get(root) if isinstance(root, str) else None
    return None if about is None else (about, tuple(rest))
