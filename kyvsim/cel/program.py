"""Compiles source text to a reusable program; evaluates the variables of a policy."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from kyvsim.cel.checker import check, check_literals
from kyvsim.cel.compiler import NodeHook, lower
from kyvsim.cel.environment import CALL_LIMIT, Environment, Frame, Run
from kyvsim.cel.errors import CelBudgetError, CelError, CompileError, Issue, describe
from kyvsim.cel.parser import ExpressionSyntaxError, parse
from kyvsim.cel.types import DYN, CelType
from kyvsim.cel.values import plain
from kyvsim.kubernetes.go_text import quote
from kyvsim.kubernetes.regexes import RegexError
from kyvsim.model.ports import CEL_STEPS, Meter

_MANY = 10_000
"""The minimum number of steps that is counted."""
_VARIABLES = "variables"
"""The variable whose fields evaluate other expressions on access."""


class Program(NamedTuple):
    """A compiled expression."""

    text: str
    type: CelType
    """The type of its value, as far as it is known at compile time."""
    run: Run
    slots: int
    """The required length of the frame."""
    reads: frozenset[str] = frozenset()
    """The variables of the environment that it reads; others need no value."""

    limit: int = CALL_LIMIT
    per_step: int = CEL_STEPS
    """The number of them that counts as one step on the meter."""
    env: Environment | None = None
    meter: Meter | None = None
    """Counts the steps of everything that is evaluated together."""

    def with_hook(self, on_node: NodeHook) -> "Program":
        """Return the program with `on_node` around the closure of each of its nodes."""
        if self.env is None:
            return self
        return _compile(self.text, self.env, DYN, on_node)._replace(meter=self.meter)

    def evaluate(self, values: Sequence[object]) -> object:
        """Return the value, with plain lists and maps, for the variables' values.

        The values are in the order of the environment.

        Raises CelError if the evaluation fails, and BudgetError if it takes too many steps.
        """
        return plain(self.value(values))

    def value(self, values: Sequence[object]) -> object:
        """Return the value for other expressions; raises the errors of `evaluate`."""
        frame: Frame = [self.limit, *values, *[None] * (self.slots - 1 - len(values))]
        if self.meter is not None and _VARIABLES in self.reads:
            meter = self.meter
            counted = self.limit

            def count() -> None:
                nonlocal counted
                before, counted = counted, frame[0]
                self._settle(before, counted)

            if meter.open:
                meter.open[-1]()
            meter.open.append(count)
            try:
                return self.run(frame)
            finally:
                meter.open.pop()
                count()
        try:
            found = self.run(frame)
        except CelError:
            self._settle(self.limit, frame[0])
            raise
        if frame[0] < self.limit - _MANY:
            self._settle(self.limit, frame[0])
        return found

    def _settle(self, before: int, left: int) -> None:
        """Count the steps that were taken; raises BudgetError if they exceed the limit."""
        if self.meter is not None and before - left > _MANY:
            self.meter.spend((before - left) // self.per_step)
        if left < 0:
            raise CelBudgetError from None


def compile_expression(text: str, env: Environment, expected: CelType = DYN) -> Program:
    """Return the program for an expression; raises CompileError with upstream's message.

    `expected` is the type that its value must have; DYN is any type.

    upstream: k8s.io/apiserver/pkg/admission/plugin/cel/compile.go
    """
    try:
        return _compile(text, env, expected)
    except ExpressionSyntaxError as found:
        raise _refused(text, found.issues) from None
    except RecursionError:
        listing = "the expression is nested too deeply"
        raise CompileError(f"compilation failed: {listing}", listing=listing) from None


def _compile(
    text: str, env: Environment, expected: CelType, on_node: NodeHook | None = None
) -> Program:
    root = parse(text, env.macros)
    checked = check(root, env)
    issues = checked.issues or check_literals(root, checked, env)
    if issues:
        raise _refused(text, issues)
    found = checked.types[root.id]
    if expected not in {DYN, found}:
        raise CompileError(f"must evaluate to {expected} but got {found}")
    try:
        lowered = lower(root, checked, env, on_node)
    except (CelError, RegexError) as error:
        raise CompileError(f"program instantiation failed: {error}", listing=str(error)) from None
    return Program(
        text=text,
        type=found,
        run=lowered.code.run,
        slots=lowered.slots,
        reads=lowered.reads,
        limit=env.limit - lowered.steps,
        per_step=env.per_step,
        env=env,
    )


def _refused(text: str, issues: Sequence[Issue]) -> CompileError:
    listing = describe(text, issues)
    return CompileError(f"compilation failed: {listing}", issues, listing)


# The variables of a policy: expressions that are evaluated on first access.

_Known = TypeVar("_Known")
Evaluate: TypeAlias = Callable[[str, _Known, Sequence[object]], object]
"""Returns the value of a variable, by its name and expression, with these values."""


class LazyVariables(dict[str, object], Generic[_Known]):
    """The variables of a policy for one request, each evaluated on first access.

    Iterating over them yields the values, not the names.
    upstream: k8s.io/apiserver pkg/cel/lazy/lazy.go
    """

    only_own_kind = True

    def __init__(
        self,
        kind: CelType,
        known: Mapping[str, _Known],
        values: Sequence[object],
        evaluate: Evaluate[_Known],
    ) -> None:
        """Store the values for their expressions, which include these variables."""
        super().__init__()
        self.cel_type = kind
        self._known = known
        self._values = values
        self._evaluate = evaluate

    def __iter__(self) -> Iterator[Any]:
        return (self[name] for name in self._known)

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def __missing__(self, name: str) -> object:
        found = self[name] = self._evaluate(name, self._known[name], self._values)
        return found


def plainly(_name: str, program: Program, values: Sequence[object]) -> object:
    """Return the value of a variable; errors do not name it."""
    return program.value(values)


def composited(name: str, program: Program, values: Sequence[object]) -> object:
    """Return the value of a variable; errors name it.

    upstream: k8s.io/apiserver pkg/admission/plugin/cel/composition.go
    """
    try:
        return program.evaluate(values)
    except (CelError, CelBudgetError) as error:
        raise CelError(f"composited variable {quote(name)} fails to evaluate: {error}") from None
