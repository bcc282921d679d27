"""Rules that report their outcomes to a coverage sink and their steps to a tracer."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple, ParamSpec, Protocol, TypeAlias, TypeVar

from kyvsim.engine.compile.compiled import CompiledBody, CompiledRule, Evaluation, Outcome
from kyvsim.engine.context import JSONContext
from kyvsim.engine.match import MatchFacts, Predicate
from kyvsim.jmespath import RuleScope, Template
from kyvsim.kubernetes.objects import Json
from kyvsim.model.explanation import RuleRun, Step, StepKind, Value
from kyvsim.model.policy import Policy
from kyvsim.model.result import RuleStatus
from kyvsim.model.tracing import (
    PointKind,
    TraceContext,
    Tracer,
    trace_step,
    traced,
    with_answer,
    with_found,
)

# Rules and loops that report each step of their evaluation to a tracer.


_Given = ParamSpec("_Given")


class _Turn(Protocol):
    """One turn of a loop."""

    @property
    def number(self) -> int: ...

    @property
    def value(self) -> Json: ...


_Element = TypeVar("_Element", bound=_Turn)


def traced_rule(
    compiled: CompiledRule, policy: Policy, trace: TraceContext, *field: str
) -> CompiledRule:
    """Return a rule that reports its begin and the outcome of its body, which is at `field`.

    Match blocks, conditions and exceptions report themselves: they were compiled to.
    """
    tracer = trace.tracer
    if tracer is None:
        return compiled
    run = RuleRun(policy, compiled.rule, compiled.stage)
    name = ".".join(field) or "the whole policy"
    body = traced_body(compiled.body, trace.at(*field), name)
    payloads = {
        mode: _beginning(traced_body(one, trace.at(*field), name), run, tracer)
        for mode, one in compiled.payloads.items()
    }
    concerns = compiled.concerns
    if concerns is not None:
        asked = Step(StepKind.CONCERN, "any field that the rule reads")
        concerns = traced(trace.at(*field), concerns, asked, with_answer)
    exceptions = tuple(
        one._replace(matches=_resuming(one.matches, run, tracer)) for one in compiled.exceptions
    )

    def wrapper(facts: MatchFacts) -> bool:
        tracer.evaluate(run._replace(subject=facts.key))
        return compiled.matches(facts)

    return compiled._replace(
        exceptions=exceptions,
        matches=wrapper,
        concerns=concerns,
        body=body,
        payloads=payloads,
    )


def traced_exception(covers: Predicate, key: str, trace: TraceContext) -> Predicate:
    """Return the match of an exception as one that reports whether it covers an object."""
    asked = Step(StepKind.EXCEPTION, key)
    return traced(trace.at("match"), covers, asked, with_answer)


def traced_body(body: CompiledBody, trace: TraceContext, name: str) -> CompiledBody:
    """Return a body that reports its outcome, and what it changed and generated."""

    def run(evaluation: Evaluation) -> Outcome | None:
        outcome = body(evaluation)
        for one in (outcome, *outcome.further) if outcome else ():
            if one.object is not None:
                before, after = Value(evaluation.object), Value(one.object)
                trace_step(trace, Step(StepKind.CHANGE, "the object", wanted=after, found=before))
            for target in one.targets:
                before, after = Value(target.before), Value(target.object)
                trace_step(
                    trace, Step(StepKind.CHANGE, "an existing object", wanted=after, found=before)
                )
            for made in one.generated:
                trace_step(trace, Step(StepKind.GENERATED, found=Value(made)))
        return outcome

    return traced(trace, run, Step(StepKind.BODY, name, path=()), _ended)


def _resuming(covers: Predicate, run: RuleRun, tracer: Tracer) -> Predicate:
    """Return the match of an exception: the background evaluates it before that of the rule."""

    def wrapper(facts: MatchFacts) -> bool:
        tracer.resume(run._replace(subject=facts.key))
        return covers(facts)

    return wrapper


def _beginning(body: CompiledBody, run: RuleRun, tracer: Tracer) -> CompiledBody:
    def wrapper(evaluation: Evaluation) -> Outcome | None:
        tracer.evaluate(run)
        return body(evaluation)

    return wrapper


def _ended(step: Step, outcome: Outcome | None, evaluation: Evaluation) -> Step:
    del evaluation
    if outcome is None:
        return step._replace(note="no result")
    note = outcome.note or "; ".join(outcome.unchecked)
    if outcome.silent:
        return step._replace(note=note)
    return step._replace(answer=outcome.status, note=note)


def traced_template(template: Template, name: str, trace: TraceContext, *way: str) -> Template:
    """Return a template that is rendered each time, and reports what is at `way` then."""

    def complete(step: Step, found: Json, _: RuleScope) -> Step:
        for field in way:
            found = found[field]
        return step._replace(found=Value(found))

    render = traced(trace, template.render, Step(StepKind.FILLED, name), complete)
    return template._replace(constant=False, render=render)


def traced_list(
    list_of: Callable[[JSONContext], list[Json]], expression: str, trace: TraceContext
) -> Callable[[JSONContext], list[Json]]:
    """Return the list of a loop as one that reports its elements."""
    asked = Step(StepKind.LOOP, trace.name, expression)
    return traced(trace.at("list"), list_of, asked, with_found)


def traced_elements(
    elements: Callable[_Given, Iterator[_Element]], trace: TraceContext
) -> Callable[_Given, Iterator[_Element]]:
    """Return the elements of a loop; the steps until the next one belong to each."""
    tracer = trace.tracer
    if tracer is None:
        return elements
    locate = cache(trace.locate)

    def wrapper(*given: _Given.args, **named: _Given.kwargs) -> Iterator[_Element]:
        for element in elements(*given, **named):
            mark = tracer.begin()
            try:
                yield element
            finally:
                asked = Step(StepKind.ELEMENT, f"[{element.number}]", found=Value(element.value))
                tracer.end(mark, asked._replace(place=locate()))

    return wrapper


# Rules that count their outcomes for coverage.


CountOutcome: TypeAlias = Callable[[Outcome], None]


class Ends(NamedTuple):
    """What can come of a rule where it applies, as coverage counts it."""

    names: tuple[str, ...]
    of: Callable[[Outcome], str | None]
    """Returns which of them an outcome is, if any."""


def _ends(**names: str) -> Ends:
    by_status = {RuleStatus(status): name for status, name in names.items()}
    return Ends(tuple(by_status.values()), lambda outcome: by_status.get(outcome.status))


CHECKED = _ends(**{"pass": "passed", "fail": "failed"})
DENIED = _ends(fail="failed")
APPLIED = _ends(**{"pass": "applied"})


def compile_counter(
    ends: Ends, trace: TraceContext, number: int, forms: tuple[str, ...]
) -> CountOutcome:
    """Return what counts how a rule ended, and that the form of this number applied."""
    of_rule = trace.point(PointKind.RULE, *ends.names)
    of_form = trace.point(PointKind.VARIANT, *forms) if len(forms) > 1 else None

    def count(outcome: Outcome) -> None:
        end = ends.of(outcome)
        if end is None:
            return
        if of_rule:
            of_rule(ends.names.index(end))
        if of_form:
            of_form(number)

    return count


def with_coverage(compiled: CompiledRule, count: CountOutcome) -> CompiledRule:
    """Return a rule that counts every outcome of its body, on objects and on payloads."""

    def counted(body: CompiledBody) -> CompiledBody:
        def run(evaluation: Evaluation) -> Outcome | None:
            outcome = body(evaluation)
            for one in (outcome, *outcome.further) if outcome else ():
                count(one)
            return outcome

        return run

    payloads = {mode: counted(body) for mode, body in compiled.payloads.items()}
    return compiled._replace(body=counted(compiled.body), payloads=payloads)
