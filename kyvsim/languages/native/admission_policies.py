"""ValidatingAdmissionPolicy and MutatingAdmissionPolicy: what each compiles to."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from kyvsim.cel import Program
from kyvsim.cel.kubernetes import VARIABLES_TYPE, kubernetes_environment
from kyvsim.cel.libraries.admission import JSON_PATCH, OBJECT
from kyvsim.cel.program import LazyVariables
from kyvsim.cel.types import NULL, STRING, list_of
from kyvsim.engine.compile.compiled import Evaluation, Outcome, nothing_checked, passed, skipped
from kyvsim.engine.compile.tracing import APPLIED, CHECKED
from kyvsim.kubernetes.discovery import KindTable
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.quantities import with_floats_where_exact, with_whole_numbers
from kyvsim.languages.cel_expressions import (
    Compiler,
    EvaluationError,
    ExpressionProblem,
    all_hold,
    evaluate,
)
from kyvsim.languages.cel_validator import (
    CompiledExpression,
    Declared,
    Validator,
    compile_validator,
    compiled,
    variable_value,
)
from kyvsim.languages.mutations import MutationError, merge_object, patch_object
from kyvsim.languages.native.expressions import (
    Compiled,
    NativeContext,
    NativeKind,
    RequestVariables,
    for_conditions,
    request_variables,
    values_of,
)
from kyvsim.languages.tracing import with_coverage
from kyvsim.model.policy import Policy
from kyvsim.model.result import RuleStatus, Stage
from kyvsim.model.source import Path
from kyvsim.model.tracing import TraceContext
from kyvsim.patch.merge_types import DEDUCED, Type, resolve
from kyvsim.patch.nodes import same

# MutatingAdmissionPolicy of Kubernetes, as Kyverno's command line evaluates it.
#
# Nothing is known of types: maps merge, lists are replaced. What fails has no result there, and
# the object stays as it is; here it is reported beside the results. The variable `params` is known
# where a binding gives parameters, and is null in match conditions.
#
# Source of the rules: upstream pkg/admissionpolicy/mutate.go.

_SPEC = ("spec",)
_UNDECLARED = "undeclared reference to 'params' (in container ''): no binding gives parameters"
_UNMET = skipped("match conditions aren't met")
_Mutation: TypeAlias = Callable[[Sequence[Any], Json], Json]


class _MutatingPrograms(NamedTuple):
    """A policy as programs."""

    variables: Mapping[str, Program]
    conditions: tuple[Program, ...]
    mutations: tuple[_Mutation, ...]
    ignores_faults: bool
    """Whether conditions that cannot be evaluated count as not met."""
    kinds: KindTable
    params: Sequence[Json]
    """The value of `params`, where the policy has parameters."""


def _compile_mutating(policy: Policy, around: NativeContext) -> Compiled:
    spec = policy.spec
    compiler = Compiler(
        kubernetes_environment(params=bool(around.params), mutates=True),
        around.trace,
        around.meter,
        native=True,
    )
    variables = compiler.variables(spec)
    conditions = compiler.conditions(spec)
    mutations = [
        mutation
        for index, entry in enumerate(spec.get("mutations") or ())
        if (mutation := _mutation(compiler, entry, index)) is not None
    ]
    if not around.bound and "params" in compiler.reads:
        undeclared = nothing_checked((_UNDECLARED,))
        return (lambda _: undeclared), tuple(compiler.problems)
    ignores = spec.get("failurePolicy") == "Ignore"
    compiled = _MutatingPrograms(
        variables=variables,
        conditions=conditions,
        mutations=tuple(mutations),
        ignores_faults=ignores,
        kinds=around.kinds,
        params=around.params,
    )
    return (lambda evaluation: _mutate(compiled, evaluation)), tuple(compiler.problems)


def _mutation(compiler: Compiler, entry: Json, index: int) -> _Mutation | None:
    place = (*_SPEC, "mutations", index)
    field, wanted, mutate = (
        ("jsonPatch", list_of(JSON_PATCH), _json_patch)
        if entry["patchType"] == "JSONPatch"
        else ("applyConfiguration", OBJECT, _merge)
    )
    written = entry.get(field)
    if written is None:
        return None
    program = compiler.compile(
        written.get("expression") or "", (*place, field, "expression"), wanted
    )
    return program and mutate(program)


def _json_patch(program: Program) -> _Mutation:
    return lambda values, obj: with_whole_numbers(
        patch_object(evaluate(program, values, native=True), obj)
    )


def _merge(program: Program) -> _Mutation:
    return lambda values, obj: merge_object(
        evaluate(program, values, native=True), obj, _no_types, replaces=False
    )


def _no_types(_api_version: str, _kind: str) -> Type:
    return resolve(DEDUCED)


def _mutate(policy: _MutatingPrograms, evaluation: Evaluation) -> Outcome:
    obj = evaluation.request.subject if evaluation.object is None else evaluation.object
    request = request_variables(evaluation, policy.kinds)
    values = values_of(obj, request, policy.variables, policy.params)
    try:
        if not all_hold(
            policy.conditions, _values_of_conditions(policy, obj, request), native=True
        ):
            return _UNMET
    except EvaluationError as error:
        # Upstream skips an object if it cannot determine whether a policy matches it.
        unheard_error = nothing_checked((str(error),))._replace(status=RuleStatus.ERROR)
        return _UNMET if policy.ignores_faults else unheard_error
    after = obj
    try:
        for mutation in policy.mutations:
            after = mutation(values, after)
            values = values_of(after, request, policy.variables, policy.params)
    except (EvaluationError, MutationError) as error:
        return nothing_checked((str(error),))
    done = passed("mutation is successfully applied")
    after = with_floats_where_exact(after)
    return done if same(after, obj) else done._replace(object=after)


def _values_of_conditions(
    policy: _MutatingPrograms, obj: Json, request: RequestVariables
) -> list[Any]:
    """Return what conditions see: upstream gives them no parameters, given or not."""
    nothing = [None] * len(policy.params)
    return for_conditions(values_of(obj, request, policy.variables, nothing))


MUTATING = NativeKind(
    "MutatingAdmissionPolicy",
    Stage.NATIVE_MUTATE,
    _compile_mutating,
    APPLIED,
    binding_property="mapBinding",
)

# ValidatingAdmissionPolicy of Kubernetes, as Kyverno's command line evaluates it.
#
# Each object is one that is created. The first validation that cannot be evaluated or that
# refuses the object decides; `failurePolicy` counts for match conditions only.
#
# Source of the rules: upstream pkg/admissionpolicy/validate.go.

_PASSED = passed("")
_VARIABLES = 4


def _compile_validating(policy: Policy, around: NativeContext) -> Compiled:
    spec, kinds, params = policy.spec, around.kinds, around.params
    validator = compile_validator(
        spec.get("variables") or (),
        spec.get("matchConditions") or (),
        spec.get("validations") or (),
        Declared(bool(params), authorizer=False),
    )
    validator = _with_coverage(validator.counted(around.meter), around.trace)
    ignores_faults = spec.get("failurePolicy") == "Ignore"

    def run(evaluation: Evaluation) -> Outcome:
        obj = evaluation.request.subject if evaluation.object is None else evaluation.object
        values = values_of(obj, request_variables(evaluation, kinds), {}, params)
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


def _with_coverage(validator: Validator, trace: TraceContext) -> Validator:
    """Return the validator with expressions that report their outcomes for coverage."""

    def covered(
        one: CompiledExpression, *way: str | int, decides: bool = True
    ) -> CompiledExpression:
        if one.program is None:
            return one
        program = with_coverage(one.program, trace.at(*way, "expression"), decides=decides)
        return one._replace(program=program)

    variables = {
        name: covered(one, "variables", index, decides=False)
        for index, (name, one) in enumerate(validator.variables.items())
    }
    conditions = (
        covered(one, "matchConditions", index) for index, one in enumerate(validator.conditions)
    )
    validations = (
        one._replace(test=covered(one.test, "validations", index))
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
            yield ExpressionProblem(
                path, one.text, one.problem.removeprefix("compilation failed: ")
            )


def audit_annotations(
    spec: Json, validator: Validator
) -> Iterator[tuple[Path, CompiledExpression]]:
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
            one = CompiledExpression(one.text, None, problem)
        yield path, one


VALIDATING = NativeKind(
    "ValidatingAdmissionPolicy",
    Stage.NATIVE_VALIDATE,
    _compile_validating,
    CHECKED,
    binding_property="binding",
    tells_faults=True,
    answers_always=True,
)
