"""The outcome of chainsaw tests as JUnit XML: one suite, a case for each test."""

from collections.abc import Iterator

from kyvsim.model.chainsaw import ChainsawOutcome, ChainsawReport
from kyvsim.model.diagnostic import Severity
from kyvsim.model.result import Verdict
from kyvsim.report.chainsaw_run import chainsaw_ending, chainsaw_tally
from kyvsim.report.ending import ending_line
from kyvsim.report.junit import attributes, escaped
from kyvsim.report.suite_rows import Sight


def render(report: ChainsawReport, sight: Sight) -> Iterator[str]:
    """Yield the document a test at a time; unsupported tests are skipped ones there."""
    del sight  # every format for programs holds all tests
    errors = [str(one) for one in report.diagnostics if one.severity is Severity.ERROR]
    tally = chainsaw_tally(report)
    ending = chainsaw_ending(report)
    if not errors and ending.verdict is Verdict.INCOMPLETE:
        # Skipped cases alone are green for those who read this.
        errors = [ending_line(ending)]
    counts = attributes(
        {
            "tests": str(tally.total + len(errors)),
            "failures": str(tally.failed),
            "errors": str(len(errors)),
            "skipped": str(tally.unsupported),
        }
    )
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f'<testsuites{counts}>\n  <testsuite name="chainsaw"{counts}>\n'
    for text in errors:
        yield '    <testcase classname="chainsaw" name="inputs">\n'
        yield f"      <error{attributes({'message': text})}/>\n    </testcase>\n"
    for outcome in report.outcomes:
        yield _case(outcome)
    yield "  </testsuite>\n</testsuites>\n"


def _case(outcome: ChainsawOutcome) -> str:
    named = {
        "classname": outcome.file,
        "name": outcome.test,
        "time": f"{outcome.duration_ms / 1000:.3f}",
    }
    head = f"    <testcase{attributes(named)}"
    if outcome.result == "pass":
        return f"{head}/>\n"
    reason = attributes({"message": outcome.reason})
    if outcome.result == "unsupported":
        return f"{head}>\n      <skipped{reason}/>\n    </testcase>\n"
    place = escaped(str(outcome.location or ""))
    return f"{head}>\n      <failure{reason}>{place}</failure>\n    </testcase>\n"
