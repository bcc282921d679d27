"""Kubernetes' admission policies: what their expressions see, and what each kind compiles to."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from kyvsim.cel import Program
from kyvsim.cel.kubernetes import VARIABLES_TYPE, kubernetes_environment
from kyvsim.cel.libraries.admission import JSON_PATCH, OBJECT
from kyvsim.cel.program import LazyVariables, composited
from kyvsim.cel.types import NULL, STRING, list_of
from kyvsim.engine.compile.compiled import (
    CompiledBody,
    Evaluation,
    Outcome,
    nothing_checked,
    passed,
    skipped,
)
from kyvsim.engine.compile.tracing import APPLIED, CHECKED, Ends
from kyvsim.kubernetes.discovery import KindTable, plural, split_api_version
from kyvsim.kubernetes.objects import Json, Path, object_key
from kyvsim.kubernetes.quantities import with_floats_where_exact, with_whole_numbers
from kyvsim.languages.cel_expressions import (
    Compiler,
    EvaluationError,
    ExpressionProblem,
    all_hold,
    evaluate,
)
from kyvsim.languages.cel_request import namespace_object, request_value
from kyvsim.languages.cel_validator import (
    CompiledExpression,
    Declared,
    Validator,
    compile_validator,
    compiled,
    variable_value,
)
from kyvsim.languages.mutations import MutationError, merge_object, patch_object
from kyvsim.languages.tracing import with_coverage
from kyvsim.model.policy import Policy
from kyvsim.model.ports import Meter
from kyvsim.model.request import Operation, UserInfo
from kyvsim.model.result import RuleStatus, Stage
from kyvsim.model.tracing import NO_TRACE, TraceContext
from kyvsim.patch.merge_types import DEDUCED, Type, resolve
from kyvsim.patch.nodes import same
from kyvsim.policy.cel import read_expressions, read_named_expressions

_NOBODY = "system:kyverno:background-scan"
_VARIABLES, _NAMESPACE = 4, 2

_SPEC: Path = ("spec",)


class RequestVariables(NamedTuple):
    """What a request is about, besides its object."""

    request: Json
    namespace: Json


def values_of(
    obj: Json, request: RequestVariables, variables: Mapping[str, Program], params: Sequence[Json]
) -> list[Any]:
    """Return the values of the environment's variables, in their order, for an object."""
    values: list[Any] = [
        obj,
        None,
        request.namespace,
        request.request,
        None,
        *params,
    ]
    values[_VARIABLES] = LazyVariables(VARIABLES_TYPE, variables, values, composited)
    return values


def for_conditions(values: Sequence[Any]) -> list[Any]:
    """Return the values as conditions see them: of the namespace they know nothing."""
    return [*values[:_NAMESPACE], None, *values[_NAMESPACE + 1 :]]


def request_variables(evaluation: Evaluation, kinds: KindTable) -> RequestVariables:
    """Return the variables of a request: always CREATE, by default by Kyverno's scanner."""
    return RequestVariables(_request(evaluation, kinds), _namespace(evaluation))


def _request(evaluation: Evaluation, kinds: KindTable) -> dict[str, Json]:
    request = evaluation.request
    key = object_key(request.subject)
    group, version = split_api_version(key.api_version)
    resource = {"group": group, "version": version, "resource": plural(group, key.kind, kinds)}
    user = request.user or UserInfo()
    return {
        **request_value(request),
        "operation": Operation.CREATE.value,
        "resource": resource,
        "requestResource": resource,
        "userInfo": {
            "username": user.username or _NOBODY,
            "uid": user.uid or _NOBODY,
            "groups": list(user.groups) or [_NOBODY],
            **({"extra": dict(user.extra)} if user.extra else {}),
        },
    }


def _namespace(evaluation: Evaluation) -> Json:
    external = evaluation.scope.external
    found = namespace_object(evaluation.request, external)
    if found is None:
        return None
    labels = external.labels_of(found["metadata"]["name"])
    return {**found, "metadata": {**found["metadata"], "labels": labels}} if labels else found


Compiled: TypeAlias = tuple[CompiledBody, tuple[ExpressionProblem, ...]]


class NativeContext(NamedTuple):
    """What the expressions of a policy are compiled for."""

    kinds: KindTable
    params: Sequence[Json]
    bound: bool = True
    """Whether `params` is what a binding gives, and not null for want of one that does."""
    trace: TraceContext = NO_TRACE
    meter: Meter | None = None


class NativeKind(NamedTuple):
    """One kind."""

    name: str
    stage: Stage
    compile: Callable[[Policy, NativeContext], Compiled]
    """Returns what judges or changes an object."""
    ends: Ends
    """What can come of a policy, as coverage counts it."""
    binding_property: str
    """The property of reports that names the binding."""
    tells_faults: bool = False
    """Whether a compile error is also an error result for each object."""
    answers_always: bool = False
    """Whether `test` sees a response if the policy has no result."""


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
    ignores_faults = spec.get("failurePolicy") == "Ignore"
    # Upstream gives conditions no parameters, given or not.
    nothing = [None] * len(around.params)

    def mutate(evaluation: Evaluation) -> Outcome:
        obj = evaluation.request.subject if evaluation.object is None else evaluation.object
        request = request_variables(evaluation, around.kinds)
        values = values_of(obj, request, variables, around.params)
        seen = for_conditions(values_of(obj, request, variables, nothing))
        try:
            if not all_hold(conditions, seen, native=True):
                return _UNMET
        except EvaluationError as error:
            # Upstream skips an object if it cannot determine whether a policy matches it.
            unheard_error = nothing_checked((str(error),))._replace(status=RuleStatus.ERROR)
            return _UNMET if ignores_faults else unheard_error
        after = obj
        try:
            for mutation in mutations:
                after = mutation(values, after)
                values = values_of(after, request, variables, around.params)
        except (EvaluationError, MutationError) as error:
            return nothing_checked((str(error),))
        done = passed("mutation is successfully applied")
        after = with_floats_where_exact(after)
        return done if same(after, obj) else done._replace(object=after)

    return mutate, tuple(compiler.problems)


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


def _compile_validating(policy: Policy, around: NativeContext) -> Compiled:
    spec, kinds, params = policy.spec, around.kinds, around.params
    validator = compile_validator(
        read_named_expressions(spec, "variables", _SPEC),
        read_named_expressions(spec, "matchConditions", _SPEC),
        read_expressions(spec, "validations", _SPEC),
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
