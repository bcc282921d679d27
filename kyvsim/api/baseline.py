"""Runs that are judged by a baseline, or become one."""

from collections.abc import Iterable, Iterator, Mapping

from kyvsim.api.inputs import ApplyInputs, ReadInputs
from kyvsim.model.baseline import Failure
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.result import EngineResponse
from kyvsim.report.course import Course
from kyvsim.report.known_failures import Met, stale_remarks, telling_apart
from kyvsim.report.run import Run


def judged(
    responses: Iterable[EngineResponse], course: Course, inputs: ApplyInputs, read: ReadInputs
) -> Iterator[EngineResponse]:
    """Yield responses with their failures told apart; what is met is noted in the course."""
    course.met = Met()
    return telling_apart(responses, read.baseline, course.met, audit_warn=inputs.audit_warn)


def with_baseline(run: Run, inputs: ApplyInputs, read: ReadInputs) -> Run:
    """Return a run that has its course with what is said of its baseline when all is read."""
    baseline = read.baseline
    if baseline is None:
        return run
    run = run._replace(baseline=baseline)
    earlier = run.afterthoughts

    def afterthoughts(matched: int) -> tuple[Diagnostic, ...]:
        rest = run.rest()
        if rest is None or inputs.records_failures:
            return earlier(matched)
        return (*earlier(matched), *stale_remarks(baseline, rest))

    return run._replace(afterthoughts=afterthoughts)


def known_by_now(run: Run) -> Mapping[Failure, int]:
    """Return the failures that are known after a run, when all its responses are read.

    Without a baseline that is all it found. Else it is what is left of the baseline, together with
    what the run did not look at: a baseline shrinks, or is written anew without one.
    """
    if run.course.met is None:
        return {}
    rest = run.rest()
    if rest is None:
        return run.course.met.failures
    numbers = dict(rest.found)
    for failure, number in rest.aside.items():
        numbers[failure] = numbers.get(failure, 0) + number
    return numbers
