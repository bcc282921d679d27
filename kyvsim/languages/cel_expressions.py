"""Expressions of policies in CEL: compiled with their places, and evaluated with upstream's errors.

Source of the rules: upstream pkg/cel/compiler (matchconditions.go, variables.go, validation.go),
pkg/admissionpolicy and k8s.io/apiserver pkg/admission/plugin/cel for native policies.
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
from kyvsim.cel.kubernetes import VARIABLES, declared_type
from kyvsim.cel.types import BOOL, DYN, CelType
from kyvsim.kubernetes.objects import Json, Path
from kyvsim.languages.tracing import with_coverage
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.ports import Meter
from kyvsim.model.source import Document, Location
from kyvsim.model.tracing import NO_TRACE, TraceContext

_KYVERNO_VARIABLES = "kyverno.variables"
"""The type of `variables` of `kyverno.environments`, which native policies do not load."""


class ExpressionProblem(NamedTuple):
    """An expression that cannot be compiled."""

    path: Path
    text: str
    message: str
    """Upstream's, with the lines that mark the place inside the expression."""
    shown: tuple[Path, str] | None = None
    """The field and the value that upstream names in its place."""
    variant: str = ""
    """The variant for controllers that contains it; "" for the policy as written."""
    document: Document | None = None
    """The document that contains it, if not the policy's."""


class EvaluationError(Exception):
    """An expression that cannot be evaluated; the text is upstream's."""


class Compiler:
    """Compiles the expressions of one policy, and keeps what is wrong with them."""

    def __init__(
        self,
        env: Environment,
        trace: TraceContext = NO_TRACE,
        meter: Meter | None = None,
        *,
        native: bool = False,
    ) -> None:
        """Set up for expressions that `trace` traces and whose steps count on `meter`.

        `native` policies are Kubernetes' own, of which an API server compiles the variables: it
        declares their types less exactly and words a mismatch differently.
        """
        self.env = env
        self._native = native
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

        By default, expressions that give true or false decide something.
        """
        try:
            program = self.program(text, wanted)
            decides = wanted == BOOL if decides is None else decides
            return with_coverage(program, self.trace.at(*path[1:]), decides=decides)
        except CompileError as error:
            mismatch = f"output is expected to be of type {wanted.name}"
            message = error.listing or (str(error) if self._native else mismatch)
            self.problems.append(ExpressionProblem(path, text, message, shown))
            return None

    def program(self, text: str, wanted: CelType = DYN) -> Program:
        """Return a program; raises CompileError, of which nothing is noted."""
        program = compile_expression(text, self.env, wanted)
        self.reads |= program.reads
        return program._replace(meter=self.meter)

    def variables(self, spec: Mapping[str, Json]) -> dict[str, Program]:
        """Return the programs of variables by name; each may use those above it."""
        found: dict[str, Program] = {}
        for index, entry in enumerate(spec.get("variables") or ()):
            path = ("spec", "variables", index, "expression")
            program = self.compile(entry["expression"], path)
            found_type = program.type if program else DYN
            declared = declared_type(found_type) if self._native and program else found_type
            self._fields[entry["name"]] = declared
            self.env = self.env.with_fields(
                VARIABLES if self._native else _KYVERNO_VARIABLES, dict(self._fields)
            )
            if program:
                found[entry["name"]] = program
        return found

    def conditions(
        self, spec: Mapping[str, Json], field: str = "matchConditions"
    ) -> tuple[Program, ...]:
        """Return the programs of the conditions in a field."""
        programs = [
            self.compile(entry["expression"], ("spec", field, index, "expression"), BOOL)
            for index, entry in enumerate(spec.get(field) or ())
        ]
        return tuple(program for program in programs if program)

    def annotations(self, spec: Mapping[str, Json]) -> dict[str, Program]:
        """Return the programs of audit annotations by key."""
        found: dict[str, Program] = {}
        for index, entry in enumerate(spec.get("auditAnnotations") or ()):
            place = ("spec", "auditAnnotations", index, "valueExpression")
            program = self.compile(entry["valueExpression"], place)
            if program is not None and program.type.kind not in {"string", "null"}:
                message = "output is expected to be either of type string or null_type"
                self.problems.append(ExpressionProblem(place, entry["valueExpression"], message))
            elif program is not None:
                found[entry["key"]] = program
        return found


def evaluate(program: Program, values: Sequence[Any], *, native: bool = False) -> Any:
    """Return the value of a program; raises EvaluationError, which names a `native` expression."""
    try:
        return program.evaluate(values)
    except (CelError, CelBudgetError) as error:
        start = f"expression '{program.text}' resulted in error: " if native else ""
        raise EvaluationError(f"{start}{error}") from None


def all_hold(conditions: Iterable[Program], values: Sequence[Any], *, native: bool = False) -> bool:
    """Return whether every condition holds; raises EvaluationError unless one is false."""
    faults: list[str] = []
    for condition in conditions:
        try:
            if evaluate(condition, values, native=native) is not True:
                return False
        except EvaluationError as error:
            faults.append(str(error))
    if faults:
        raise EvaluationError((", " if native else "; ").join(faults))
    return True


_START = "ERROR: <input>:"


def expression_error(code: str, about: str, message: str, location: Location) -> Diagnostic:
    """Return an error about a policy, with the expression and a mark where it goes wrong.

    `message` is the listing of cel-go: what is wrong, and below it the lines of the expression.
    """
    what, *lines = message.split("\n")
    text = f"{about}: {what.removeprefix(_START)}"
    excerpt = tuple(line.strip() for line in lines)
    return Diagnostic(code, Severity.ERROR, text, location, excerpt)
