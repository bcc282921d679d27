"""What tests can reach in policies: points, and how often each outcome of theirs came up."""

from enum import StrEnum
from typing import NamedTuple

from kyvsim.model.source import Location, Path


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
    EXPRESSION = "expression"
    """An expression of a policy in CEL that decides nothing by itself: evaluated."""
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
