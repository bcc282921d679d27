"""Rules that report to who listens: what came of them, and each step of their evaluation."""

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
from kyvsim.model.probe import Follower, PointKind, Probe, following, tell
from kyvsim.model.result import RuleStatus

# Rules and loops that tell each step of their evaluation.


_Given = ParamSpec("_Given")


class _Turn(Protocol):
    """One turn of a loop."""

    @property
    def number(self) -> int: ...

    @property
    def value(self) -> Json: ...


_Element = TypeVar("_Element", bound=_Turn)


def followed_rule(
    compiled: CompiledRule, policy: Policy, probe: Probe, *field: str
) -> CompiledRule:
    """Return a rule that tells when it begins, and what its body, at `field`, said.

    Match blocks, conditions and exceptions tell of themselves: they were compiled to.
    """
    follower = probe.follower
    if follower is None:
        return compiled
    run = RuleRun(policy, compiled.rule, compiled.stage)
    name = ".".join(field) or "what the policy does"
    body = followed_body(compiled.body, probe.at(*field), name)
    payloads = {
        mode: _beginning(followed_body(one, probe.at(*field), name), run, follower)
        for mode, one in compiled.payloads.items()
    }
    concerns = compiled.concerns
    if concerns is not None:
        asked = Step(StepKind.CONCERN, "anything that the rule looks at")
        concerns = following(probe.at(*field), concerns, asked, _answered)
    exceptions = tuple(
        one._replace(matches=_resuming(one.matches, run, follower)) for one in compiled.exceptions
    )
    return compiled._replace(
        exceptions=exceptions,
        matches=_evaluating(compiled.matches, run, follower),
        concerns=concerns,
        body=body,
        payloads=payloads,
    )


def followed_exception(covers: Predicate, key: str, probe: Probe) -> Predicate:
    """Return the match of an exception as one that tells whether it covers an object."""
    asked = Step(StepKind.EXCEPTION, key)
    return following(
        probe.at("match"), covers, asked, lambda step, found, _: step._replace(answer=found)
    )


def followed_body(body: CompiledBody, probe: Probe, name: str) -> CompiledBody:
    """Return a body that tells how it ended, and what it made."""

    def told(evaluation: Evaluation) -> Outcome | None:
        outcome = body(evaluation)
        for one in (outcome, *outcome.further) if outcome else ():
            _tell_effects(one, evaluation, probe)
        return outcome

    return following(probe, told, Step(StepKind.BODY, name, path=()), _ended)


def _evaluating(matches: Predicate, run: RuleRun, follower: Follower) -> Predicate:
    def told(facts: MatchFacts) -> bool:
        follower.evaluate(run._replace(subject=facts.key))
        return matches(facts)

    return told


def _resuming(covers: Predicate, run: RuleRun, follower: Follower) -> Predicate:
    """Return the match of an exception: the background asks it before that of the rule."""

    def told(facts: MatchFacts) -> bool:
        follower.resume(run._replace(subject=facts.key))
        return covers(facts)

    return told


def _beginning(body: CompiledBody, run: RuleRun, follower: Follower) -> CompiledBody:
    def told(evaluation: Evaluation) -> Outcome | None:
        follower.evaluate(run)
        return body(evaluation)

    return told


def _ended(step: Step, outcome: Outcome | None, evaluation: Evaluation) -> Step:
    del evaluation
    if outcome is None:
        return step._replace(note="nothing to say")
    note = outcome.note or "; ".join(outcome.unchecked)
    if outcome.silent:
        return step._replace(note=note)
    return step._replace(answer=outcome.status, note=note)


def _tell_effects(outcome: Outcome, evaluation: Evaluation, probe: Probe) -> None:
    """Tell what was changed and what would be created."""
    if outcome.object is not None:
        before, after = Value(evaluation.object), Value(outcome.object)
        tell(probe, Step(StepKind.CHANGE, "the object", wanted=after, found=before))
    for target in outcome.targets:
        before, after = Value(target.before), Value(target.object)
        tell(probe, Step(StepKind.CHANGE, "an existing object", wanted=after, found=before))
    for made in outcome.generated:
        tell(probe, Step(StepKind.GENERATED, found=Value(made)))


def _answered(step: Step, found: bool, _: Json) -> Step:
    return step._replace(answer=found)


def followed_template(template: Template, name: str, probe: Probe, *way: str) -> Template:
    """Return a template as one that is filled each time, and tells what stands at `way` then."""

    def told(step: Step, found: Json, _: RuleScope) -> Step:
        for field in way:
            found = found[field]
        return step._replace(found=Value(found))

    render = following(probe, template.render, Step(StepKind.FILLED, name), told)
    return template._replace(constant=False, render=render)


def followed_list(
    list_of: Callable[[JSONContext], list[Json]], expression: str, probe: Probe
) -> Callable[[JSONContext], list[Json]]:
    """Return the list of a loop as one that tells its elements."""

    def told(step: Step, found: list[Json], _: JSONContext) -> Step:
        return step._replace(found=Value(found))

    asked = Step(StepKind.LOOP, probe.name, expression)
    return following(probe.at("list"), list_of, asked, told)


def followed_elements(
    elements: Callable[_Given, Iterator[_Element]], probe: Probe
) -> Callable[_Given, Iterator[_Element]]:
    """Return the elements of a loop; what is told until the next one comes belongs to each."""
    follower = probe.follower
    if follower is None:
        return elements
    locate = cache(probe.locate)

    def told(*given: _Given.args, **named: _Given.kwargs) -> Iterator[_Element]:
        for element in elements(*given, **named):
            mark = follower.begin()
            try:
                yield element
            finally:
                asked = Step(StepKind.ELEMENT, f"[{element.number}]", found=Value(element.value))
                follower.end(mark, asked._replace(place=locate()))

    return told


# Rules that tell what came of them, to who counts what tests reach.


Tell: TypeAlias = Callable[[Outcome], None]


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


def compile_tell(ends: Ends, probe: Probe, number: int, forms: tuple[str, ...]) -> Tell:
    """Return what tells how a rule ended, and that the form of this number applied."""
    of_rule = probe.point(PointKind.RULE, *ends.names)
    of_form = probe.point(PointKind.VARIANT, *forms) if len(forms) > 1 else None

    def tell(outcome: Outcome) -> None:
        end = ends.of(outcome)
        if end is None:
            return
        if of_rule:
            of_rule(ends.names.index(end))
        if of_form:
            of_form(number)

    return tell


def told_by(compiled: CompiledRule, tell: Tell) -> CompiledRule:
    """Return a rule that tells every outcome of its body, on objects and on payloads."""

    def told(body: CompiledBody) -> CompiledBody:
        def run(evaluation: Evaluation) -> Outcome | None:
            outcome = body(evaluation)
            for one in (outcome, *outcome.further) if outcome else ():
                tell(one)
            return outcome

        return run

    payloads = {mode: told(body) for mode, body in compiled.payloads.items()}
    return compiled._replace(body=told(compiled.body), payloads=payloads)
