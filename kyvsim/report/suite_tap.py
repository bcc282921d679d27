"""The outcome of tests in the Test Anything Protocol: a test point for each row.

Version 13, which every reader of the protocol knows; details stand below a point as YAML. Mutants
that no test notices are points to do: these fail no run.
"""

import json
from collections.abc import Iterable, Iterator

from kyvsim.model.diagnostic import Severity
from kyvsim.model.source import Location
from kyvsim.model.suite import RowOutcome, SuiteOutcome
from kyvsim.report.hole_cases import hole_cases, score_of
from kyvsim.report.style import safe_line, safe_text
from kyvsim.report.suite_rows import Sight, diff_text, every_diagnostic, reason, tally_of

_IN_DESCRIPTION = str.maketrans({"\\": "\\\\", "#": "\\#"})


def render(outcome: SuiteOutcome, sight: Sight) -> Iterator[str]:
    """Yield the plan and then a point at a time; input that could not be used is a failed point."""
    del sight  # every format for programs holds all rows
    wrong = [one for one in every_diagnostic(outcome) if one.severity is Severity.ERROR]
    holes = hole_cases(outcome.mutants)
    rows_end = len(wrong) + tally_of(outcome).total
    count = rows_end + len(holes)
    yield "TAP version 13\n"
    yield f"1..{count}\n" if count else "1..0 # SKIP there are no rows\n"
    for number, one in enumerate(wrong, 1):
        details = _details(f"{one.code}: {one.message}", one.location)
        yield _point(number, "inputs", passed=False) + details
    rows = ((one.file, row) for one in outcome.manifests for row in one.rows)
    for number, (file, row) in enumerate(rows, len(wrong) + 1):
        yield _row(number, file, row)
    for number, hole in enumerate(holes, rows_end + 1):
        point = _point(number, f"mutant of {hole.policy}: {hole.title}", passed=False).rstrip()
        yield f"{point} # TODO no test notices\n" + _details(hole.advice, hole.place)
    if outcome.mutants is not None:
        yield f"# {safe_line(score_of(outcome.mutants))}\n"


def _row(number: int, file: str, row: RowOutcome) -> str:
    names = filter(None, (row.policy, row.rule, row.resource))
    point = _point(number, f"{file}: {' / '.join(names)}", passed=not row.failed)
    if row.failed:
        return point + _failure(row)
    if row.result == "Skip":
        return f"{point.rstrip()} # SKIP {safe_line(row.message)}\n"
    return point + (_details(reason(row)) if row.skip else "")


def _point(number: int, name: str, *, passed: bool) -> str:
    shown = safe_line(name).translate(_IN_DESCRIPTION)
    return f"{'ok' if passed else 'not ok'} {number} - {shown}\n"


def _failure(row: RowOutcome) -> str:
    lines = diff_text(row.difference).splitlines() if row.difference else []
    return _details(reason(row), row.location, row.message, lines)


def _details(
    message: str, place: Location | None = None, text: str = "", lines: Iterable[str] = ()
) -> str:
    """Return a block of the small YAML that readers of the protocol know: all texts are quoted."""
    block = ["---", f"message: {_quoted(message)}"]
    block += [f"file: {_quoted(place.file)}"] if place else []
    block += [f"line: {place.line}", f"column: {place.column}"] if place and place.line else []
    block += [f"details: {_quoted(text)}"] if text else []
    listed = [f"  - {_quoted(line)}" for line in lines]
    block += ["difference:", *listed] if listed else []
    return "".join(f"  {line}\n" for line in [*block, "..."])


def _quoted(text: str) -> str:
    return json.dumps(safe_text(text), ensure_ascii=False)
