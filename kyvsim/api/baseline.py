"""Runs that are compared with a baseline, or write one."""

from collections.abc import Mapping

from kyvsim.api.inputs import ApplyInputs, ReadInputs
from kyvsim.model.baseline import KnownFailure
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.report.run import BaselineMatches, FailureMarker, ResultCounts, Run, stale_diagnostics


def failure_marker(
    inputs: ApplyInputs, read: ReadInputs, counts: ResultCounts
) -> FailureMarker | None:
    """Return what marks failures as known or new, None for a run without a baseline."""
    if not inputs.has_baseline:
        return None
    counts.matches = BaselineMatches()
    return FailureMarker(read.baseline, counts.matches, audit_warn=inputs.audit_warn)


def with_baseline(run: Run, inputs: ApplyInputs, read: ReadInputs) -> Run:
    """Return a run whose final checks also report stale entries of its baseline."""
    baseline = read.baseline
    if baseline is None:
        return run
    run = run._replace(baseline=baseline)
    earlier = run.final_checks

    def final_checks(matched: int) -> tuple[Diagnostic, ...]:
        rest = run.rest()
        if rest is None or inputs.records_failures:
            return earlier(matched)
        return (*earlier(matched), *stale_diagnostics(baseline, rest))

    return run._replace(final_checks=final_checks)


def known_by_now(run: Run) -> Mapping[KnownFailure, int]:
    """Return the known failures after a run, when all its responses have been read.

    With a baseline: what is left of it, with the entries for files that were not evaluated.
    """
    if run.result_counts.matches is None:
        return {}
    rest = run.rest()
    if rest is None:
        return run.result_counts.matches.failures
    numbers = dict(rest.matched)
    for failure, number in rest.not_evaluated.items():
        numbers[failure] = numbers.get(failure, 0) + number
    return numbers
