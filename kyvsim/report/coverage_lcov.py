"""What tests reached in policies as an lcov tracefile, for viewers of coverage.

Rules are its functions, points its branches, and their lines its lines.
Source of the form: geninfo(1), "FILES".
"""

from collections.abc import Iterator, Sequence

from kyvsim.model.tracing import Coverage, FileCoverage, Point, PointKind
from kyvsim.report.style import safe_line


def render(coverage: Coverage) -> Iterator[str]:
    """Yield the records of each file."""
    for file in coverage.files:
        for line in _records(file):
            yield f"{line}\n"


def _records(file: FileCoverage) -> Iterator[str]:
    yield "TN:"
    yield f"SF:{file.file}"
    yield from _functions([one for one in file.points if one.kind is PointKind.RULE])
    yield from _branches(file)
    yield from _lines(file)
    yield "end_of_record"


def _functions(rules: Sequence[Point]) -> Iterator[str]:
    named: dict[str, Point] = {}
    for rule in rules:
        name = safe_line(f"{rule.policy}/{rule.rule}" if rule.rule else rule.policy)
        # Readers of the format know a function by its name alone.
        named[f"{name}:{rule.location.line}" if name in named else name] = rule
    for name, rule in named.items():
        yield f"FN:{rule.location.line},{name}"
    for name, rule in named.items():
        yield f"FNDA:{rule.hits},{name}"
    yield f"FNF:{len(named)}"
    yield f"FNH:{sum(bool(rule.hits) for rule in rules)}"


def _branches(file: FileCoverage) -> Iterator[str]:
    for block, point in enumerate(file.points):
        for number, outcome in enumerate(point.outcomes):
            # A dash says that the block was never run at all.
            taken = str(outcome.times) if point.hits else "-"
            yield f"BRDA:{point.location.line},{block},{number},{taken}"
    yield f"BRF:{file.ratio.total}"
    yield f"BRH:{file.ratio.reached}"


def _lines(file: FileCoverage) -> Iterator[str]:
    hits: dict[int, int] = {}
    for point in file.points:
        hits[point.location.line] = hits.get(point.location.line, 0) + point.hits
    for line, times in sorted(hits.items()):
        yield f"DA:{line},{times}"
    yield f"LF:{len(hits)}"
    yield f"LH:{sum(map(bool, hits.values()))}"
