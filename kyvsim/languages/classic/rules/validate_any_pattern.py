"""`validate.anyPattern`: the object has to look like one of the patterns.

Source of the rules: upstream pkg/engine/handlers/validation/validate_resource.go.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias

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
from kyvsim.engine.pattern import FailureKind, PatternFailure, compile_any_pattern
from kyvsim.engine.pattern.shape import alternative_shapes
from kyvsim.jmespath import QueryError, compile_template
from kyvsim.kubernetes.go_text import json_kind
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.messages import (
    compile_alternatives_message,
    has_fixed_message,
    own_message,
)
from kyvsim.languages.classic.rule_type import (
    NOTHING_CHECKED,
    PodTemplate,
    RuleContext,
    RuleType,
    autogen_rewrite,
    empty,
    nest_in_template,
)
from kyvsim.languages.classic.rules.validate_pattern import compile_checker, subject_of
from kyvsim.model.result import Phase
from kyvsim.model.source import Path
from kyvsim.model.tracing import PointKind, Seen

PatternCheck: TypeAlias = Callable[[Json], PatternFailure | None]
"""Checks an object against one pattern; None where it fits."""


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
    checkers_for = compile_checker(context, patterns, _with_coverage(context, len(patterns)))
    message = compile_alternatives_message(context)
    nothing_to_check = passed(own_message(context))

    def evaluate(evaluation: Evaluation) -> Outcome | None:
        try:
            checkers = checkers_for(evaluation.scope)
        except QueryError as error:
            return errored("variable substitution failed", error)
        subject = subject_of(evaluation)
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
            said = message(evaluation.scope, " ".join(failures))
            return failed(said.text, own=said.own)
        return skipped(" ".join(skips)) if skips else nothing_to_check

    return evaluate


def _chosen(context: RuleContext, index: int) -> Outcome:
    return passed(f"validation rule '{context.rule.name}' anyPattern[{index}] passed.")


def _with_coverage(context: RuleContext, count: int) -> Callable[[Json], tuple[PatternCheck, ...]]:
    """Return a function that compiles `count` patterns, with coverage of each."""
    trace, meter = context.trace, context.system.meter
    points = [trace.at(index).point(PointKind.ALTERNATIVE, "chosen") for index in range(count)]
    if not any(points):
        return partial(compile_any_pattern, trace=trace, meter=meter)

    def build(patterns: Json) -> tuple[PatternCheck, ...]:
        checks = compile_any_pattern(patterns, meter=meter)
        return tuple(
            _counted(check, seen) if seen else check
            for check, seen in zip(checks, points, strict=True)
        )

    return build


def _counted(check: PatternCheck, seen: Seen) -> PatternCheck:
    def covered(subject: Json) -> PatternFailure | None:
        failure = check(subject)
        if failure is None:
            seen(0)
        return failure

    return covered


def _compile(context: RuleContext) -> CompiledBody:
    patterns = context.rule.data["validate"]["anyPattern"]
    return compile_any_pattern_body(context.in_template("validate", "anyPattern"), patterns)


def _proofs(context: RuleContext) -> tuple[Proof, ...]:
    """Return what shows that an alternative fits: the first, or one behind those that are exact."""
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
    """Return the patterns for a controller; what is not a list stays, and a check refuses it."""
    if patterns.__class__ is not list:
        return patterns
    return [nest_in_template(pattern, template) for pattern in patterns]


def _patterns(patterns: Json) -> Iterator[tuple[Path, Json]]:
    for index, pattern in enumerate(patterns if patterns.__class__ is list else ()):
        yield (index,), pattern


RULE_TYPE = RuleType(
    ("validate", "anyPattern"),
    Phase.VALIDATE,
    _compile,
    autogen_rewrite("anyPattern", _rewritten),
    no_effect=empty([], "anyPattern", NOTHING_CHECKED),
    patterns=_patterns,
    proofs=_proofs,
)
