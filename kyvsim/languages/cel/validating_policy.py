"""ValidatingPolicy and NamespacedValidatingPolicy of `policies.kyverno.io`.

Validations are evaluated in order; the first that is false or cannot be evaluated ends it. A
policy has one result, whose rule has no name; what prevents its evaluation is
under the rule `evaluation`. Other kinds have the same validations and audit annotations.

Source of the rules: upstream pkg/cel/policies/vpol (compiler/compiler.go, compiler/policy.go),
pkg/cel/compiler (validation.go).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kyvsim.cel import (
    CelError,
    Program,
)
from kyvsim.cel.kyverno.encodings import native_text
from kyvsim.cel.types import BOOL, STRING
from kyvsim.engine.compile.compiled import CompiledBody, Evaluation, Outcome, passed, skipped
from kyvsim.engine.compile.tracing import CHECKED
from kyvsim.kubernetes.go_text import quote
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.cel.kind import CelKind, PolicyPart, RequestValues, without_entries
from kyvsim.languages.cel_expressions import (
    Compiler,
    EvaluationError,
    ExpressionProblem,
    all_hold,
    evaluate,
)
from kyvsim.languages.constraints import are_plain
from kyvsim.model.result import RuleStatus, Stage
from kyvsim.policy.cel_autogen import variants


def annotation_texts(
    programs: Mapping[str, Program], values: Sequence[Any], quote: str = "'"
) -> dict[str, str]:
    """Return the audit annotations that have a text; raises EvaluationError."""
    found: dict[str, str] = {}
    for key, program in programs.items():
        place = f"auditAnnotation {quote}{key}{quote}"
        try:
            text = native_text(evaluate(program, values))
        except EvaluationError as error:
            raise EvaluationError(f"failed to evaluate {place}: {error}") from None
        except CelError as error:
            raise EvaluationError(f"failed to convert {place} expression: {error}") from None
        if text:
            found[key] = text
    return found


# Validations with their messages, which several kinds have.
#
# Source of the rules: upstream pkg/cel/compiler (validation.go, compiler.go).


class PolicyValidation(NamedTuple):
    """One entry of `validations`."""

    test: Program
    message: str
    message_expression: Program | None

    def denial(self, index: int, values: Sequence[Any]) -> str:
        """Return the message if it is false."""
        message = self.message
        if self.message_expression is not None:
            try:
                message = str(evaluate(self.message_expression, values))
            except EvaluationError as error:
                message = f"failed to evaluate message expression: {error}"
        return message or f"CEL expression validation failed at index {index}"


def compile_validations(
    compiler: Compiler, spec: Mapping[str, Json]
) -> tuple[PolicyValidation, ...]:
    """Return the validations of a policy."""
    found: list[PolicyValidation] = []
    for index, entry in enumerate(spec.get("validations") or ()):
        place = ("spec", "validations", index)
        test = compiler.compile(entry["expression"], (*place, "expression"), BOOL)
        text = entry.get("messageExpression")
        computed = compiler.compile(text, (*place, "messageExpression"), STRING) if text else None
        if test is not None:
            found.append(PolicyValidation(test, entry.get("message") or "", computed))
    return tuple(found)


# What is wrong with a policy's expressions, in upstream's one text.
#
# Source of the form: k8s.io/apimachinery pkg/util/validation/field (Error), util/errors
# (Aggregate).

_SECTIONS = ("matchImageReferences", "matchConditions", "images", "variables", "attestors")
"""The fields that are compiled as a whole, in this order; only the first in error counts."""
_FIRST_ONLY = frozenset({"images", "attestors"})


def compile_error_text(problems: Sequence[ExpressionProblem], offsets: Mapping[str, int]) -> str:
    """Return upstream's message for the problems of one policy.

    `offsets` has for the name of a field how many entries upstream puts before those written.
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


_SPEC = ("spec",)


def _compile(part: PolicyPart) -> CompiledBody:
    spec, compiler = part.spec, part.compiler
    conditions = compiler.conditions(spec)
    variables = compiler.variables(spec)
    validations = compile_validations(compiler, spec)
    annotations = compiler.annotations(spec)
    request_values = RequestValues(part, variables)
    fails_closed = part.policy.facts.fails_closed

    def run(evaluation: Evaluation) -> Outcome:
        values = request_values.of(evaluation)
        try:
            if not all_hold(conditions, values):
                return skipped("skip")
        except EvaluationError as error:
            return VALIDATING.unevaluated(error) if fails_closed else skipped("skip")
        return _validated(validations, annotations, values)

    return run


def _validated(
    validations: Iterable[PolicyValidation],
    annotations: Mapping[str, Program],
    values: Sequence[Any],
) -> Outcome:
    for index, validation in enumerate(validations):
        place = {"cel.validationIndex": str(index)}
        try:
            if evaluate(validation.test, values) is True:
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
