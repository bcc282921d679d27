"""Expressions of Kubernetes' admission policies with the values that they see, and their kinds.

Source of the rules: upstream pkg/admissionpolicy over k8s.io/apiserver
pkg/admission/plugin/cel (compile.go, composition.go, condition.go).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from kyvsim.cel import CelBudgetError, CelError, CompileError, Program, compile_expression
from kyvsim.cel.kubernetes import VARIABLES, VARIABLES_TYPE, declared_type, kubernetes_environment
from kyvsim.cel.program import LazyVariables, composited
from kyvsim.cel.types import BOOL, DYN, CelType
from kyvsim.engine.compile.compiled import CompiledBody, Evaluation
from kyvsim.engine.compile.tracing import Ends
from kyvsim.kubernetes.discovery import KindTable, plural, split_api_version
from kyvsim.kubernetes.objects import Json, object_key
from kyvsim.languages.cel_request import namespace_object, request_value
from kyvsim.languages.tracing import with_coverage
from kyvsim.model.policy import Policy
from kyvsim.model.ports import Meter
from kyvsim.model.request import Operation, UserInfo
from kyvsim.model.result import Stage
from kyvsim.model.source import Path
from kyvsim.model.tracing import NO_TRACE, TraceContext

_NOBODY = "system:kyverno:background-scan"
_OBJECT, _VARIABLES, _NAMESPACE = 0, 4, 2


class ExpressionProblem(NamedTuple):
    """An expression that cannot be compiled."""

    path: Path
    message: str


class EvaluationError(Exception):
    """An expression that cannot be evaluated."""


class Compiler:
    """Compiles the expressions of one policy, and keeps what is wrong with them."""

    def __init__(
        self, *, params: bool, trace: TraceContext = NO_TRACE, meter: Meter | None = None
    ) -> None:
        self.trace = trace
        self.meter = meter
        self.env = kubernetes_environment(params=params, mutates=True)
        self.problems: list[ExpressionProblem] = []
        self.reads_params = False
        """Whether some expression looks at the parameters."""

    def compile(self, text: str, path: Path, wanted: CelType = DYN) -> Program | None:
        """Return a program, or None with a problem noted."""
        try:
            program = compile_expression(text, self.env, wanted)._replace(meter=self.meter)
            self.reads_params = self.reads_params or "params" in program.reads
            return with_coverage(program, self.trace.at(*path[1:]), decides=wanted == BOOL)
        except CompileError as error:
            self.problems.append(ExpressionProblem(path, error.listing or str(error)))
            return None

    def variables(self, entries: Iterable[Json], path: Path) -> dict[str, Program]:
        """Return the programs of variables by name; each may use those above it."""
        found: dict[str, Program] = {}
        types: dict[str, CelType] = {}
        for index, entry in enumerate(entries):
            program = self.compile(entry["expression"], (*path, index, "expression"))
            types[entry["name"]] = declared_type(program.type) if program else DYN
            self.env = self.env.with_fields(VARIABLES, dict(types))
            if program:
                found[entry["name"]] = program
        return found

    def conditions(self, entries: Iterable[Json], path: Path) -> tuple[Program, ...]:
        """Return the programs of conditions."""
        programs = [
            self.compile(entry["expression"], (*path, index, "expression"), BOOL)
            for index, entry in enumerate(entries)
        ]
        return tuple(program for program in programs if program)


class Asked(NamedTuple):
    """What a request is about, besides its object."""

    request: Json
    """The value of `request`."""
    namespace: Json
    """The value of `namespaceObject`."""


def values_of(
    obj: Json, asked: Asked, variables: Mapping[str, Program], params: Sequence[Json]
) -> list[Any]:
    """Return the values of the environment's variables, in their order, for an object."""
    values: list[Any] = [
        obj,
        None,
        asked.namespace,
        asked.request,
        None,
        *params,
    ]
    values[_VARIABLES] = LazyVariables(VARIABLES_TYPE, variables, values, composited)
    return values


def for_conditions(values: Sequence[Any]) -> list[Any]:
    """Return the values as conditions see them: of the namespace they know nothing."""
    return [*values[:_NAMESPACE], None, *values[_NAMESPACE + 1 :]]


def asked_by(evaluation: Evaluation, kinds: KindTable) -> Asked:
    """Return what expressions see of a request: each creates, and nobody is Kyverno's scanner."""
    return Asked(_request(evaluation, kinds), _namespace(evaluation))


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


def evaluate(program: Program, values: Sequence[Any]) -> Any:
    """Return the value of a program; raises EvaluationError."""
    try:
        return program.evaluate(values)
    except (CelError, CelBudgetError) as error:
        raise EvaluationError(f"expression '{program.text}' resulted in error: {error}") from None


def all_hold(conditions: Iterable[Program], values: Sequence[Any]) -> bool:
    """Return whether every condition holds; raises EvaluationError unless one is false."""
    faults: list[str] = []
    for condition in conditions:
        try:
            if evaluate(condition, values) is not True:
                return False
        except EvaluationError as error:
            faults.append(str(error))
    if faults:
        raise EvaluationError(", ".join(faults))
    return True


Compiled: TypeAlias = tuple[CompiledBody, tuple[ExpressionProblem, ...]]


class Surroundings(NamedTuple):
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
    compile: Callable[[Policy, Surroundings], Compiled]
    """Returns what judges or changes an object."""
    ends: Ends
    """What can come of a policy, as coverage counts it."""
    binding_property: str
    """Under which name reports tell the binding."""
    tells_faults: bool = False
    """Whether what cannot be compiled is an error of each object, besides being told."""
    answers_always: bool = False
    """Whether tests see an answer where it has nothing to say."""
