"""Source text to a program that can be evaluated any number of times; the variables of a policy."""

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
"""Steps that are worth counting."""
_VARIABLES = "variables"
"""What evaluates further expressions when it is read."""


class Program(NamedTuple):
    """A compiled expression."""

    text: str
    type: CelType
    """What its value is, as far as that can be known beforehand."""
    run: Run
    slots: int
    """The length of the frame that `run` needs."""
    reads: frozenset[str] = frozenset()
    """The variables of the environment that it looks at; of others no value is needed."""

    limit: int = CALL_LIMIT
    per_step: int = CEL_STEPS
    """How many of them count as one on the meter."""
    env: Environment | None = None
    meter: Meter | None = None
    """Counts what evaluations take, for all that is evaluated together."""

    def with_hook(self, on_node: NodeHook) -> "Program":
        """Return the same program with `on_node` around the closure of each of its nodes."""
        if self.env is None:
            return self
        return _compile(self.text, self.env, DYN, on_node)._replace(meter=self.meter)

    def evaluate(self, values: Sequence[object]) -> object:
        """Return the value, in plain lists and maps, for the variables' values.

        They stand in the order of the environment.

        Raises CelError where the evaluation fails, and BudgetError where it takes too many steps.
        """
        return plain(self.value(values))

    def value(self, values: Sequence[object]) -> object:
        """Return the value as other expressions see it; raises as `evaluate` does."""
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
        """Count the steps that were taken; raises BudgetError where they are more than may be."""
        if self.meter is not None and before - left > _MANY:
            self.meter.spend((before - left) // self.per_step)
        if left < 0:
            raise CelBudgetError from None


def compile_expression(text: str, env: Environment, expected: CelType = DYN) -> Program:
    """Return the program for an expression; raises CompileError with upstream's message.

    `expected` is the type that its value must have; DYN takes any.

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
        message = f"program instantiation failed: {error}"
        raise CompileError(message, listing=str(error)) from None
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


# The variables of a policy: expressions that are evaluated when they are first read.

_Known = TypeVar("_Known")
Evaluate: TypeAlias = Callable[[str, _Known, Sequence[object]], object]
"""Returns the value of a variable with some name and expression, where these values are seen."""


class LazyVariables(dict[str, object], Generic[_Known]):
    """The variables of a policy on one request, each evaluated when it is first read.

    A loop over them goes through the values and not through the names.
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
        """Take the values that their own expressions see, these variables among them."""
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
    """Return the value of a variable; its errors are those of who reads it."""
    return program.value(values)


def composited(name: str, program: Program, values: Sequence[object]) -> object:
    """Return the value of a variable; its errors name it.

    upstream: k8s.io/apiserver pkg/admission/plugin/cel/composition.go
    """
    try:
        return program.evaluate(values)
    except (CelError, CelBudgetError) as error:
        raise CelError(f"composited variable {quote(name)} fails to evaluate: {error}") from None
