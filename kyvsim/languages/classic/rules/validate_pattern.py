"""`validate.pattern`: the object has to look like the pattern; `anyPattern`: like one of several.

Source of the rules: upstream pkg/engine/handlers/validation/validate_resource.go.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias, TypeVar

from kyvsim.engine.compile.compiled import (
    CompiledBody,
    Evaluation,
    Outcome,
    Proof,
    errored,
    failed,
    passed,
    skipped,
)
from kyvsim.engine.pattern import FailureKind, PatternFailure, compile_any_pattern, compile_pattern
from kyvsim.engine.pattern.shape import alternative_shapes, pattern_shape
from kyvsim.jmespath import QueryError, compile_template
from kyvsim.jmespath.variables import RuleScope
from kyvsim.kubernetes.go_text import json_kind
from kyvsim.kubernetes.objects import Json, Path, metadata
from kyvsim.languages.classic.rule_type import (
    PodTemplate,
    RuleContext,
    RuleType,
    autogen_rewrite,
    compile_failure_message,
    has_fixed_message,
    nest_in_template,
    own_message,
    usual_pass,
)
from kyvsim.model.policy import RuleFacts
from kyvsim.model.request import Operation
from kyvsim.model.result import Phase
from kyvsim.model.tracing import PointKind, Seen
from kyvsim.policy.tree import PolicyNode, RuleNode

_Built = TypeVar("_Built")
_PatternCheck: TypeAlias = Callable[[Json], PatternFailure | None]
"""Checks an object against one pattern; None where it matches."""


def _compile_checker(
    context: RuleContext, pattern: Json, build: Callable[[Json], _Built]
) -> Callable[[RuleScope], _Built]:
    """Return what gives the checker that `build` makes of a pattern whose variables are filled.

    A pattern without variables is built once. Raises `QueryError` at evaluation where a variable of
    the pattern cannot be resolved.
    """
    template = compile_template(pattern, context.system)
    if template.constant:
        built = build(template.value)
        return lambda _: built
    return lambda scope: build(template.render(scope))


def _subject_of(evaluation: Evaluation) -> Json:
    """Return what patterns are checked against: the element, else the object; None on DELETE."""
    if evaluation.element:
        return evaluation.element
    return None if evaluation.request.operation is Operation.DELETE else evaluation.object


def compile_pattern_body(context: RuleContext, pattern: Json) -> CompiledBody:
    """Return the body of a `pattern` block, of a rule or of one of its loops."""
    build = partial(compile_pattern, trace=context.trace, meter=context.system.meter)
    checker_for = _compile_checker(context, pattern, build)
    name, message = context.rule.name, compile_failure_message(context)
    pass_outcome = usual_pass(context)

    def evaluate(evaluation: Evaluation) -> Outcome | None:
        scope = evaluation.scope
        try:
            check = checker_for(scope)
        except QueryError as error:
            return errored("variable substitution failed", error)
        subject = _subject_of(evaluation)
        if subject is None:
            return None
        failure = check(subject)
        if failure is None:
            return pass_outcome
        if failure.kind is FailureKind.SKIP:
            return skipped(failure.message)
        if failure.kind is FailureKind.ERROR or not failure.path:
            end = f"rule {name} execution error: {failure.message}"
            return errored(message(scope, end, failure.message)[0])
        end = f"rule {name} failed at path {failure.path}"
        text, own = message(scope, end, failure.message)
        return failed(text, failure.path, own)

    return evaluate


def compile_any_pattern_body(context: RuleContext, patterns: Json) -> CompiledBody:
    """Return the body of an `anyPattern` block, of a rule or of one of its loops.

    Anything but a list is an error of each evaluation: in a loop, nothing checks it before.
    """
    if patterns.__class__ is not list:
        kind = json_kind(patterns)
        reason = f"json: cannot unmarshal {kind} into Go value of type []interface {{}}"
        outcome = errored("failed to deserialize anyPattern, expected type array", reason)
        return lambda _: outcome
    name = context.rule.name
    checkers_for = _compile_checker(context, patterns, _with_coverage(context, len(patterns)))
    message = compile_failure_message(context)
    nothing_to_check = passed(own_message(context))

    def evaluate(evaluation: Evaluation) -> Outcome | None:
        try:
            checkers = checkers_for(evaluation.scope)
        except QueryError as error:
            return errored("variable substitution failed", error)
        subject = _subject_of(evaluation)
        if subject is None:
            return None
        failures, skips = [], []
        for index, check in enumerate(checkers):
            failure = check(subject)
            if failure is None:
                return _chosen(context, index)
            if failure.kind is FailureKind.SKIP:
                skips.append(f"rule {name}[{index}] skipped: {failure.message}")
            elif failure.path:
                failures.append(f"rule {name}[{index}] failed at path {failure.path}")
            else:
                failures.append(f"rule {name}[{index}] failed: {failure.message}")
        if failures:
            causes = " ".join(failures)
            text, own = message(evaluation.scope, causes, causes)
            return failed(text, own=own)
        return skipped(" ".join(skips)) if skips else nothing_to_check

    return evaluate


def _chosen(context: RuleContext, index: int) -> Outcome:
    return passed(f"validation rule '{context.rule.name}' anyPattern[{index}] passed.")


def _with_coverage(context: RuleContext, count: int) -> Callable[[Json], tuple[_PatternCheck, ...]]:
    """Return a function that compiles `count` patterns, with coverage of each."""
    trace, meter = context.trace, context.system.meter
    points = [trace.at(index).point(PointKind.ALTERNATIVE, "chosen") for index in range(count)]
    if not any(points):
        return partial(compile_any_pattern, trace=trace, meter=meter)

    def build(patterns: Json) -> tuple[_PatternCheck, ...]:
        checks = compile_any_pattern(patterns, meter=meter)
        return tuple(
            _counted(check, seen) if seen else check
            for check, seen in zip(checks, points, strict=True)
        )

    return build


def _counted(check: _PatternCheck, seen: Seen) -> _PatternCheck:
    def covered(subject: Json) -> PatternFailure | None:
        failure = check(subject)
        if failure is None:
            seen(0)
        return failure

    return covered


def _pattern_proofs(context: RuleContext) -> tuple[Proof, ...]:
    template = compile_template(context.rule.data["validate"]["pattern"], context.system)
    found = pattern_shape(template.value) if template.constant else None
    if found is None:
        return ()
    is_all = found.exact and has_fixed_message(context)
    return (Proof(found.shape, usual_pass(context), found.exact, is_all),)


def _facts(facts: RuleFacts, rule: RuleNode, _: PolicyNode) -> RuleFacts:
    pattern = rule.validate and rule.validate.pattern
    labels = metadata(pattern.data).get("labels") if pattern else None
    return facts._replace(asked_labels=labels) if labels.__class__ is dict else facts


def _alternative_proofs(context: RuleContext) -> tuple[Proof, ...]:
    """Return what shows that one of the patterns matches: the first, or one after exact ones."""
    template = compile_template(context.rule.data["validate"]["anyPattern"], context.system)
    if not template.constant or template.value.__class__ is not list:
        return ()
    found: list[Proof] = []
    for index, known in enumerate(alternative_shapes(template.value)):
        if known is None:
            break
        found.append(Proof(known.shape, _chosen(context, index), known.exact))
        if not known.exact:
            break
    are_all = len(found) == len(template.value) and all(one.exact for one in found)
    is_all = are_all and has_fixed_message(context)
    return tuple(one._replace(is_all=is_all) for one in found)


def _rewritten(patterns: Json, template: PodTemplate) -> Json:
    # What is not a list stays, and a check refuses it.
    is_list = patterns.__class__ is list
    return [nest_in_template(one, template) for one in patterns] if is_list else patterns


def _each_pattern(patterns: Json) -> Iterator[tuple[Path, Json]]:
    for index, pattern in enumerate(patterns if patterns.__class__ is list else ()):
        yield (index,), pattern


PATTERN = RuleType(
    ("validate", "pattern"),
    Phase.VALIDATE,
    lambda context: compile_pattern_body(
        context.in_template("validate", "pattern"), context.rule.data["validate"]["pattern"]
    ),
    autogen_rewrite("pattern", nest_in_template),
    patterns=lambda pattern: iter([((), pattern)]),
    facts=_facts,
    proofs=_pattern_proofs,
)
ANY_PATTERN = RuleType(
    ("validate", "anyPattern"),
    Phase.VALIDATE,
    lambda context: compile_any_pattern_body(
        context.in_template("validate", "anyPattern"), context.rule.data["validate"]["anyPattern"]
    ),
    autogen_rewrite("anyPattern", _rewritten),
    patterns=_each_pattern,
    proofs=_alternative_proofs,
)
