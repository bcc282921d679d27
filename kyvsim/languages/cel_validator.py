"""Kubernetes' validator: conditions and validations in CEL, with the variables that they share.

What cannot be compiled or evaluated is a failure of the expression; callers decide what follows.

Source of the rules: k8s.io/apiserver pkg/admission/plugin/policy/validating/validator.go,
pkg/admission/plugin/webhook/matchconditions/matcher.go, as upstream's pkg/admissionpolicy calls it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from kyvsim.cel.kubernetes import VARIABLES, declared_type, kubernetes_environment
from kyvsim.cel.program import composited
from kyvsim.cel.types import BOOL, DYN, STRING, CelType
from kyvsim.kubernetes.go_text import quote
from kyvsim.kubernetes.objects import Path
from kyvsim.model.ports import Meter
from kyvsim.policy.cel import CelExpression, NamedExpression

_LONGEST_MESSAGE = 5 * 1024


class FaultError(Exception):
    """An expression could not be compiled or evaluated; the message is upstream's."""


class Denial(NamedTuple):
    """Why an object is refused."""

    message: str
    is_fault: bool
    """Whether an expression could not be compiled or evaluated."""


class CompiledExpression(NamedTuple):
    """A compiled expression, or the reason why there is none."""

    text: str
    program: Program | None
    problem: str = ""

    def counted(self, meter: Meter | None) -> "CompiledExpression":
        """Return the same, whose evaluations count on a meter."""
        return self._replace(program=self.program and self.program._replace(meter=meter))

    def value(self, values: Sequence[Any]) -> Any:
        """Return the expression's value; raises FaultError."""
        if self.program is None:
            raise FaultError(f"compilation error: {self.problem}")
        try:
            return self.program.evaluate(values)
        except (CelError, CelBudgetError) as error:
            raise FaultError(f"expression '{self.text}' resulted in error: {error}") from None


class Declared(NamedTuple):
    """What an expression may use besides what all may."""

    params: bool
    authorizer: bool = True
    variables: tuple[tuple[str, CelType], ...] = ()

    def with_variable(self, name: str, program: Program | None) -> "Declared":
        """Return what is declared with one variable more; without program its type is open."""
        found = declared_type(program.type) if program else DYN
        return self._replace(variables=(*self.variables, (name, found)))

    def environment(self) -> Environment:
        """Return the environment for this."""
        env = kubernetes_environment(params=self.params, authorizer=self.authorizer)
        return env.with_fields(VARIABLES, dict(self.variables)) if self.variables else env


class Validation(NamedTuple):
    """One entry of the validations."""

    test: CompiledExpression
    message: str
    message_expression: CompiledExpression | None

    def refusal(self, values: Sequence[Any]) -> Denial | None:
        """Return why the object is refused, None where it is not."""
        try:
            if self.test.value(values) is True:
                return None
        except FaultError as fault:
            return Denial(str(fault), is_fault=True)
        text = self._computed(values) or self.message
        return Denial(text or f"failed expression: {self.test.text.strip()}", is_fault=False)

    def _computed(self, values: Sequence[Any]) -> str:
        if self.message_expression is None:
            return ""
        try:
            found = self.message_expression.value(values)
        except FaultError:
            return ""
        text = found.strip() if found.__class__ is str else ""
        return "" if "\n" in text or len(text.encode()) > _LONGEST_MESSAGE else text


class Validator(NamedTuple):
    """Everything that is compiled."""

    variables: Mapping[str, CompiledExpression]
    conditions: tuple[CompiledExpression, ...]
    validations: tuple[Validation, ...]

    def counted(self, meter: Meter | None) -> "Validator":
        """Return the same, whose evaluations count on a meter."""
        return Validator(
            {name: one.counted(meter) for name, one in self.variables.items()},
            tuple(one.counted(meter) for one in self.conditions),
            tuple(
                one._replace(
                    test=one.test.counted(meter),
                    message_expression=one.message_expression
                    and one.message_expression.counted(meter),
                )
                for one in self.validations
            ),
        )

    def reads(self) -> frozenset[str]:
        """Return the names of the environment that some expression reads."""
        programs = (one.program for _, one in self.placed())
        return frozenset().union(*(one.reads for one in programs if one is not None))

    def placed(self) -> Iterator[tuple[Path, CompiledExpression]]:
        """Yield the expressions with their ways from a specification that has them all."""
        for field, expressions in (
            ("variables", self.variables.values()),
            ("matchConditions", self.conditions),
            ("validations", [one.test for one in self.validations]),
        ):
            for index, expression in enumerate(expressions):
                yield (field, index, "expression"), expression
        for index, one in enumerate(self.validations):
            if one.message_expression is not None:
                yield ("validations", index, "messageExpression"), one.message_expression

    def unmet(self, values: Sequence[Any]) -> str | None:
        """Return None if all conditions hold, "" if one is false, or else their failures."""
        without_namespace = [*values[:2], None, *values[3:]]
        faults: dict[str, None] = {}
        for condition in self.conditions:
            try:
                if condition.value(without_namespace) is False:
                    return ""
            except FaultError as fault:
                faults[str(fault)] = None
        if not faults:
            return None
        texts = ", ".join(faults)
        return texts if len(faults) == 1 else f"[{texts}]"

    def refusal(self, values: Sequence[Any]) -> Denial | None:
        """Return why the first validation that does so refuses the object."""
        for validation in self.validations:
            found = validation.refusal(values)
            if found is not None:
                return found
        return None


def variable_value(name: str, expression: CompiledExpression, values: Sequence[Any]) -> Any:
    """Return the value of a variable; raises CelError, also where there is no program."""
    if expression.program is None:
        shown = quote(name)
        raise CelError(f"composited variable {shown} fails to compile: {expression.problem}")
    return composited(name, expression.program, values)


def compile_validator(
    variables: Iterable[NamedExpression],
    conditions: Iterable[NamedExpression],
    validations: Iterable[CelExpression],
    declared: Declared,
    *,
    message: str = "",
) -> Validator:
    """Return what is written compiled; `message` is that of validations that have none."""
    known: dict[str, CompiledExpression] = {}
    for entry in variables:
        expression = compiled(entry.expression, declared)
        known[entry.name] = expression
        declared = declared.with_variable(entry.name, expression.program)
    return Validator(
        known,
        tuple(compiled(entry.expression, declared, BOOL) for entry in conditions),
        tuple(_validation(entry, message, declared) for entry in validations),
    )


def _validation(entry: CelExpression, own_message: str, declared: Declared) -> Validation:
    text = entry.message_expression
    plain = declared._replace(authorizer=False)
    return Validation(
        compiled(entry.expression, declared, BOOL),
        (entry.message or own_message).strip(),
        compiled(text, plain, STRING) if text else None,
    )


@lru_cache(maxsize=256)
def compiled(text: str, declared: Declared, wanted: CelType = DYN) -> CompiledExpression:
    """Return an expression compiled, once for the checks and for the evaluation."""
    try:
        return CompiledExpression(text, compile_expression(text, declared.environment(), wanted))
    except CompileError as error:
        return CompiledExpression(text, None, str(error))
