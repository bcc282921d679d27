"""ValidatingAdmissionPolicy of Kubernetes, as Kyverno's command line evaluates it.

Each object is one that is created. The first validation that cannot be evaluated or that refuses
the object decides; `failurePolicy` counts for match conditions only.

Source of the rules: upstream pkg/admissionpolicy/validate.go.
"""

from collections.abc import Iterator

from kyvsim.cel.kubernetes import VARIABLES_TYPE
from kyvsim.cel.program import LazyVariables
from kyvsim.cel.types import NULL, STRING
from kyvsim.engine.compile.compiled import Evaluation, Outcome, passed, skipped
from kyvsim.engine.compile.followed import CHECKED
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.cel_validator import (
    Declared,
    Expression,
    Validator,
    compile_validator,
    compiled,
    variable_value,
)
from kyvsim.languages.native.expressions import ExpressionProblem, asked_by, values_of
from kyvsim.languages.native.kind import Compiled, NativeKind, Surroundings
from kyvsim.languages.probed_expressions import told_program
from kyvsim.model.policy import Policy
from kyvsim.model.probe import Probe
from kyvsim.model.result import RuleStatus, Stage
from kyvsim.model.source import Path

_PASSED = passed("")
_UNMET = skipped("match conditions aren't met")
_VARIABLES = 4


def _compile(policy: Policy, around: Surroundings) -> Compiled:
    spec, kinds, params = policy.spec, around.kinds, around.params
    validator = compile_validator(
        spec.get("variables") or (),
        spec.get("matchConditions") or (),
        spec.get("validations") or (),
        Declared(bool(params), authorizer=False),
    )
    validator = _probed(validator.counted(around.meter), around.probe)
    ignores_faults = spec.get("failurePolicy") == "Ignore"

    def run(evaluation: Evaluation) -> Outcome:
        obj = evaluation.request.subject if evaluation.object is None else evaluation.object
        values = values_of(obj, asked_by(evaluation, kinds), {}, params)
        values[_VARIABLES] = LazyVariables(
            VARIABLES_TYPE, validator.variables, values, variable_value
        )
        unmet = validator.unmet(values)
        if unmet is not None:
            return _faulty(unmet) if unmet and not ignores_faults else _UNMET
        refusal = validator.refusal(values)
        if refusal is None:
            return _PASSED
        if refusal.is_fault:
            return _faulty(refusal.message)
        return Outcome(RuleStatus.FAIL, refusal.message)

    return run, tuple(_problems(spec, validator))


def _probed(validator: Validator, probe: Probe) -> Validator:
    """Return the validator with expressions that tell their outcomes."""

    def told(one: Expression, *way: str | int, decides: bool = True) -> Expression:
        if one.program is None:
            return one
        program = told_program(one.program, probe.at(*way, "expression"), decides=decides)
        return one._replace(program=program)

    variables = {
        name: told(one, "variables", index, decides=False)
        for index, (name, one) in enumerate(validator.variables.items())
    }
    conditions = (
        told(one, "matchConditions", index) for index, one in enumerate(validator.conditions)
    )
    validations = (
        one._replace(test=told(one.test, "validations", index))
        for index, one in enumerate(validator.validations)
    )
    return Validator(variables, tuple(conditions), tuple(validations))


def _faulty(message: str) -> Outcome:
    return Outcome(RuleStatus.ERROR, message)


def _problems(spec: Json, validator: Validator) -> Iterator[ExpressionProblem]:
    """Yield the expressions that cannot be compiled.

    Audit annotations make no difference to verdicts, but a cluster refuses the policy.
    """
    placed = ((("spec", *path), one) for path, one in validator.placed())
    for path, one in (*placed, *audit_annotations(spec, validator)):
        if one.program is None:
            yield ExpressionProblem(path, one.problem.removeprefix("compilation failed: "))


def audit_annotations(spec: Json, validator: Validator) -> Iterator[tuple[Path, Expression]]:
    """Yield the expressions of a policy's audit annotations, compiled, and where they are.

    An API server takes a string or null only, and no value whose type is open, such as a field of
    the object.
    upstream: k8s.io/kubernetes pkg/apis/admissionregistration/validation (validateAuditAnnotation),
    k8s.io/apiserver pkg/admission/plugin/policy/validating/interface.go `AuditAnnotationCondition`
    """
    scope = Declared(params=bool(spec.get("paramKind")), authorizer=False)
    for name, variable in validator.variables.items():
        scope = scope.with_variable(name, variable.program)
    for index, entry in enumerate(spec.get("auditAnnotations") or ()):
        path = ("spec", "auditAnnotations", index, "valueExpression")
        one = compiled(entry["valueExpression"], scope)
        if one.program is not None and one.program.type not in {STRING, NULL}:
            problem = f"must evaluate to one of [string null_type] but got {one.program.type}"
            one = Expression(one.text, None, problem)
        yield path, one


KIND = NativeKind(
    "ValidatingAdmissionPolicy",
    Stage.NATIVE_VALIDATE,
    _compile,
    CHECKED,
    binding_property="binding",
    tells_faults=True,
    answers_always=True,
)
