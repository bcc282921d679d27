"""ValidatingPolicy and NamespacedValidatingPolicy of `policies.kyverno.io`.

Validations are evaluated in order until one is false or cannot be evaluated. A
policy has one result, whose rule has no name; an error outside of validations is
under the rule `evaluation`. Other kinds have the same validations and audit annotations.

Source of the rules: upstream pkg/cel/policies/vpol (compiler/compiler.go, compiler/policy.go),
pkg/cel/compiler (validation.go).
"""

from collections.abc import Mapping, Sequence
from functools import partial

from kyvsim.cel import CelError
from kyvsim.cel.kyverno.encodings import native_text
from kyvsim.engine.compile.compiled import CompiledBody, Evaluation, Outcome, passed, skipped
from kyvsim.kubernetes.go_text import quote
from kyvsim.languages.cel.kind import CelKind, PolicyPart, RequestValues, evaluated_on_templates
from kyvsim.languages.cel_expressions import (
    CompiledExpression,
    EvaluationError,
    ExpressionProblem,
    all_hold,
)
from kyvsim.languages.constraints import are_plain
from kyvsim.languages.tracing import ends_of_validations
from kyvsim.model.result import RuleStatus, Stage
from kyvsim.policy.cel_autogen import variants


def annotation_texts(
    annotations: Mapping[str, CompiledExpression], values: Sequence[object], quote: str = "'"
) -> dict[str, str]:
    """Return the audit annotations with string values; raises EvaluationError."""
    found: dict[str, str] = {}
    for key, expression in annotations.items():
        place = f"auditAnnotation {quote}{key}{quote}"
        try:
            text = native_text(expression.value(values))
        except EvaluationError as error:
            raise EvaluationError(f"failed to evaluate {place}: {error}") from None
        except CelError as error:
            raise EvaluationError(f"failed to convert {place} expression: {error}") from None
        if text:
            found[key] = text
    return found


# The errors of a policy's expressions, as upstream's single message.
#
# Source of the form: k8s.io/apimachinery pkg/util/validation/field (Error), util/errors
# (Aggregate).

_SECTIONS = ("matchImageReferences", "matchConditions", "images", "variables", "attestors")
"""Fields that are compiled as a whole, in this order; only the first with an error counts."""
_FIRST_ONLY = frozenset({"images", "attestors"})


def compile_error_text(problems: Sequence[ExpressionProblem], offsets: Mapping[str, int]) -> str:
    """Return upstream's message for the problems of one policy.

    `offsets` is how many entries upstream adds before those of a field, by name.
    """
    for section in _SECTIONS:
        found = [one for one in problems if one.path[1] == section and not one.document]
        if found:
            taken = found[:1] if section in _FIRST_ONLY else found
            texts = [_error_text(one, offsets) for one in taken]
            text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
            if section != "matchImageReferences":
                return text
            text = text.replace("spec.match", "spec.Match")
            return f"<nil>: Internal error: failed to compile matches: {text}"
    return _error_text(problems[0], offsets)


def _error_text(problem: ExpressionProblem, offsets: Mapping[str, int]) -> str:
    path, value = problem.shown or (problem.path, quote(problem.text))
    start = offsets.get(str(path[1]), 0)
    parts = (f"[{one + start}]" if isinstance(one, int) else f".{one}" for one in path)
    return f"{''.join(parts).removeprefix('.')}: Invalid value: {value}: {problem.message}"


def _compile(part: PolicyPart) -> CompiledBody:
    spec, compiler = part.spec, part.compiler
    conditions = compiler.conditions(spec.match_conditions)
    variables = compiler.variables(spec.variables)
    validations = compiler.validations(spec.validations)
    annotations = compiler.annotations(spec.audit_annotations)
    request_values = RequestValues(part, variables)
    fails_closed = part.policy.facts.fails_closed

    def run(evaluation: Evaluation) -> Outcome:
        values = request_values.of(evaluation)
        try:
            if not all_hold(conditions, values):
                return skipped("skip")
        except EvaluationError as error:
            return VALIDATING.unevaluated(error) if fails_closed else skipped("skip")
        for index, validation in enumerate(validations):
            place = {"cel.validationIndex": str(index)}
            try:
                if validation.test.value(values) is True:
                    continue
                message = validation.denial(index, values)
                told = annotation_texts(annotations, values)
            except EvaluationError as error:
                return Outcome(RuleStatus.ERROR, f"error: {error}", properties=place)
            return Outcome(RuleStatus.FAIL, message, properties={**told, **place})
        try:
            told = annotation_texts(annotations, values)
        except EvaluationError as error:
            return VALIDATING.unevaluated(error)
        return _SUCCESS._replace(properties=told) if told else _SUCCESS

    return run


_SUCCESS = passed("success")
VALIDATING = CelKind(
    "ValidatingPolicy",
    Stage.CEL_VALIDATE,
    _compile,
    ends=ends_of_validations,
    no_effect=lambda spec: () if spec.validations else ((spec.path, "`validations` is empty"),),
    variants=variants,
    on_templates=partial(evaluated_on_templates, fault="failed to load context"),
    names_rules=False,
    match_rule="match",
    fault="failed to load context",
    forgives_faults=True,
    judges_json=lambda mode: mode == "JSON",
    json_objects=True,
    answers_always=lambda spec: not are_plain(spec.match_constraints),
)
