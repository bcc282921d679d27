"""Text → a program that can be evaluated any number of times."""

from collections.abc import Sequence
from typing import Any

from kyvsim.cel.check import check
from kyvsim.cel.environment import CALL_LIMIT, Environment
from kyvsim.cel.errors import BudgetError, CelError, CompileError, Issue
from kyvsim.cel.literal_checks import check_literals
from kyvsim.cel.loops import Run
from kyvsim.cel.lower import Heard, lower
from kyvsim.cel.parse import ExpressionSyntaxError, parse
from kyvsim.cel.source import describe
from kyvsim.cel.types import DYN, CelType
from kyvsim.cel.values import plain
from kyvsim.kube.regexes import RegexError
from kyvsim.light.named_tuple import NamedTuple


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
    """The steps that it may take."""
    env: Environment | None = None
    """What it was compiled in."""

    def heard(self, hear: Heard) -> "Program":
        """Return the same program, whose parts tell of themselves: `hear` wraps each of them."""
        return self if self.env is None else _compile(self.text, self.env, DYN, hear)

    def evaluate(self, values: Sequence[Any]) -> Any:
        """Return the value, in plain lists and maps, for the variables' values.

        They stand in the order of the environment.

        Raises CelError where the evaluation fails, and BudgetError where it takes too many steps.
        """
        return plain(self.value(values))

    def value(self, values: Sequence[Any]) -> Any:
        """Return the value as other expressions see it; raises as `evaluate` does."""
        frame = [self.limit, *values, *[None] * (self.slots - 1 - len(values))]
        try:
            found = self.run(frame)
        except CelError:
            if frame[0] < 0:
                raise BudgetError from None
            raise
        if frame[0] < 0:
            raise BudgetError
        return found


def compile_expression(text: str, env: Environment, wanted: CelType = DYN) -> Program:
    """Return the program for an expression; raises CompileError with upstream's message.

    `wanted` is the type that its value must have; DYN takes any.

    upstream: k8s.io/apiserver/pkg/admission/plugin/cel/compile.go
    """
    try:
        return _compile(text, env, wanted)
    except ExpressionSyntaxError as found:
        raise _refused(text, found.issues) from None
    except RecursionError:
        listing = "the expression is nested too deeply"
        raise CompileError(f"compilation failed: {listing}", listing=listing) from None


def _compile(text: str, env: Environment, wanted: CelType, heard: Heard | None = None) -> Program:
    root = parse(text, env.macros)
    checked = check(root, env)
    issues = checked.issues or check_literals(root, checked, env)
    if issues:
        raise _refused(text, issues)
    found = checked.types[root.id]
    if wanted not in {DYN, found}:
        raise CompileError(f"must evaluate to {wanted} but got {found}")
    try:
        lowered = lower(root, checked, env, heard)
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
        env=env,
    )


def _refused(text: str, issues: Sequence[Issue]) -> CompileError:
    listing = describe(text, issues)
    return CompileError(f"compilation failed: {listing}", issues, listing)
