"""Expressions of a policy with their places, and the variables that they share.

Source of the rules: upstream pkg/cel/compiler (matchconditions.go, variables.go, validation.go).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kyvsim.cel import BudgetError, CelError, CompileError, Environment, Program, compile_expression
from kyvsim.cel.kyverno.environments import VARIABLES
from kyvsim.cel.kyverno.native import native_text
from kyvsim.cel.types import BOOL, DYN, STRING, CelType
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.probed_expressions import told_program
from kyvsim.model.ports import Meter
from kyvsim.model.probe import NO_PROBE, Probe
from kyvsim.model.source import Document, Path


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
        self, env: Environment, probe: Probe = NO_PROBE, meter: Meter | None = None
    ) -> None:
        """Take who is told of the expressions, by their way from the specification.

        `meter` counts what they take.
        """
        self.env = env
        self.probe = probe
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
            return told_program(program, self.probe.at(*path[1:]), decides=decides)
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
    except (CelError, BudgetError) as error:
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
