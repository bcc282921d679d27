"""Expressions of a policy with their places, validations, and errors in upstream's words.

Source of the rules: upstream pkg/cel/compiler (matchconditions.go, variables.go, validation.go).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kyvsim.cel import (
    CelBudgetError,
    CelError,
    CompileError,
    Environment,
    Program,
    compile_expression,
)
from kyvsim.cel.kyverno.environments import VARIABLES
from kyvsim.cel.kyverno.native import native_text
from kyvsim.cel.types import BOOL, DYN, STRING, CelType
from kyvsim.kubernetes.go_text import quote
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.tracing import with_coverage
from kyvsim.model.ports import Meter
from kyvsim.model.source import Document, Path
from kyvsim.model.tracing import NO_TRACE, TraceContext


class ExpressionProblem(NamedTuple):
    """An expression that cannot be compiled."""

    path: Path
    """Its way from the policy's document."""
    text: str
    message: str
    """Upstream's, with the lines that mark the place inside the expression."""
    shown: tuple[Path, str] | None = None
    """The field and the value that upstream names in its place."""
    variant: str = ""
    """The variant for controllers in which it stands; "" for the policy as it is written."""
    document: Document | None = None
    """Where it stands, if not in the policy."""


class EvaluationError(Exception):
    """An expression that cannot be evaluated; the text is upstream's."""


class Compiler:
    """Compiles the expressions of one policy, and keeps what is wrong with them."""

    def __init__(
        self, env: Environment, trace: TraceContext = NO_TRACE, meter: Meter | None = None
    ) -> None:
        """Take who is told of the expressions, by their way from the specification.

        `meter` counts what they take.
        """
        self.env = env
        self.trace = trace
        self.meter = meter
        self.problems: list[ExpressionProblem] = []
        self.reads: set[str] = set()
        """The variables of the environment that the expressions so far look at."""
        self._fields: dict[str, CelType] = {}

    def compile(
        self,
        text: str,
        path: Path,
        wanted: CelType = DYN,
        shown: tuple[Path, str] | None = None,
        *,
        decides: bool | None = None,
    ) -> Program | None:
        """Return a program, or None with a problem noted.

        What gives true or false decides something, unless `decides` says otherwise.
        """
        try:
            program = self.program(text, wanted)
            decides = wanted == BOOL if decides is None else decides
            return with_coverage(program, self.trace.at(*path[1:]), decides=decides)
        except CompileError as error:
            message = error.listing or f"output is expected to be of type {wanted.name}"
            self.problems.append(ExpressionProblem(path, text, message, shown))
            return None

    def program(self, text: str, wanted: CelType = DYN) -> Program:
        """Return a program; raises CompileError, of which nothing is noted."""
        program = compile_expression(text, self.env, wanted)
        self.reads |= program.reads
        return program._replace(meter=self.meter)

    def variables(self, entries: Iterable[Json], path: Path) -> dict[str, Program]:
        """Return the programs of variables by name; each may use those above it."""
        found: dict[str, Program] = {}
        for index, entry in enumerate(entries):
            program = self.compile(entry["expression"], (*path, index, "expression"))
            self._fields[entry["name"]] = program.type if program else DYN
            self.env = self.env.with_fields(VARIABLES, dict(self._fields))
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

    def annotations(self, entries: Iterable[Json], path: Path) -> dict[str, Program]:
        """Return the programs of audit annotations by key."""
        found: dict[str, Program] = {}
        for index, entry in enumerate(entries):
            place = (*path, index, "valueExpression")
            program = self.compile(entry["valueExpression"], place)
            if program is not None and program.type.kind not in {"string", "null"}:
                message = "output is expected to be either of type string or null_type"
                self.problems.append(ExpressionProblem(place, entry["valueExpression"], message))
            elif program is not None:
                found[entry["key"]] = program
        return found

    def text(self, text: str, path: Path) -> Program | None:
        """Return the program of an expression that gives a text; None for an empty one too."""
        return self.compile(text, path, STRING) if text else None


def evaluate(program: Program, values: Sequence[Any]) -> Any:
    """Return the value of a program; raises EvaluationError."""
    try:
        return program.evaluate(values)
    except (CelError, CelBudgetError) as error:
        raise EvaluationError(str(error)) from None


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
        raise EvaluationError("; ".join(faults))
    return True


def annotation_texts(
    programs: Mapping[str, Program], values: Sequence[Any], quote: str = "'"
) -> dict[str, str]:
    """Return the audit annotations that have a text; raises EvaluationError."""
    found: dict[str, str] = {}
    for key, program in programs.items():
        place = f"auditAnnotation {quote}{key}{quote}"
        try:
            text = native_text(evaluate(program, values))
        except EvaluationError as error:
            raise EvaluationError(f"failed to evaluate {place}: {error}") from None
        except CelError as error:
            raise EvaluationError(f"failed to convert {place} expression: {error}") from None
        if text:
            found[key] = text
    return found


# Validations with their messages, which several kinds have.
#
# Source of the rules: upstream pkg/cel/compiler (validation.go, compiler.go).


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


# What is wrong with a policy's expressions, in upstream's one text.
#
# Source of the form: k8s.io/apimachinery pkg/util/validation/field (Error), util/errors
# (Aggregate).

_SECTIONS = ("matchImageReferences", "matchConditions", "images", "variables", "attestors")
"""The fields that are compiled as a whole, in this order; the first that is wrong is told."""
_FIRST_ONLY = frozenset({"images", "attestors"})


def compile_error_text(problems: Sequence[ExpressionProblem], offsets: Mapping[str, int]) -> str:
    """Return what upstream says of the problems of one policy.

    `offsets` has for the name of a field how many entries upstream puts before those written.
    """
    for section in _SECTIONS:
        found = [one for one in problems if one.path[1] == section and not one.document]
        if found:
            taken = found[:1] if section in _FIRST_ONLY else found
            text = _joined_errors([_error_text(one, offsets) for one in taken])
            if section != "matchImageReferences":
                return text
            text = text.replace("spec.match", "spec.Match")
            return f"<nil>: Internal error: failed to compile matches: {text}"
    return _error_text(problems[0], offsets)


def _joined_errors(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _error_text(problem: ExpressionProblem, offsets: Mapping[str, int]) -> str:
    path, value = problem.shown or (problem.path, quote(problem.text))
    return f"{_field_path(path, offsets)}: Invalid value: {value}: {problem.message}"


def _field_path(path: Path, offsets: Mapping[str, int]) -> str:
    start = offsets.get(str(path[1]), 0)
    parts = (f"[{one + start}]" if isinstance(one, int) else f".{one}" for one in path)
    return "".join(parts).removeprefix(".")
