"""The outcome of tests as one JSON document, for programs."""

from collections.abc import Iterator

from kyvsim.kubernetes.objects import Json
from kyvsim.model.source import Location
from kyvsim.model.suite import RowOutcome, SuiteOutcome
from kyvsim.report.diagnostics import diagnostic_json
from kyvsim.report.ending import ending_json
from kyvsim.report.mutants_json import mutants_json
from kyvsim.report.object_text import to_json
from kyvsim.report.suite_rows import Sight, every_diagnostic, shown_rows, suite_ending, tally_of


def render(outcome: SuiteOutcome, sight: Sight) -> Iterator[str]:
    """Yield the document a row at a time."""
    yield '{"results": ['
    between = "\n  "
    for file, row in shown_rows(outcome, sight):
        yield f"{between}{to_json(row_json(file, row))}"
        between = ",\n  "
    remarks = [to_json(diagnostic_json(one)) for one in every_diagnostic(outcome)]
    listed = "\n  " + ",\n  ".join(remarks) if remarks else ""
    yield f'],\n"diagnostics": [{listed}],\n"ending": {to_json(ending_json(suite_ending(outcome)))}'
    yield f',\n"summary": {to_json(tally_of(outcome)._asdict())}'
    if outcome.mutants is not None:
        yield f',\n"mutants": {to_json(mutants_json(outcome.mutants))}'
    yield "}\n"


def row_json(file: str, row: RowOutcome) -> Json:
    """Return a row as plain data."""
    found: dict[str, Json] = {
        "manifest": file,
        "policy": row.policy,
        "rule": row.rule,
        "resource": row.resource,
        "result": row.result,
        "reason": row.reason,
        "message": row.message,
    }
    if row.skip:
        found["skip"] = row.skip
    if row.location:
        found["location"] = _location(row.location)
    if row.difference:
        found["difference"] = row.difference._asdict()
    return found


def _location(place: Location) -> Json:
    return {"file": place.file, "line": place.line, "column": place.column}
