"""What tests can reach in policies: points, how often each outcome came up, and who is told.

Compiling finds the points. Nobody listens by default, and then no closure is wrapped.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple, TypeAlias, TypeVar

from kyvsim.model.source import Document, Location, Path

_Looked = TypeVar("_Looked")


class PointKind(StrEnum):
    """What stands at a point."""

    RULE = "rule"
    """A rule: passed and failed, or applied where it can't fail."""
    VARIANT = "variant"
    """The forms of a rule that autogen carries over to pod controllers: each applied."""
    MATCH = "match"
    """A filter of a match block: matched."""
    EXCLUDE = "exclude"
    """A filter of an exclude block: excluded."""
    CONDITION = "condition"
    """A precondition or deny condition: true, false."""
    ALTERNATIVE = "anyPattern"
    """A pattern of an `anyPattern`: chosen."""
    FOREACH = "foreach"
    """A loop: over no element, over one, over several."""
    EXCEPTION = "exception"
    """An entry of a policy exception: applied."""


class PointOutcome(NamedTuple):
    """One thing that can come of a point, and how often it did."""

    name: str
    times: int


class Point(NamedTuple):
    """A point and its outcomes; plain data that crosses processes."""

    kind: PointKind
    policy: str
    """The policy's key: `namespace/name` for a namespaced policy."""
    rule: str
    """The rule as written; for an exception the patterns for names of rules."""
    document: int
    """The number of its document in the file."""
    path: Path
    """Where it stands in the document."""
    inside: Path
    """The same, from the rule on."""
    location: Location
    outcomes: tuple[PointOutcome, ...]

    @property
    def hits(self) -> int:
        """How often anything came of it."""
        return sum(one.times for one in self.outcomes)


class Ratio(NamedTuple):
    """How many outcomes came up, of how many."""

    reached: int
    total: int

    @property
    def tenths(self) -> int:
        """Tenths of a percent, rounded down, so that only all of it is 1000; 0 of nothing."""
        return 1000 * self.reached // self.total if self.total else 0

    @property
    def percent(self) -> float:
        """The same in percent, with one decimal."""
        return self.tenths / 10


class FileCoverage(NamedTuple):
    """The points of one file, in the order in which they stand there."""

    file: str
    points: tuple[Point, ...]

    @property
    def ratio(self) -> Ratio:
        """How many outcomes of the file came up."""
        times = [outcome.times for point in self.points for outcome in point.outcomes]
        return Ratio(sum(map(bool, times)), len(times))


class Coverage(NamedTuple):
    """What all tests together reached."""

    files: tuple[FileCoverage, ...]

    @property
    def ratio(self) -> Ratio:
        """How many outcomes of all files came up."""
        ratios = [one.ratio for one in self.files]
        return Ratio(sum(one.reached for one in ratios), sum(one.total for one in ratios))


class Place(NamedTuple):
    """A place in a policy or an exception, and the rule that it belongs to."""

    document: Document
    policy: str
    rule: str
    root: Path
    """Where the rule stands in the document."""
    inside: Path = ()
    """The way from there."""


Seen: TypeAlias = Callable[[int], None]
"""Counts the outcome of this number once more."""

Listener: TypeAlias = Callable[[Place, PointKind, tuple[str, ...]], Seen | None]
"""Takes notice of a point and the names of its outcomes; None where they are not to be counted."""


class Watch(NamedTuple):
    """A place that is being compiled, and who is told of what happens there."""

    place: Place | None = None
    listener: Listener | None = None

    def at(self, *steps: str | int) -> "Watch":
        """Return the watch of a place further in."""
        if self.place is None:
            return self
        inside = (*self.place.inside, *steps)
        return self._replace(place=self.place._replace(inside=inside))

    def point(self, kind: PointKind, *outcomes: str) -> Seen | None:
        """Tell of a point here; return what counts its outcomes, None where nobody does."""
        if self.place is None or self.listener is None:
            return None
        return self.listener(self.place, kind, outcomes)

    def branch(
        self, kind: PointKind, outcome: str, test: Callable[[_Looked], bool]
    ) -> Callable[[_Looked], bool]:
        """Return the test as one that tells when it holds; the test itself if nobody listens."""
        seen = self.point(kind, outcome)
        if seen is None:
            return test

        def told(looked_at: _Looked) -> bool:
            holds = test(looked_at)
            if holds:
                seen(0)
            return holds

        return told


NO_WATCH = Watch()
