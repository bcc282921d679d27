"""What reports of chainsaw tests share: counts, and which tests they show."""

from collections.abc import Iterator
from typing import NamedTuple

from kyvsim.model.chainsaw import ChainsawOutcome, ChainsawReport
from kyvsim.model.result import Ending, Fact, Verdict
from kyvsim.report.ending import error_fact, informing, left_out_fact, warning_fact, weighing
from kyvsim.report.style import counted
from kyvsim.report.suite_rows import Sight


class ChainsawTally(NamedTuple):
    """Counts over all tests."""

    total: int
    passed: int
    failed: int
    unsupported: int


def chainsaw_tally(report: ChainsawReport) -> ChainsawTally:
    """Return the counts of a report."""
    results = [one.result for one in report.outcomes]
    counts = (results.count(one) for one in ("pass", "fail", "unsupported"))
    return ChainsawTally(len(results), *counts)


def chainsaw_ending(report: ChainsawReport) -> Ending:
    """Return how a run of tests ended."""
    return Ending(
        (
            error_fact(report.diagnostics),
            *_facts(report),
            left_out_fact(len(set(report.left_out))),
            warning_fact(report.diagnostics),
        )
    )


def _facts(report: ChainsawReport) -> Iterator[Fact]:
    tally = chainsaw_tally(report)
    tests = counted(tally.total, "test")
    skipped = sum(one.skipped for one in report.outcomes)
    unknown = tally.unsupported - skipped
    yield weighing("failed", tally.failed, f"{tally.failed} of {tests} failed")
    if tally.passed or tally.failed:
        text = "" if tally.failed else f"{tally.passed} of {tests} passed"
        yield Fact("passed", tally.passed, text)
    elif skipped and not unknown:
        yield Fact("nothingChecked", 1, f"{skipped} of {tests} skipped", Verdict.NOTHING)
    else:
        # A test that could not be simulated may have failed: nothing green comes of such a run.
        yield Fact("nothingChecked", 1, "no test was decided", Verdict.INCOMPLETE)
    unsupported = f"{counted(unknown, 'test')} could not be simulated"
    yield informing("unsupported", unknown, unsupported)
    yield informing("skipped", skipped, f"{skipped} skipped" if tally.total > skipped else "")


def shown(report: ChainsawReport, sight: Sight) -> Iterator[ChainsawOutcome]:
    """Yield the tests that are to be shown, in order."""
    for one in report.outcomes:
        if one.result == "fail" or not sight.fail_only:
            yield one


def summary_line(report: ChainsawReport) -> str:
    """Return the counts as one line."""
    tally = chainsaw_tally(report)
    tests = counted(tally.total, "test")
    unsupported = f", {tally.unsupported} unsupported" if tally.unsupported else ""
    return f"{tests}: {tally.passed} passed, {tally.failed} failed{unsupported}"
