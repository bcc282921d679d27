"""Results of `chainsaw` as text, JSON and JUnit XML."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kyvsim.model.chainsaw import ChainsawOutcome, ChainsawReport
from kyvsim.model.diagnostic import Severity
from kyvsim.model.result import Fact, RunEnding, RunVerdict
from kyvsim.report.diagnostics import diagnostic_json, place_json
from kyvsim.report.finding_formats import (
    attributes,
    case_element,
    document_head,
    error_case,
    escaped,
    suite_element,
)
from kyvsim.report.object_text import json_document
from kyvsim.report.run import (
    ending_json,
    ending_line,
    error_fact,
    info_fact,
    left_out_fact,
    verdict_fact,
    warning_fact,
)
from kyvsim.report.style import counted, indented, painter, safe_line
from kyvsim.report.suite_text import SuiteOptions


class ChainsawTally(NamedTuple):
    """Counts over all tests."""

    total: int
    passed: int
    failed: int
    unsupported: int


def chainsaw_tally(report: ChainsawReport) -> ChainsawTally:
    """Return the counts of a report."""
    results = [outcome.result for outcome in report.outcomes]
    counts = (results.count(result) for result in ("pass", "fail", "unsupported"))
    return ChainsawTally(len(results), *counts)


def chainsaw_ending(report: ChainsawReport) -> RunEnding:
    """Return the result of a test run."""
    tally = chainsaw_tally(report)
    tests = counted(tally.total, "test")
    skipped = sum(outcome.skipped for outcome in report.outcomes)
    unknown = tally.unsupported - skipped
    if tally.passed or tally.failed:
        text = "" if tally.failed else f"{tally.passed} of {tests} passed"
        checked = Fact("passed", tally.passed, text)
    elif skipped and not unknown:
        text = f"{skipped} of {tests} skipped"
        checked = Fact("nothingChecked", 1, text, RunVerdict.NOTHING)
    else:
        # Tests that could not be simulated may have failed, so the run must not be successful.
        text = "no test passed or failed"
        checked = Fact("nothingChecked", 1, text, RunVerdict.INCOMPLETE)
    return RunEnding(
        (
            error_fact(report.diagnostics),
            verdict_fact("failed", tally.failed, f"{tally.failed} of {tests} failed"),
            checked,
            info_fact("unsupported", unknown, f"{counted(unknown, 'test')} could not be simulated"),
            info_fact("skipped", skipped, f"{skipped} skipped" if tally.total > skipped else ""),
            left_out_fact(len(set(report.left_out))),
            warning_fact(report.diagnostics),
        ),
        release=report.release,
    )


def shown(report: ChainsawReport, options: SuiteOptions) -> Iterator[ChainsawOutcome]:
    """Yield the tests to show, in order."""
    for outcome in report.outcomes:
        if outcome.result == "fail" or not options.fail_only:
            yield outcome


def summary_line(report: ChainsawReport) -> str:
    """Return the counts as one line."""
    tally = chainsaw_tally(report)
    tests = counted(tally.total, "test")
    unsupported = f", {tally.unsupported} unsupported" if tally.unsupported else ""
    return f"{tests}: {tally.passed} passed, {tally.failed} failed{unsupported}"


_INDENT = " " * 6
_STYLES: Mapping[str, tuple[str, str]] = {
    "pass": ("pass", "pass"),
    "fail": ("FAIL", "fail"),
    "unsupported": ("n/a ", "skip"),
}


def render_text(report: ChainsawReport, options: SuiteOptions) -> Iterator[str]:
    """Yield the view, one test at a time; the last line shows the counts."""
    paint = painter(colours=options.colours)
    between = ""
    for outcome in shown(report, options):
        word, style = _STYLES[outcome.result]
        spent = paint("dim", f"({outcome.seconds:.1f} s of virtual time)")
        yield f"{paint(style, word)}  {safe_line(outcome.test)}  {spent}\n"
        if outcome.reason:
            yield f"{_INDENT}{indented(outcome.reason, _INDENT)}\n"
        if outcome.location:
            yield f"{_INDENT}{paint('dim', safe_line(str(outcome.location)))}\n"
        for note in outcome.notes:
            yield f"{_INDENT}{safe_line(note)}\n"
        for event in outcome.events:
            key = event.object
            name = "/".join(filter(None, (key.namespace, key.name)))
            message = f": {event.full_message}" if event.full_message else ""
            rendered = f"{event.actor} {event.action} {key.kind} {name} {event.outcome}{message}"
            yield f"{_INDENT}{safe_line(f'{event.time:8.3f}  {rendered}')}\n"
        between = "\n"
    yield f"{between}{summary_line(report)}\n"


def render_json(report: ChainsawReport, options: SuiteOptions) -> Iterator[str]:
    """Yield the document, with one test on each line."""
    results = []
    for outcome in shown(report, options):
        entry: dict[str, object] = {
            "test": outcome.test,
            "file": outcome.file,
            "result": outcome.result,
            "reason": outcome.reason,
            "duration_ms": outcome.duration_ms,
            "virtual_seconds": round(outcome.seconds, 3),
        }
        if outcome.location:
            entry["location"] = place_json(outcome.location)
        if outcome.notes:
            entry["notes"] = list(outcome.notes)
        results.append(entry)
    yield from json_document(
        "chainsaw",
        {
            "results": results,
            "diagnostics": map(diagnostic_json, report.diagnostics),
            "summary": chainsaw_tally(report)._asdict(),
            "ending": ending_json(chainsaw_ending(report)),
        },
    )


def render_junit(report: ChainsawReport, _: SuiteOptions) -> Iterator[str]:
    """Yield the document, one test at a time; unsupported tests are skipped cases."""
    errors = [str(entry) for entry in report.diagnostics if entry.severity is Severity.ERROR]
    ending = chainsaw_ending(report)
    if not errors and ending.verdict is RunVerdict.INCOMPLETE:
        # Programs consider a document with only skipped cases successful.
        errors = [ending_line(ending)]
    cases = [error_case("chainsaw", text) for text in errors]
    for outcome in report.outcomes:
        seconds = f"{outcome.duration_ms / 1000:.3f}"
        names = {"classname": outcome.file, "name": outcome.test, "time": seconds}
        reason = attributes({"message": outcome.reason})
        place = escaped(str(outcome.location or ""))
        if outcome.result == "pass":
            cases.append(("pass", case_element(names)))
        elif outcome.result == "unsupported":
            cases.append(("skip", case_element(names, f"<skipped{reason}/>")))
        else:
            failure = f"<failure{reason}>{place}</failure>"
            cases.append(("fail", case_element(names, failure)))
    yield document_head(f"kyvsim chainsaw (Kyverno {report.release})", cases)
    yield from suite_element("chainsaw", cases)
    yield "</testsuites>\n"
