"""Traced rules and loops: the steps of their evaluation, and their outcomes."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import ParamSpec, TypeAlias, TypeVar

from kyvsim.engine.compile.compiled import CompiledBody, CompiledRule, Evaluation, Outcome
from kyvsim.engine.context import JSONContext
from kyvsim.engine.match import MatchFacts
from kyvsim.jmespath import RuleScope, Template
from kyvsim.kubernetes.objects import Json
from kyvsim.model.explanation import RuleRun, Step, StepKind, Value
from kyvsim.model.policy import Policy
from kyvsim.model.result import RuleStatus
from kyvsim.model.tracing import Outcomes, PointKind, TraceContext, trace_step, traced

_Given = ParamSpec("_Given")
_Argument = TypeVar("_Argument")
_Found = TypeVar("_Found")
LoopElement: TypeAlias = tuple[int, Json, JSONContext]
"""The index of an element in its list, its value, and its scope."""


def traced_rule(
    compiled: CompiledRule, policy: Policy, trace: TraceContext, *field: str
) -> CompiledRule:
    """Return a rule that traces its start and the outcome of its body, which is at `field`.

    Match blocks, conditions and exceptions are already compiled with the tracer.
    """
    tracer = trace.tracer
    if tracer is None or not tracer.takes_steps:
        return compiled
    at_body = trace.at(*field)
    name = ".".join(field) or "the whole policy"

    def after(
        report: Callable[[RuleRun], None], call: Callable[[_Argument], _Found]
    ) -> Callable[[_Argument], _Found]:
        def wrapper(argument: _Argument) -> _Found:
            subject = argument.key if isinstance(argument, MatchFacts) else None
            report(RuleRun(policy, compiled.rule, compiled.stage, subject))
            return call(argument)

        return wrapper

    concerns = compiled.concerns
    if concerns is not None:
        subject = "images that the rule selects" if field == ("verifyImages",) else "the object"
        concerns = traced(at_body, concerns, Step(StepKind.CONCERN, subject), _with_subject)
    return compiled._replace(
        # The background matches exceptions before the rule.
        exceptions=tuple(
            one._replace(matches=after(tracer.resume, one.matches)) for one in compiled.exceptions
        ),
        matches=after(tracer.evaluate, compiled.matches),
        concerns=concerns,
        body=_traced_body(compiled.body, at_body, name),
        payloads={
            mode: after(tracer.evaluate, _traced_body(body, at_body, name))
            for mode, body in compiled.payloads.items()
        },
    )


def _with_subject(step: Step, found: bool, _: object) -> Step:
    return step._replace(answer=found, note="" if found else "none")


def _traced_body(body: CompiledBody, trace: TraceContext, name: str) -> CompiledBody:
    """Return a body that traces its outcome, and what it changed and generated."""

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


def _ended(step: Step, outcome: Outcome | None, evaluation: Evaluation) -> Step:
    if outcome is None:
        return step._replace(note="; ".join(evaluation.scope.hints) or "no result")
    note = outcome.note or "; ".join(outcome.unchecked)
    return step._replace(answer=None if outcome.silent else outcome.status, note=note)


def traced_template(template: Template, name: str, trace: TraceContext, *way: str) -> Template:
    """Return a template that is always rendered, and then traces the value at `way`."""
    if not trace.takes_steps:
        return template

    def complete(step: Step, found: Json, _: RuleScope) -> Step:
        for field in way:
            found = found[field]
        return step._replace(found=Value(found))

    render = traced(trace, template.render, Step(StepKind.FILLED, name), complete)
    return template._replace(constant=False, render=render)


def traced_elements(
    elements: Callable[_Given, Iterator[LoopElement]], trace: TraceContext
) -> Callable[_Given, Iterator[LoopElement]]:
    """Return the elements of a loop; steps up to the next element belong to each."""
    tracer = trace.tracer
    if tracer is None or not tracer.takes_steps:
        return elements
    locate = cache(trace.locate)

    def wrapper(*given: _Given.args, **named: _Given.kwargs) -> Iterator[LoopElement]:
        for element in elements(*given, **named):
            mark = tracer.enter()
            try:
                yield element
            finally:
                name, found = f"[{element[0]}]", Value(element[1])
                tracer.leave(mark, Step(StepKind.ELEMENT, name, found=found, locate=locate))

    return wrapper


# The possible outcomes of a rule that applies, for coverage.

Ends: TypeAlias = Outcomes[Outcome]


def _ends(**names: str) -> Ends:
    numbers = {RuleStatus(status): number for number, status in enumerate(names)}
    return Ends(PointKind.RULE, tuple(names.values()), lambda outcome: numbers.get(outcome.status))


CHECKED = _ends(**{"pass": "passed", "fail": "failed"})
DENIED = _ends(fail="failed")
APPLIED = _ends(**{"pass": "applied"})


def counted_rule(
    compiled: CompiledRule,
    ends: Ends,
    trace: TraceContext,
    number: int = 0,
    forms: tuple[str, ...] = (),
) -> CompiledRule:
    """Return a rule whose outcomes coverage counts, on objects and on payloads.

    It also counts that the form of the rule with this number applied, if there are several.
    """
    of_rule = trace.declare(ends.kind, *ends.names)
    of_form = trace.declare(PointKind.VARIANT, *forms) if len(forms) > 1 else None
    if of_rule is None and of_form is None:
        return compiled

    def counted(body: CompiledBody) -> CompiledBody:
        def run(evaluation: Evaluation) -> Outcome | None:
            outcome = body(evaluation)
            for one in (outcome, *outcome.further) if outcome else ():
                end = ends.number_of(one)
                if end is not None and of_rule:
                    of_rule(end)
                if end is not None and of_form:
                    of_form(number)
            return outcome

        return run

    payloads = {mode: counted(body) for mode, body in compiled.payloads.items()}
    return compiled._replace(body=counted(compiled.body), payloads=payloads)
