"""Expressions of Kubernetes' admission policies with the values that they see, and their kinds.

Source of the rules: upstream pkg/admissionpolicy over k8s.io/apiserver
pkg/admission/plugin/cel (compile.go, composition.go, condition.go).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from kyvsim.cel import Program
from kyvsim.cel.kubernetes import VARIABLES_TYPE
from kyvsim.cel.program import LazyVariables, composited
from kyvsim.engine.compile.compiled import CompiledBody, Evaluation
from kyvsim.engine.compile.tracing import Ends
from kyvsim.kubernetes.discovery import KindTable, plural, split_api_version
from kyvsim.kubernetes.objects import Json, object_key
from kyvsim.languages.cel_expressions import ExpressionProblem
from kyvsim.languages.cel_request import namespace_object, request_value
from kyvsim.model.policy import Policy
from kyvsim.model.ports import Meter
from kyvsim.model.request import Operation, UserInfo
from kyvsim.model.result import Stage
from kyvsim.model.tracing import NO_TRACE, TraceContext

_NOBODY = "system:kyverno:background-scan"
_OBJECT, _VARIABLES, _NAMESPACE = 0, 4, 2


class RequestVariables(NamedTuple):
    """What a request is about, besides its object."""

    request: Json
    """The value of `request`."""
    namespace: Json
    """The value of `namespaceObject`."""


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
    """The value of `params`, or nothing."""
    bound: bool = True
    """Whether `params` is what a binding gives, and not null for want of one that does."""
    trace: TraceContext = NO_TRACE
    meter: Meter | None = None
    """Counts what they take."""


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
