"""What tests reached in policies as one JSON document, for programs."""

from collections.abc import Iterator

from kyvsim.kubernetes.objects import Json
from kyvsim.model.tracing import Coverage, FileCoverage, Point, Ratio
from kyvsim.report.coverage_text import path_text
from kyvsim.report.object_text import to_json


def render(coverage: Coverage) -> Iterator[str]:
    """Yield the document a file at a time."""
    yield '{"files": ['
    between = "\n  "
    for file in coverage.files:
        yield f"{between}{to_json(_file_json(file))}"
        between = ",\n  "
    yield f'],\n"summary": {to_json(ratio_json(coverage.ratio))}}}\n'


def _file_json(file: FileCoverage) -> Json:
    points = [point_json(point) for point in file.points]
    return {"file": file.file, **ratio_json(file.ratio), "points": points}


def ratio_json(ratio: Ratio) -> dict[str, Json]:
    """Return how much was reached."""
    return {"reached": ratio.reached, "total": ratio.total, "percent": ratio.percent}


def point_json(point: Point) -> Json:
    """Return a point with how often each outcome came up."""
    return {
        "kind": point.kind.value,
        "policy": point.policy,
        "rule": point.rule,
        "path": path_text(point.path),
        "line": point.location.line,
        "column": point.location.column,
        "outcomes": {outcome.name: outcome.times for outcome in point.outcomes},
    }
