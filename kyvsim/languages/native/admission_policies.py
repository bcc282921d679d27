"""Kubernetes' admission policies: the values for their expressions, and how each kind compiles."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from kyvsim.engine.compile.compiled import (
    CompiledBody,
    Evaluation,
    Outcome,
    nothing_checked,
    passed,
    skipped,
)
from kyvsim.engine.compile.tracing import APPLIED, Ends
from kyvsim.kubernetes.discovery import KindTable, plural, split_api_version
from kyvsim.kubernetes.objects import Json, object_key
from kyvsim.kubernetes.quantities import with_floats_where_exact
from kyvsim.languages.cel_expressions import (
    Compiler,
    EvaluationError,
    ExpressionProblem,
    NativeScope,
    NativeValidation,
    all_hold,
    for_conditions,
    native_values,
)
from kyvsim.languages.cel_request import namespace_object, request_value
from kyvsim.languages.mutations import Mutation, MutationError, compile_mutation, with_whole_results
from kyvsim.languages.tracing import ends_of_validations
from kyvsim.model.ports import Meter
from kyvsim.model.request import Operation, UserInfo
from kyvsim.model.result import RuleStatus, Stage
from kyvsim.model.tracing import NO_TRACE, TraceContext
from kyvsim.patch.nodes import same
from kyvsim.policy.cel_policy import CelPolicyNode
from kyvsim.schema.merge_types import DEDUCED, resolve


def request_variables(evaluation: Evaluation, kinds: KindTable) -> tuple[Json, Json]:
    """Return the values of `namespaceObject` and `request`.

    The request is always CREATE, by default from Kyverno's scanner.
    """
    request, external = evaluation.request, evaluation.scope.external
    namespace = namespace_object(request, external)
    if namespace is not None:
        meta = namespace["metadata"]
        if labels := external.labels_of(meta["name"]):
            namespace = {**namespace, "metadata": {**meta, "labels": labels}}
    key = object_key(request.subject)
    group, version = split_api_version(key.api_version)
    resource = {"group": group, "version": version, "resource": plural(group, key.kind, kinds)}
    user, nobody = request.user or UserInfo(), "system:kyverno:background-scan"
    return namespace, {
        **request_value(request),
        "operation": Operation.CREATE.value,
        "resource": resource,
        "requestResource": resource,
        "userInfo": {
            "username": user.username or nobody,
            "uid": user.uid or nobody,
            "groups": list(user.groups) or [nobody],
            **({"extra": dict(user.extra)} if user.extra else {}),
        },
    }


Compiled: TypeAlias = tuple[CompiledBody, tuple[ExpressionProblem, ...]]


class NativeContext(NamedTuple):
    """The context in which the expressions of a policy are compiled."""

    kinds: KindTable
    params: Sequence[Json]
    bound: bool = True
    """Whether a binding provides `params`; if not, it is null."""
    trace: TraceContext = NO_TRACE
    meter: Meter | None = None


class NativeKind(NamedTuple):
    """One kind."""

    name: str
    stage: Stage
    compile: Callable[[CelPolicyNode, NativeContext], Compiled]
    """Returns the body that validates or mutates an object."""
    ends: Callable[[CelPolicyNode], Ends]
    """Returns the possible outcomes of a policy, for coverage."""
    binding_property: str
    """The property of reports that names the binding."""
    tells_faults: bool = False
    """Whether a compile error is also an error result for each object."""
    answers_always: bool = False
    """Whether `test` has a response if the policy has no result."""


# MutatingAdmissionPolicy of Kubernetes, as Kyverno's command line evaluates it.
#
# Types are unknown: maps are merged, lists are replaced. Errors have no result there, and the
# object is unchanged; here they are reported besides the results. The variable `params` has a
# value if a binding provides parameters, and is null in match conditions.
#
# Source of the rules: upstream pkg/admissionpolicy/mutate.go.
_UNMET = skipped("match conditions aren't met")


def _compile_mutating(spec: CelPolicyNode, around: NativeContext) -> Compiled:
    scope = NativeScope(bool(around.params), authorizer=False, mutates=True)
    compiler = Compiler(scope, around.trace, around.meter)
    variables = compiler.variables(spec.variables)
    conditions = compiler.conditions(spec.match_conditions)
    mutations: list[Mutation] = []
    for node in spec.mutations:
        mutation = compile_mutation(compiler, node, lambda *_: resolve(DEDUCED))
        if mutation is not None:
            patches = node.field == "jsonPatch"
            mutations.append(with_whole_results(mutation) if patches else mutation)
    if not around.bound and "params" in compiler.reads:
        why = "undeclared reference to 'params' (in container ''): no binding provides parameters"
        undeclared = nothing_checked((why,))
        return (lambda _: undeclared), tuple(compiler.problems)
    # Upstream passes no parameters to conditions.
    nothing = [None] * len(around.params)

    def mutate(evaluation: Evaluation) -> Outcome:
        obj = evaluation.request.subject if evaluation.object is None else evaluation.object
        about = request_variables(evaluation, around.kinds)
        seen = native_values(obj, None, *about, variables, *nothing)
        try:
            if not all_hold(conditions, for_conditions(seen)):
                return _UNMET
        except EvaluationError as error:
            # Upstream skips an object if it cannot determine whether a policy matches it.
            unheard_error = nothing_checked((str(error),))._replace(status=RuleStatus.ERROR)
            return _UNMET if spec.ignores_failures else unheard_error
        after, hints = obj, list[str]()
        try:
            for mutation in mutations:
                values = native_values(after, None, *about, variables, *around.params)
                after = mutation(values, after, hints)
        except (EvaluationError, MutationError) as error:
            return nothing_checked((str(error),))
        done = passed("mutation is successfully applied")._replace(hints=tuple(hints))
        after = with_floats_where_exact(after)
        return done if same(after, obj) else done._replace(object=after)

    return mutate, tuple(compiler.problems)


MUTATING = NativeKind(
    "MutatingAdmissionPolicy",
    Stage.NATIVE_MUTATE,
    _compile_mutating,
    lambda _: APPLIED,
    binding_property="mapBinding",
)

# ValidatingAdmissionPolicy of Kubernetes, as Kyverno's command line evaluates it.
#
# Each request is a CREATE request. The first validation that cannot be evaluated or that
# rejects the object decides; `failurePolicy` applies only to match conditions.
#
# Source of the rules: upstream pkg/admissionpolicy/validate.go.


def _compile_validating(spec: CelPolicyNode, around: NativeContext) -> Compiled:
    kinds, params = around.kinds, around.params
    compiler = Compiler(NativeScope(bool(params), authorizer=False), around.trace, around.meter)
    variables = compiler.variables(spec.variables)
    conditions = compiler.conditions(spec.match_conditions)
    policy = NativeValidation(variables, conditions, compiler.validations(spec.validations))
    # Audit annotations do not affect results, but a cluster rejects the policy.
    compiler.annotations(spec.audit_annotations)

    def run(evaluation: Evaluation) -> Outcome:
        obj = evaluation.request.subject if evaluation.object is None else evaluation.object
        about = request_variables(evaluation, kinds)
        values = native_values(obj, None, *about, policy.variables, *params)
        try:
            if not all_hold(policy.conditions, for_conditions(values)):
                return _UNMET
        except EvaluationError as error:
            return _UNMET if spec.ignores_failures else Outcome(RuleStatus.ERROR, str(error))
        try:
            denial = policy.denial(values)
        except EvaluationError as error:
            return Outcome(RuleStatus.ERROR, str(error))
        return passed("") if denial is None else Outcome(RuleStatus.FAIL, denial)

    def order(problem: ExpressionProblem) -> tuple[bool, bool]:
        """Sort messages after all expressions, and audit annotations last."""
        return problem.path[1] == "auditAnnotations", problem.path[-1] == "messageExpression"

    return run, tuple(sorted(compiler.problems, key=order))


VALIDATING = NativeKind(
    "ValidatingAdmissionPolicy",
    Stage.NATIVE_VALIDATE,
    _compile_validating,
    ends_of_validations,
    binding_property="binding",
    tells_faults=True,
    answers_always=True,
)
