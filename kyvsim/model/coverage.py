"""Coverage of policies by tests, as points with counts."""

from typing import NamedTuple

from kyvsim.kubernetes.objects import Path
from kyvsim.model.source import Location
from kyvsim.model.tracing import PointKind


class PointOutcome(NamedTuple):
    """One possible outcome of a point, with its count."""

    name: str
    times: int


class Point(NamedTuple):
    """A point and its outcomes; plain data that can be sent to other processes."""

    kind: PointKind
    policy: str
    """The policy's key: `namespace/name` for a namespaced policy."""
    rule: str
    """The rule as written; for an exception, the patterns for rule names."""
    document: int
    path: Path
    inside: Path
    """The path relative to the rule."""
    location: Location
    outcomes: tuple[PointOutcome, ...]

    @property
    def hits(self) -> int:
        """The sum of all counts."""
        return sum(one.times for one in self.outcomes)


class Ratio(NamedTuple):
    """Number of reached outcomes, and of all outcomes."""

    reached: int
    total: int

    @property
    def tenths(self) -> int:
        """Tenths of a percent, rounded down, so that 1000 means all; 0 if there are no outcomes."""
        return 1000 * self.reached // self.total if self.total else 0

    @property
    def percent(self) -> float:
        """The percentage with one decimal."""
        return self.tenths / 10


class FileCoverage(NamedTuple):
    """The points of one file, in the order of their positions."""

    file: str
    points: tuple[Point, ...]

    @property
    def ratio(self) -> Ratio:
        """The ratio of reached outcomes in the file."""
        times = [outcome.times for point in self.points for outcome in point.outcomes]
        return Ratio(sum(map(bool, times)), len(times))


class Coverage(NamedTuple):
    """The coverage of all tests."""

    files: tuple[FileCoverage, ...]

    @property
    def ratio(self) -> Ratio:
        """The ratio of reached outcomes in all files."""
        ratios = [one.ratio for one in self.files]
        return Ratio(sum(one.reached for one in ratios), sum(one.total for one in ratios))
