"""Runs that are judged by a baseline, or become one."""

from collections.abc import Mapping

from kyvsim.api.inputs import ApplyInputs, ReadInputs
from kyvsim.model.baseline import KnownFailure
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.report.baseline import BaselineMatches, FailureMarker, stale_remarks
from kyvsim.report.run import ResultCounts, Run


def failure_marker(
    inputs: ApplyInputs, read: ReadInputs, counts: ResultCounts
) -> FailureMarker | None:
    """Return what marks failures as known or new and notes them in the counts, if a run has it."""
    if not inputs.has_baseline:
        return None
    counts.met = BaselineMatches()
    return FailureMarker(read.baseline, counts.met, audit_warn=inputs.audit_warn)


def with_baseline(run: Run, inputs: ApplyInputs, read: ReadInputs) -> Run:
    """Return a run that has its course with what is said of its baseline when all is read."""
    baseline = read.baseline
    if baseline is None:
        return run
    run = run._replace(baseline=baseline)
    earlier = run.final_checks

    def final_checks(matched: int) -> tuple[Diagnostic, ...]:
        rest = run.rest()
        if rest is None or inputs.records_failures:
            return earlier(matched)
        return (*earlier(matched), *stale_remarks(baseline, rest))

    return run._replace(final_checks=final_checks)


def known_by_now(run: Run) -> Mapping[KnownFailure, int]:
    """Return the failures that are known after a run, when all its responses are read.

    Without a baseline that is all it found. Else it is what is left of the baseline, together with
    what the run did not look at: a baseline shrinks, or is written anew without one.
    """
    if run.result_counts.met is None:
        return {}
    rest = run.rest()
    if rest is None:
        return run.result_counts.met.failures
    numbers = dict(rest.found)
    for failure, number in rest.aside.items():
        numbers[failure] = numbers.get(failure, 0) + number
    return numbers
