"""ValidatingPolicy and NamespacedValidatingPolicy of `policies.kyverno.io`.

Validations are evaluated in order; the first that is false or cannot be evaluated ends it. A
policy has one result, whose rule has no name; what prevents its evaluation is
under the rule `evaluation`.

Source of the rules: upstream pkg/cel/policies/vpol (compiler/compiler.go, compiler/policy.go).
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kyvsim.cel import Program
from kyvsim.engine.compile.compiled import CompiledBody, Evaluation, Outcome, passed, skipped
from kyvsim.engine.compile.tracing import CHECKED
from kyvsim.languages.cel.autogen import variants
from kyvsim.languages.cel.kind import CelKind, PolicyPart, RequestValues, without_entries
from kyvsim.languages.cel.validations import PolicyValidation, annotation_texts, compile_validations
from kyvsim.languages.cel_expressions import EvaluationError, all_hold, evaluate
from kyvsim.languages.constraints import are_plain
from kyvsim.model.result import RuleStatus, Stage

_SPEC = ("spec",)


class ValidatingPolicy(NamedTuple):
    """A policy, or one of its variants, as programs."""

    values: RequestValues
    conditions: tuple[Program, ...]
    validations: tuple[PolicyValidation, ...]
    annotations: Mapping[str, Program]
    ignores_faults: bool
    """Whether conditions that cannot be evaluated count as not met."""


def _compile(part: PolicyPart) -> CompiledBody:
    spec, compiler = part.spec, part.compiler
    conditions = compiler.conditions(spec)
    variables = compiler.variables(spec)
    validations = compile_validations(compiler, spec)
    annotations = compiler.annotations(spec)
    found = ValidatingPolicy(
        RequestValues(part, variables),
        conditions,
        validations,
        annotations,
        not part.policy.facts.fails_closed,
    )

    def run(evaluation: Evaluation) -> Outcome:
        values = found.values.of(evaluation)
        try:
            if not all_hold(found.conditions, values):
                return skipped("skip")
        except EvaluationError as error:
            return skipped("skip") if found.ignores_faults else VALIDATING.unevaluated(error)
        return _validated(found, values)

    return run


def _validated(policy: ValidatingPolicy, values: Sequence[Any]) -> Outcome:
    for index, validation in enumerate(policy.validations):
        place = {"cel.validationIndex": str(index)}
        try:
            if evaluate(validation.test, values) is True:
                continue
            message = validation.denial(index, values)
            annotations = annotation_texts(policy.annotations, values)
        except EvaluationError as error:
            return Outcome(RuleStatus.ERROR, f"error: {error}", properties=place)
        return Outcome(RuleStatus.FAIL, message, properties={**annotations, **place})
    try:
        told = annotation_texts(policy.annotations, values)
    except EvaluationError as error:
        return VALIDATING.unevaluated(error)
    return _SUCCESS._replace(properties=told) if told else _SUCCESS


_SUCCESS = passed("success")
VALIDATING = CelKind(
    "ValidatingPolicy",
    Stage.CEL_VALIDATE,
    _compile,
    ends=CHECKED,
    no_effect=without_entries("validations"),
    variants=variants,
    names_rules=False,
    match_rule="match",
    fault="failed to load context",
    forgives_faults=True,
    judges_json=lambda mode: mode == "JSON",
    json_objects=True,
    answers_always=lambda spec: not are_plain(spec.get("matchConstraints")),
)
