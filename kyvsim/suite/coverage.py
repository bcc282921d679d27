"""Coverage of policies by one or several manifests."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeAlias

from kyvsim.kubernetes.objects import ObjectKey, Path, object_key
from kyvsim.model.coverage import Coverage, FileCoverage, Point, PointOutcome
from kyvsim.model.suite import ExpectedRow
from kyvsim.model.tracing import Count, PointKind, PolicyPlace, Tracer
from kyvsim.suite.check import candidates
from kyvsim.suite.compare import names_rule
from kyvsim.suite.row_targets import row_index, target_resources
from kyvsim.suite.run import OnRun, SuiteInputs

_Key: TypeAlias = tuple[str, int, Path, PointKind]
_RuleName: TypeAlias = tuple[str, str]
"""The key of a policy and the name of a rule, as written or as derived."""


class PointCounter:
    """Counts the outcomes of points."""

    def __init__(self) -> None:
        self._records: dict[_Key, tuple[PolicyPlace, tuple[str, ...], list[int]]] = {}
        """The places of points, their outcomes, and the number of each."""

    def times(self, place: PolicyPlace, kind: PointKind, outcomes: tuple[str, ...]) -> list[int]:
        """Register a point; return the list with the number of each outcome, for counting."""
        document = place.document
        key = (document.file, document.number, (*place.root, *place.inside), kind)
        fresh = (place, outcomes, [0] * len(outcomes))
        return self._records.setdefault(key, fresh)[2]

    def declare(self, place: PolicyPlace, kind: PointKind, outcomes: tuple[str, ...]) -> Count:
        """Register a point; return the function that counts its outcomes."""
        times = self.times(place, kind, outcomes)

        def count(outcome: int) -> None:
            times[outcome] += 1

        return count

    def points(self) -> tuple[Point, ...]:
        """Return the points with their current counts."""
        return tuple(_point(kind, *record) for (*_, kind), record in self._records.items())


class CoverageRecorder(Tracer):
    """A tracer that counts what the rows of one manifest cover: their rules, on their resources."""

    takes_steps = False

    def __init__(self, rows: Sequence[ExpectedRow]) -> None:
        self._rows = rows
        self._tally = PointCounter()
        self._rows_of: dict[str, list[int]] = {}
        for number, row in enumerate(rows):
            self._rows_of.setdefault(row.policy, []).append(number)
        self._has_rows: dict[_RuleName, bool] = {}
        self._rules_of: dict[int, list[_RuleName]] = {}
        """By the number of a row, its rules."""
        self._counted: set[_RuleName] = set()

    def declare(
        self, place: PolicyPlace, kind: PointKind, outcomes: tuple[str, ...]
    ) -> Count | None:
        """Register a point; return the function that counts its outcomes, None if it has no row."""
        times = self._tally.times(place, kind, outcomes)
        rule = (place.policy, place.rule)
        if rule not in self._has_rows:
            # An empty rule name means the whole policy.
            about = [
                number
                for name in {place.policy, place.policy.rpartition("/")[2]}
                for number in self._rows_of.get(name, ())
                if not place.rule or names_rule(self._rows[number], place.rule)
            ]
            for number in about:
                self._rules_of.setdefault(number, []).append(rule)
            self._has_rows[rule] = bool(about)
        return partial(self._count, rule, times) if self._has_rows[rule] else None

    def _count(self, rule: _RuleName, times: list[int], outcome: int) -> None:
        if rule in self._counted:
            times[outcome] += 1

    def runs_of(self, inputs: SuiteInputs, *, lenient: bool) -> OnRun:
        """Return a function to call before each run, which selects the rules to count."""
        known = row_index(inputs)
        targets = frozenset(map(object_key, inputs.targets))
        rows_of_resource: dict[tuple[ObjectKey, str], list[int]] = {}
        for number, row in enumerate(self._rows):
            keys = candidates(row, known.resources) if lenient else target_resources(row, known)[0]
            resources_of = frozenset(keys if targets.isdisjoint(keys) else known.resources)
            for resource in resources_of:
                rows_of_resource.setdefault((resource, row.operation), []).append(number)

        def begin(resource: ObjectKey, operation: str) -> None:
            numbers = rows_of_resource.get((resource, operation), ())
            self._counted = {rule for number in numbers for rule in self._rules_of.get(number, ())}

        return begin

    def points(self) -> tuple[Point, ...]:
        """Return the points with their current counts."""
        return self._tally.points()


def _point(
    kind: PointKind, place: PolicyPlace, outcomes: tuple[str, ...], times: list[int]
) -> Point:
    path = (*place.root, *place.inside)
    return Point(
        kind=kind,
        policy=place.policy,
        rule=place.rule,
        document=place.document.number,
        path=path,
        inside=place.inside,
        location=place.document.locate(path),
        outcomes=tuple(map(PointOutcome, outcomes, times)),
    )


def merged_coverage(points: Iterable[Point], identity: Callable[[str], str]) -> Coverage:
    """Return the points of all manifests by file; names with the same `identity` are merged."""
    names: dict[str, str] = {}
    merged: dict[_Key, Point] = {}
    for point in points:
        file = identity(point.location.file)
        names.setdefault(file, point.location.file)
        key = (file, point.document, point.path, point.kind)
        known = merged.get(key)
        if known is None:
            merged[key] = point
            continue
        pairs = zip(known.outcomes, point.outcomes, strict=True)
        added = tuple(PointOutcome(name, times + more) for (name, times), (_, more) in pairs)
        merged[key] = known._replace(outcomes=added)
    files: dict[str, list[Point]] = {}
    for (file, *_), point in merged.items():
        files.setdefault(file, []).append(point)
    ordered = sorted(files.items(), key=lambda item: names[item[0]])
    return Coverage(tuple(_file(names[file], points_of_file) for file, points_of_file in ordered))


def _file(name: str, points: Iterable[Point]) -> FileCoverage:
    """Return the points of a file, ordered by location."""
    renamed = (point._replace(location=point.location._replace(file=name)) for point in points)
    kinds = tuple(PointKind)

    def place(point: Point) -> tuple[int, int, int, str]:
        line, column = point.location[1:]
        return line, column, kinds.index(point.kind), str(point.path)

    return FileCoverage(name, tuple(sorted(renamed, key=place)))
