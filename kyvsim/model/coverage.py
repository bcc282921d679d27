"""Coverage: what tests reached in policies, as points with counts."""

from typing import NamedTuple

from kyvsim.kubernetes.objects import Path
from kyvsim.model.source import Location
from kyvsim.model.tracing import PointKind


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
    path: Path
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
