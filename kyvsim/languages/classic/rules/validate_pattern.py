"""`validate.pattern`: the object has to look like the pattern.

Source of the rules: upstream pkg/engine/handlers/validation/validate_resource.go.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TypeVar

from kyvsim.engine.compile.compiled import (
    CompiledBody,
    Evaluation,
    Outcome,
    Proof,
    errored,
    failed,
    skipped,
)
from kyvsim.engine.pattern import FailureKind, compile_pattern
from kyvsim.engine.pattern.shape import pattern_shape
from kyvsim.jmespath import QueryError, compile_template
from kyvsim.jmespath.variables import RuleScope
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.messages import compile_pattern_message, has_fixed_message, usual_pass
from kyvsim.languages.classic.rule_type import (
    NOTHING_CHECKED,
    RuleContext,
    RuleType,
    autogen_rewrite,
    empty,
    nest_in_template,
)
from kyvsim.model.policy import RuleFacts
from kyvsim.model.request import Operation
from kyvsim.model.result import Phase
from kyvsim.model.source import Path

_Built = TypeVar("_Built")


def compile_checker(
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


def subject_of(evaluation: Evaluation) -> Json:
    """Return what patterns are checked against: the element, else the object; None on DELETE."""
    if evaluation.element:
        return evaluation.element
    return None if evaluation.request.operation is Operation.DELETE else evaluation.object


def compile_pattern_body(context: RuleContext, pattern: Json) -> CompiledBody:
    """Return the body of a `pattern` block, of a rule or of one of its loops."""
    build = partial(compile_pattern, trace=context.trace, meter=context.system.meter)
    checker_for = compile_checker(context, pattern, build)
    message = compile_pattern_message(context)
    pass_outcome = usual_pass(context)

    def evaluate(evaluation: Evaluation) -> Outcome | None:
        scope = evaluation.scope
        try:
            check = checker_for(scope)
        except QueryError as error:
            return errored("variable substitution failed", error)
        subject = subject_of(evaluation)
        if subject is None:
            return None
        failure = check(subject)
        if failure is None:
            return pass_outcome
        if failure.kind is FailureKind.SKIP:
            return skipped(failure.message)
        if failure.kind is FailureKind.ERROR or not failure.path:
            return errored(message(scope, "", failure.message).text)
        said = message(scope, failure.path, failure.message)
        return failed(said.text, failure.path, said.own)

    return evaluate


def _compile(context: RuleContext) -> CompiledBody:
    pattern = context.rule.data["validate"]["pattern"]
    return compile_pattern_body(context.in_template("validate", "pattern"), pattern)


def _proofs(context: RuleContext) -> tuple[Proof, ...]:
    template = compile_template(context.rule.data["validate"]["pattern"], context.system)
    found = pattern_shape(template.value) if template.constant else None
    if found is None:
        return ()
    is_all = found.exact and has_fixed_message(context)
    return (Proof(found.shape, usual_pass(context), found.exact, is_all),)


def _patterns(pattern: Json) -> Iterator[tuple[Path, Json]]:
    yield (), pattern


def _facts(facts: RuleFacts, rule: Mapping[str, Json], _: Mapping[str, Json]) -> RuleFacts:
    pattern = rule["validate"]["pattern"]
    wanted = pattern.get("metadata") if pattern.__class__ is dict else None
    asked = wanted.get("labels") if wanted.__class__ is dict else None
    return facts._replace(asked_labels=asked) if asked.__class__ is dict else facts


RULE_TYPE = RuleType(
    ("validate", "pattern"),
    Phase.VALIDATE,
    _compile,
    autogen_rewrite("pattern", nest_in_template),
    no_effect=empty({}, "pattern", NOTHING_CHECKED),
    patterns=_patterns,
    facts=_facts,
    proofs=_proofs,
)
