"""The outcome of chainsaw tests as one JSON document, for programs."""

from collections.abc import Iterator

from kyvsim.kubernetes.objects import Json
from kyvsim.model.chainsaw import ChainsawOutcome, ChainsawReport
from kyvsim.report.chainsaw_run import chainsaw_ending, chainsaw_tally, shown
from kyvsim.report.diagnostics import diagnostic_json
from kyvsim.report.ending import ending_json
from kyvsim.report.object_text import to_json
from kyvsim.report.suite_rows import Sight


def render(report: ChainsawReport, sight: Sight) -> Iterator[str]:
    """Yield the document a test at a time."""
    yield '{"results": ['
    between = "\n  "
    for outcome in shown(report, sight):
        yield f"{between}{to_json(outcome_json(outcome))}"
        between = ",\n  "
    remarks = [to_json(diagnostic_json(one)) for one in report.diagnostics]
    listed = "\n  " + ",\n  ".join(remarks) if remarks else ""
    summary = to_json(chainsaw_tally(report)._asdict())
    ending = to_json(ending_json(chainsaw_ending(report)))
    yield f'],\n"diagnostics": [{listed}],\n"summary": {summary},\n"ending": {ending}}}\n'


def outcome_json(outcome: ChainsawOutcome) -> Json:
    """Return what came of a test as plain data."""
    found: dict[str, Json] = {
        "test": outcome.test,
        "file": outcome.file,
        "result": outcome.result,
        "reason": outcome.reason,
        "duration_ms": outcome.duration_ms,
        "virtual_seconds": round(outcome.seconds, 3),
    }
    if outcome.location:
        place = outcome.location
        found["location"] = {"file": place.file, "line": place.line, "column": place.column}
    if outcome.notes:
        found["notes"] = list(outcome.notes)
    return found
