"""`validate.pattern`: the object must match the pattern; `anyPattern`: one of several patterns.

Source of the rules: upstream pkg/engine/handlers/validation/validate_resource.go.
"""

from collections.abc import Callable
from typing import TypeAlias, TypeVar

from kyvsim.engine.compile.compiled import (
    CompiledBody,
    Evaluation,
    Outcome,
    errored,
    failed,
    passed,
    skipped,
)
from kyvsim.engine.pattern import FailureKind, PatternFailure, compile_any_pattern, compile_pattern
from kyvsim.jmespath import QueryError, compile_template
from kyvsim.jmespath.variables import RuleScope
from kyvsim.kubernetes.go_text import json_kind
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.rule_type import (
    RuleContext,
    RuleType,
    chosen_pass,
    compile_failure_message,
    own_message,
    usual_pass,
    validation_of,
)
from kyvsim.model.policy import RuleFacts
from kyvsim.model.request import Operation
from kyvsim.model.result import Phase
from kyvsim.model.tracing import Count, PointKind
from kyvsim.policy.read import with_data
from kyvsim.policy.rule import ForEachValidation, PolicyNode, RuleNode, Validate
from kyvsim.policy.tree import Pattern, PatternMap
from kyvsim.policy.visit import pattern_at

_Built = TypeVar("_Built")
_PatternCheck: TypeAlias = Callable[[Json], PatternFailure | None]
"""Checks an object against one pattern; returns None if it matches."""


def _compile_checker(
    context: RuleContext, data: object, build: Callable[[object], _Built]
) -> Callable[[RuleScope], _Built]:
    """Return a function that replaces the variables of a pattern and calls `build` with it.

    A pattern without variables is built once. Raises `QueryError` at evaluation if a variable of
    the pattern cannot be resolved.
    """
    template = compile_template(data, context.system)
    if template.constant:
        built = build(template.value)
        return lambda _: built
    return lambda scope: build(template.render(scope))


def _subject_of(evaluation: Evaluation) -> Json:
    """Return the value that patterns check: the element, or the object; None on DELETE."""
    if evaluation.element:
        return evaluation.element
    return None if evaluation.request.operation is Operation.DELETE else evaluation.object


def compile_pattern_body(context: RuleContext, pattern: Pattern) -> CompiledBody:
    """Return the body of a `pattern` block, of a rule or of one of its loops."""

    def build(data: object) -> _PatternCheck:
        return compile_pattern(with_data(pattern, data).root, context.trace, context.system.meter)

    checker_for = _compile_checker(context, pattern.data, build)
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


def compile_any_pattern_body(
    context: RuleContext, block: Validate | ForEachValidation
) -> CompiledBody:
    """Return the body of an `anyPattern` block, of a rule or of one of its loops.

    A value that is not a list is an error of each evaluation: in a loop, it is not validated.
    """
    patterns = block.any_pattern
    if patterns is None:
        kind = json_kind(block.invalid_any_pattern)
        reason = f"json: cannot unmarshal {kind} into Go value of type []interface {{}}"
        outcome = errored("failed to deserialize anyPattern, expected type array", reason)
        return lambda _: outcome
    name = context.rule.name
    build = _with_coverage(context, patterns)
    checkers_for = _compile_checker(context, [one.data for one in patterns], build)
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
                return chosen_pass(context, index)
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


def _with_coverage(
    context: RuleContext, patterns: tuple[Pattern, ...]
) -> Callable[[Json], tuple[_PatternCheck, ...]]:
    """Return a function that replaces the variables of patterns and compiles them with coverage."""
    trace, meter = context.trace, context.system.meter
    counts = [trace.to(one.path).declare(PointKind.ALTERNATIVE, "chosen") for one in patterns]

    def build(data: Json) -> tuple[_PatternCheck, ...]:
        checks = compile_any_pattern(map(with_data, patterns, data), trace, meter)
        return tuple(
            _counted(check, count) if count else check
            for check, count in zip(checks, counts, strict=True)
        )

    return build


def _counted(check: _PatternCheck, count: Count) -> _PatternCheck:
    def covered(subject: object) -> PatternFailure | None:
        failure = check(subject)
        if failure is None:
            count(0)
        return failure

    return covered


def _pattern(rule: RuleNode) -> tuple[Pattern, ...]:
    pattern = rule.validate and rule.validate.pattern
    return () if pattern is None else (pattern,)


def _any_pattern(rule: RuleNode) -> tuple[Pattern, ...]:
    return (rule.validate and rule.validate.any_pattern) or ()


def _facts(facts: RuleFacts, rule: RuleNode, _: PolicyNode) -> RuleFacts:
    (pattern,) = _pattern(rule)
    labels = pattern_at(pattern.root, "metadata", "labels")
    return facts._replace(asked_labels=labels.data) if isinstance(labels, PatternMap) else facts


PATTERN = RuleType(
    ("validate", "pattern"),
    Phase.VALIDATE,
    lambda context: compile_pattern_body(context, *_pattern(context.rule.tree)),
    patterns=_pattern,
    facts=_facts,
)
ANY_PATTERN = RuleType(
    ("validate", "anyPattern"),
    Phase.VALIDATE,
    lambda context: compile_any_pattern_body(context, validation_of(context.rule.tree)),
    patterns=_any_pattern,
)
