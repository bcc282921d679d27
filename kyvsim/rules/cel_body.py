"""The body of a `validate.cel` rule: it fails where one of its CEL expressions is not true.

Source of the rules: upstream pkg/engine/handlers/validation/validate_cel.go, pkg/admissionpolicy;
k8s.io/apiserver pkg/admission/plugin/policy/validating/validator.go. What cannot be compiled or
evaluated fails the rule too: there is no error status here.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from kyvsim.cel import (
    BudgetError,
    CelError,
    CompileError,
    Environment,
    Program,
    compile_expression,
)
from kyvsim.cel.kubernetes import (
    VARIABLES,
    declared_type,
    kubernetes_environment,
)
from kyvsim.cel.types import BOOL, DYN, STRING, CelType
from kyvsim.kube.go_text import quote
from kyvsim.kube.objects import Json
from kyvsim.model.coverage import PointKind
from kyvsim.model.source import Path
from kyvsim.model.watch import Watch
from kyvsim.rules.cel_params import ParamsError, compile_params
from kyvsim.rules.cel_request import authorizer_of, namespace_object, request_value
from kyvsim.rules.protocol import (
    CompiledBody,
    Evaluation,
    Outcome,
    RuleContext,
    errored,
    failed,
    passed,
    skipped,
)

_LONGEST_MESSAGE = 5 * 1024
_EXPRESSIONS: Path = ("validate", "cel", "expressions")
_UNMET = skipped("cel preconditions not met")


class _FaultError(Exception):
    """An expression could not be compiled or evaluated; the message is the rule's."""


class _Expression(NamedTuple):
    """A compiled expression, or the reason why there is none."""

    text: str
    program: Program | None
    problem: str = ""

    def value(self, values: Sequence[Any]) -> Any:
        """Return the expression's value; raises `_FaultError`."""
        if self.program is None:
            raise _FaultError(f"compilation error: {self.problem}")
        try:
            return self.program.evaluate(values)
        except (CelError, BudgetError) as error:
            raise _FaultError(f"expression '{self.text}' resulted in error: {error}") from None


class _Scope(NamedTuple):
    """What an expression may use besides what all may."""

    params: bool
    authorizer: bool = True
    variables: tuple[tuple[str, CelType], ...] = ()
    """The rule's variables that stand above it, with their types."""

    def with_variable(self, name: str, program: Program | None) -> "_Scope":
        """Return the scope with one variable more; of one without program nothing is known."""
        found = declared_type(program.type) if program else DYN
        return self._replace(variables=(*self.variables, (name, found)))

    def environment(self) -> Environment:
        """Return the environment for this scope."""
        env = kubernetes_environment(params=self.params, authorizer=self.authorizer)
        return env.with_fields(VARIABLES, dict(self.variables)) if self.variables else env


class _Validation(NamedTuple):
    """One entry of `expressions`."""

    test: _Expression
    message: str
    message_expression: _Expression | None

    def denial(self, values: Sequence[Any]) -> str | None:
        """Return the message where the object is refused, else None."""
        try:
            if self.test.value(values) is True:
                return None
        except _FaultError as fault:
            return str(fault)
        return (
            self._computed(values) or self.message or f"failed expression: {self.test.text.strip()}"
        )

    def _computed(self, values: Sequence[Any]) -> str:
        if self.message_expression is None:
            return ""
        try:
            found = self.message_expression.value(values)
        except _FaultError:
            return ""
        text = found.strip() if found.__class__ is str else ""
        return "" if "\n" in text or len(text.encode()) > _LONGEST_MESSAGE else text


class _Rule(NamedTuple):
    """Everything of a rule that is compiled."""

    variables: Mapping[str, _Expression]
    preconditions: tuple[_Expression, ...]
    validations: tuple[_Validation, ...]


class _Variables(dict[str, Any]):
    """The rule's variables, each evaluated when it is first asked for."""

    def __init__(self, expressions: Mapping[str, _Expression], values: list[Any]) -> None:
        super().__init__()
        self._expressions = expressions
        self._values = values

    def __contains__(self, name: object) -> bool:
        return name in self._expressions

    def __missing__(self, name: str) -> Any:
        expression = self._expressions[name]
        shown = quote(name)
        if expression.program is None:
            raise CelError(f"composited variable {shown} fails to compile: {expression.problem}")
        try:
            found = expression.program.evaluate(self._values)
        except (CelError, BudgetError) as error:
            raise CelError(f"composited variable {shown} fails to evaluate: {error}") from None
        self[name] = found
        return found


def compile_cel(context: RuleContext) -> CompiledBody:
    """Return the body of the rule."""
    data = context.rule.data
    cel = data["validate"]["cel"]
    rule = _watched(_compile_rule(data, cel), context.watch)
    pass_outcome = passed(f"Validation rule '{context.rule.name}' passed.")
    find_params = compile_params(cel) if _has_params(cel) else None

    def evaluate(evaluation: Evaluation) -> Outcome:
        if find_params is None:
            return _evaluate(rule, _values(rule, evaluation)) or pass_outcome
        try:
            params = find_params(evaluation)
        except ParamsError as error:
            return errored("error in parameterized resource", error)
        outcomes = (_evaluate(rule, _values(rule, evaluation, one)) for one in params)
        return next((outcome for outcome in outcomes if outcome), pass_outcome)

    return evaluate


def cel_problems(data: Mapping[str, Json]) -> Iterator[tuple[Path, str]]:
    """Yield what cannot be compiled of a rule's expressions, with its way from the rule."""
    cel = data["validate"]["cel"]
    rule = _compile_rule(data, cel)
    tests: list[tuple[Path, Iterable[_Expression]]] = [
        (("celPreconditions",), rule.preconditions),
        (("validate", "cel", "variables"), rule.variables.values()),
        (_EXPRESSIONS, (one.test for one in rule.validations)),
    ]
    for path, expressions in tests:
        for index, one in enumerate(expressions):
            if one.program is None:
                yield (*path, index, "expression"), _fault(one)
    for index, entry in enumerate(rule.validations):
        computed = entry.message_expression
        if computed is not None and computed.program is None:
            yield (*_EXPRESSIONS, index, "messageExpression"), _fault(computed)


def _fault(expression: _Expression) -> str:
    # The lines below the first one show the expression again.
    return f"`{expression.text.strip()}` is no CEL: {expression.problem.partition(chr(10))[0]}"


def _compile_rule(data: Mapping[str, Json], cel: Json) -> _Rule:
    has_params = _has_params(cel)
    scope = _Scope(has_params)
    variables: dict[str, _Expression] = {}
    for entry in cel.get("variables") or ():
        expression = _expression(entry["expression"], scope)
        variables[entry["name"]] = expression
        scope = scope.with_variable(entry["name"], expression.program)
    own_message = data["validate"].get("message") or ""
    return _Rule(
        variables,
        tuple(
            _expression(entry["expression"], scope, BOOL)
            for entry in data.get("celPreconditions") or ()
        ),
        tuple(_validation(entry, own_message, scope) for entry in cel.get("expressions") or ()),
    )


def _has_params(cel: Json) -> bool:
    return bool(cel.get("paramKind") and cel.get("paramRef"))


def _watched(rule: _Rule, watch: Watch) -> _Rule:
    """Return the rule with preconditions and expressions that tell their outcomes."""
    where = watch.at(*_EXPRESSIONS)
    validations = tuple(
        one._replace(test=_told(one.test, where.at(index)))
        for index, one in enumerate(rule.validations)
    )
    preconditions = tuple(
        _told(one, watch.at("celPreconditions", index))
        for index, one in enumerate(rule.preconditions)
    )
    return rule._replace(validations=validations, preconditions=preconditions)


def _told(expression: _Expression, watch: Watch) -> _Expression:
    program = expression.program
    seen = watch.point(PointKind.CONDITION, "true", "false") if program else None
    if program is None or seen is None:
        return expression
    run = program.run

    def told(frame: list[Any]) -> Any:
        found = run(frame)
        seen(0 if found is True else 1)
        return found

    return expression._replace(program=program._replace(run=told))


def _validation(entry: Json, own_message: str, scope: _Scope) -> _Validation:
    text = entry.get("messageExpression") or ""
    plain = scope._replace(authorizer=False)
    return _Validation(
        _expression(entry["expression"], scope, BOOL),
        (entry.get("message") or own_message).strip(),
        _expression(text, plain, STRING) if text else None,
    )


@lru_cache(maxsize=256)
def _expression(text: str, scope: _Scope, wanted: CelType = DYN) -> _Expression:
    """Return an expression compiled: once for those who look for faults, and for who runs it."""
    try:
        return _Expression(text, compile_expression(text, scope.environment(), wanted))
    except CompileError as error:
        return _Expression(text, None, str(error))


def _values(rule: _Rule, evaluation: Evaluation, *params: Json) -> list[Any]:
    """Return the values of the environment's variables, in their order."""
    request, outside = evaluation.request, evaluation.scope.outside
    values: list[Any] = [
        evaluation.object,
        request.old_object,
        namespace_object(request, outside),
        request_value(request),
        None,
        *params,
        *authorizer_of(request, outside),
    ]
    values[4] = _Variables(rule.variables, values)
    return values


def _evaluate(rule: _Rule, values: list[Any]) -> Outcome | None:
    """Return the outcome of a rule that is skipped or refuses the object, else None."""
    if rule.preconditions:
        outcome = _unmet(rule.preconditions, values)
        if outcome is not None:
            return outcome
    for validation in rule.validations:
        message = validation.denial(values)
        if message is not None:
            return failed(message)
    return None


def _unmet(preconditions: Iterable[_Expression], values: list[Any]) -> Outcome | None:
    """Return a skip where a precondition is false, a failure where one fails and none is false."""
    without_namespace = [*values[:2], None, *values[3:]]
    faults: dict[str, None] = {}
    for precondition in preconditions:
        try:
            if precondition.value(without_namespace) is False:
                return _UNMET
        except _FaultError as fault:
            faults[str(fault)] = None
    if not faults:
        return None
    texts = ", ".join(faults)
    return failed(texts if len(faults) == 1 else f"[{texts}]")
