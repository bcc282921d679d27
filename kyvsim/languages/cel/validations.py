"""Validations with their messages, which several kinds have.

Source of the rules: upstream pkg/cel/compiler (validation.go, compiler.go).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from kyvsim.cel import Program
from kyvsim.cel.types import BOOL
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.cel.expressions import Compiler, EvaluationError, evaluate
from kyvsim.model.source import Path


class Validation(NamedTuple):
    """One entry of `validations`."""

    test: Program
    message: str
    message_expression: Program | None

    def denial(self, index: int, values: Sequence[Any]) -> str:
        """Return what is said where it is false."""
        message = self.message
        if self.message_expression is not None:
            try:
                message = str(evaluate(self.message_expression, values))
            except EvaluationError as error:
                message = f"failed to evaluate message expression: {error}"
        return message or f"CEL expression validation failed at index {index}"


def compile_validations(
    compiler: Compiler, entries: Sequence[Json], path: Path
) -> tuple[Validation, ...]:
    """Return the validations of a policy."""
    found: list[Validation] = []
    for index, entry in enumerate(entries):
        place = (*path, index)
        test = compiler.compile(entry["expression"], (*place, "expression"), BOOL)
        text = entry.get("messageExpression") or ""
        computed = compiler.text(text, (*place, "messageExpression"))
        if test is not None:
            found.append(Validation(test, entry.get("message") or "", computed))
    return tuple(found)
