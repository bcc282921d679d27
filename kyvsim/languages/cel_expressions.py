"""Expressions of policies in CEL: compiled with their paths, and evaluated with upstream's errors.

Expressions that an API server compiles (admission policies of Kubernetes, and `validate.cel` of
ClusterPolicies) differ little from those of Kyverno's kinds: their compiler has a `NativeScope`
instead of a `KyvernoScope`, and they are native. An expression that cannot be compiled is stored
with the reason, since some callers evaluate the others nevertheless.

Source of the rules: upstream pkg/cel/compiler (matchconditions.go, variables.go, validation.go);
for native ones k8s.io/apiserver pkg/admission/plugin/cel (compile.go, composition.go),
pkg/admission/plugin/policy/validating/validator.go, as upstream's pkg/admissionpolicy calls it.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from kyvsim.cel import (
    CelBudgetError,
    CelError,
    CompileError,
    Environment,
    Program,
    compile_expression,
)
from kyvsim.cel import kubernetes as native
from kyvsim.cel.program import LazyVariables, composited, plainly
from kyvsim.cel.types import BOOL, DYN, NULL, STRING, CelType, struct
from kyvsim.kubernetes.go_text import quote
from kyvsim.kubernetes.objects import KubernetesObject, Path
from kyvsim.languages.tracing import traced_program
from kyvsim.model.ports import Meter
from kyvsim.model.source import Document
from kyvsim.model.tracing import NO_TRACE, TraceContext
from kyvsim.policy.cel_policy import CelExpression
from kyvsim.policy.tree import NamedExpression

_KYVERNO_VARIABLES = "kyverno.variables"
"""The type of `variables` of `kyverno.environments`, which native policies do not load."""
_LONGEST_MESSAGE = 5 * 1024


class ExpressionProblem(NamedTuple):
    """An expression that cannot be compiled."""

    path: Path
    text: str
    message: str
    """Upstream's message, with the lines that mark the position in the expression."""
    shown: tuple[Path, str] | None = None
    """The field and the value that upstream reports instead."""
    variant: str = ""
    """The variant for controllers that contains it; "" for the policy as written."""
    document: Document | None = None
    """The document that contains it, if not the policy's."""

    @property
    def detail(self) -> str:
        """The message as diagnostics show it."""
        return self.message.removeprefix("compilation failed: ")


class EvaluationError(Exception):
    """An expression that cannot be evaluated; the text is upstream's."""


class CompiledExpression(NamedTuple):
    """An expression with its program, or with the reason why it has none."""

    text: str
    program: Program | None
    problem: str = ""
    is_native: bool = False
    """Whether errors name the expression, as those of an API server do."""

    @property
    def reads(self) -> frozenset[str]:
        """The variables of the environment that it reads."""
        return self.program.reads if self.program else frozenset()

    def value(self, values: Sequence[object]) -> Any:
        """Return the expression's value; raises EvaluationError."""
        if self.program is None:
            raise EvaluationError(f"compilation error: {self.problem}")
        try:
            return self.program.evaluate(values)
        except (CelError, CelBudgetError) as error:
            start = f"expression '{self.text}' resulted in error: " if self.is_native else ""
            raise EvaluationError(f"{start}{error}") from None

    def traced(self, trace: TraceContext, *, decides: bool) -> "CompiledExpression":
        """Return the expression with a program that reports to a tracer."""
        program = self.program and traced_program(self.program, trace, decides=decides)
        return self._replace(program=program)


class NativeScope(NamedTuple):
    """What an expression of an API server may use in addition to the common environment."""

    params: bool
    authorizer: bool = True
    mutates: bool = False
    variables: tuple[tuple[str, CelType], ...] = ()

    @property
    def env(self) -> Environment:
        """The environment for this scope."""
        env = native.kubernetes_environment(
            params=self.params, authorizer=self.authorizer, mutates=self.mutates
        )
        return env.with_fields(native.VARIABLES, dict(self.variables)) if self.variables else env

    def with_variable(self, name: str, program: Program | None) -> "NativeScope":
        """Return the scope with an additional variable; without program its type is dynamic."""
        found = native.declared_type(program.type) if program else DYN
        return self._replace(variables=(*self.variables, (name, found)))


class KyvernoScope(NamedTuple):
    """What an expression of one of Kyverno's kinds may use."""

    env: Environment

    def with_variable(self, name: str, program: Program | None) -> "KyvernoScope":
        """Return the scope with an additional variable; without program its type is dynamic."""
        return KyvernoScope(_with_variable(self.env, name, program.type if program else DYN))


@lru_cache(maxsize=1024)
def _with_variable(env: Environment, name: str, kind: CelType) -> Environment:
    fields = {**env.fields.get(_KYVERNO_VARIABLES, {}), name: kind}
    return env.with_fields(_KYVERNO_VARIABLES, fields)


@lru_cache(maxsize=1024)
def _program(
    text: str, scope: NativeScope | KyvernoScope, wanted: CelType
) -> Program | CompileError:
    """Return the program, cached: for checks, for evaluations, and to explain failures."""
    try:
        return compile_expression(text, scope.env, wanted)
    except CompileError as error:
        return error


class Validation(NamedTuple):
    """One entry of `validations`."""

    test: CompiledExpression
    message: str
    message_expression: CompiledExpression | None

    def denial(self, index: int, values: Sequence[object]) -> str:
        """Return the message if it is false; `index` is its position among the validations."""
        text = self.message
        if self.test.is_native:
            # An API server ignores messages without a value, with several lines, or too long.
            try:
                found = self.message_expression and self.message_expression.value(values)
            except EvaluationError:
                found = None
            computed = found.strip() if found.__class__ is str else ""
            if "\n" in computed or len(computed.encode()) > _LONGEST_MESSAGE:
                computed = ""
            return computed or text.strip() or f"failed expression: {self.test.text.strip()}"
        if self.message_expression is not None:
            try:
                text = str(self.message_expression.value(values))
            except EvaluationError as error:
                text = f"failed to evaluate message expression: {error}"
        return text or f"CEL expression validation failed at index {index}"


class Compiler:
    """Compiles the expressions of one policy, and records their problems."""

    def __init__(
        self,
        scope: NativeScope | KyvernoScope,
        trace: TraceContext = NO_TRACE,
        meter: Meter | None = None,
    ) -> None:
        """Set up for expressions that `trace` traces and whose steps `meter` counts."""
        self.scope = scope
        self.trace = trace
        self.meter = meter
        self.problems: list[ExpressionProblem] = []
        self.reads: set[str] = set()
        """The variables of the environment that the expressions so far read."""

    @property
    def _is_native(self) -> bool:
        return isinstance(self.scope, NativeScope)

    @property
    def env(self) -> Environment:
        """The environment of the next expression."""
        return self.scope.env

    def program(self, text: str, wanted: CelType = DYN) -> CompiledExpression:
        """Return a compiled expression; raises CompileError, and records nothing."""
        program = _program(text, self.scope, wanted)
        if isinstance(program, CompileError):
            raise program
        self.reads |= program.reads
        program = program._replace(meter=self.meter)
        return CompiledExpression(text, program, is_native=self._is_native)

    def compile(
        self,
        text: str,
        path: Path,
        wanted: CelType = DYN,
        *,
        shown: tuple[Path, str] | None = None,
        decides: bool | None = None,
        counts: bool = True,
    ) -> CompiledExpression:
        """Return a compiled expression; if it cannot be compiled, its problem is recorded.

        By default, boolean expressions decide something. One that `counts` is traced and counts for
        coverage.
        """
        try:
            found = self.program(text, wanted)
        except CompileError as error:
            message = str(error)
            if not self._is_native:
                message = error.listing or f"output is expected to be of type {wanted.name}"
            return self.reject(text, path, message, shown)
        decides = wanted == BOOL if decides is None else decides
        return found.traced(self.trace.to(path), decides=decides) if counts else found

    def reject(
        self, text: str, path: Path, message: str, shown: tuple[Path, str] | None = None
    ) -> CompiledExpression:
        """Return an expression without a program, and record its problem."""
        self.problems.append(ExpressionProblem(path, text, message, shown))
        return CompiledExpression(text, None, message, self._is_native)

    def variables(self, nodes: Iterable[NamedExpression]) -> dict[str, CompiledExpression]:
        """Return variables by name; each may use those before it."""
        found: dict[str, CompiledExpression] = {}
        for node in nodes:
            one = self.compile(node.expression, (*node.path, "expression"))
            self.scope = self.scope.with_variable(node.name, one.program)
            found[node.name] = one
        return found

    def conditions(self, nodes: Iterable[NamedExpression]) -> tuple[CompiledExpression, ...]:
        """Return conditions."""
        return tuple(
            self.compile(node.expression, (*node.path, "expression"), BOOL) for node in nodes
        )

    def validations(
        self, nodes: Iterable[CelExpression], message: str = ""
    ) -> tuple[Validation, ...]:
        """Return validations; `message` is the default message."""
        found: list[Validation] = []
        for node in nodes:
            test = self.compile(node.expression, (*node.path, "expression"), BOOL)
            text, computed = node.message_expression, None
            if text:
                scope = self._leave_out_authorizer()
                place = (*node.path, "messageExpression")
                computed = self.compile(text, place, STRING, counts=not self._is_native)
                self.scope = scope
            found.append(Validation(test, node.message or message, computed))
        return tuple(found)

    def annotations(self, nodes: Iterable[NamedExpression]) -> dict[str, CompiledExpression]:
        """Return audit annotations by key.

        An API server also rejects values of dynamic type, such as a field of the object.
        upstream: k8s.io/kubernetes pkg/apis/admissionregistration/validation
        (validateAuditAnnotation)
        """
        found: dict[str, CompiledExpression] = {}
        scope = self._leave_out_authorizer()
        for node in nodes:
            path = (*node.path, "valueExpression")
            one = self.compile(node.expression, path, counts=not self._is_native)
            if one.program is not None and one.program.type not in {STRING, NULL}:
                message = "output is expected to be either of type string or null_type"
                if one.is_native:
                    kind = one.program.type
                    message = f"must evaluate to one of [string null_type] but got {kind}"
                one = self.reject(node.expression, path, message)
            found[node.name] = one
        self.scope = scope
        return found

    def _leave_out_authorizer(self) -> NativeScope | KyvernoScope:
        """Return the scope; expressions compiled from now on may not use `authorizer`.

        upstream: pkg/admission/plugin/policy/validating/plugin.go
        """
        scope = self.scope
        if isinstance(scope, NativeScope):
            self.scope = scope._replace(authorizer=False)
        return scope


def variables_on(
    variables: Mapping[str, CompiledExpression], values: Sequence[object]
) -> LazyVariables[CompiledExpression]:
    """Return the value of `variables` for one of Kyverno's kinds; `values` is to contain it."""
    return LazyVariables(struct(_KYVERNO_VARIABLES), variables, values, _variable)


def _variable(name: str, expression: CompiledExpression, values: Sequence[object]) -> Any:
    if expression.program is None:
        shown = quote(name)
        raise CelError(f"composited variable {shown} fails to compile: {expression.problem}")
    evaluate = composited if expression.is_native else plainly
    return evaluate(name, expression.program, values)


_NAMESPACE, _VARIABLES = 2, 4
"""The indexes of `namespaceObject` and `variables` among the values of native expressions."""


def native_values(
    obj: KubernetesObject | None,
    old: KubernetesObject | None,
    namespace: KubernetesObject | None,
    request: KubernetesObject | None,
    variables: Mapping[str, CompiledExpression],
    *others: object,
) -> list[object]:
    """Return the values for native expressions, in the order of their environment.

    `others` are the parameters if there are any, then the values of `authorizer`.
    """
    values = [obj, old, namespace, request, None, *others]
    values[_VARIABLES] = LazyVariables(native.VARIABLES_TYPE, variables, values, _variable)
    return values


def for_conditions(values: Sequence[object]) -> list[object]:
    """Return the values of native expressions for match conditions: without the namespace."""
    return [*values[:_NAMESPACE], None, *values[_NAMESPACE + 1 :]]


class NativeValidation(NamedTuple):
    """The validation of an API server: an admission policy, or `validate.cel`."""

    variables: Mapping[str, CompiledExpression]
    conditions: tuple[CompiledExpression, ...]
    validations: tuple[Validation, ...]

    def denial(self, values: Sequence[object]) -> str | None:
        """Return the message of the first validation that is false; raises EvaluationError."""
        for index, one in enumerate(self.validations):
            if one.test.value(values) is not True:
                return one.denial(index, values)
        return None


def all_hold(conditions: Iterable[CompiledExpression], values: Sequence[object]) -> bool:
    """Return whether every condition holds; raises EvaluationError unless one is false."""
    faults: list[str] = []
    is_native = False
    for condition in conditions:
        is_native = condition.is_native
        try:
            if condition.value(values) is not True:
                return False
        except EvaluationError as error:
            faults.append(str(error))
    if faults:
        if not is_native:
            raise EvaluationError("; ".join(faults))
        # upstream: k8s.io/apimachinery pkg/util/errors shows each error once.
        distinct = tuple(dict.fromkeys(faults))
        raise EvaluationError(distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]")
    return True
