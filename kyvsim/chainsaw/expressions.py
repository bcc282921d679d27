"""Keys and texts that are expressions, and their evaluation.

Source of the grammar: kyverno-json, pkg/core/expression.
"""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from kyvsim.chainsaw.ending import HardError, UnsupportedError
from kyvsim.chainsaw.functions import FUNCTIONS, NEEDING_A_CLUSTER, floated
from kyvsim.expr import QueryError, QuerySyntaxError, System
from kyvsim.expr.bound import bound_queries
from kyvsim.kube.objects import Json
from kyvsim.model.budget import BudgetError

_FOREACH = re.compile(r"~(\w+)?\.(.*)")
_NAME = re.compile(r"\w+")
_ESCAPED = re.compile(r"\\(.+)\\")
_ENGINE = re.compile(r"\((?:(\w+);)?(.+)\)")
_UNKNOWN = "unknown function: "
_SHOWN = 200
_TOO_MUCH = "the limit of steps for the expressions of a test is exceeded"

Bindings = Mapping[str, Json]
"""What `$name` stands for, by name without the `$`."""
Ask = Callable[[str, Json, Bindings], Json]
"""Evaluates the text of an expression on a value; raises HardError."""


class Expression(NamedTuple):
    """What a key or a text says beyond itself."""

    text: str
    """The expression, or the key as it is."""
    engine: str = ""
    """What evaluates it: `jp`; "" where the text stands for itself."""
    foreach: bool = False
    """Whether each item of what it finds is meant."""
    place: str = ""
    """The name that each item's place or key gets."""
    binding: str = ""
    """The name that what it finds gets."""


def parse_expression(text: str) -> Expression:
    r"""Return what a text says: `~index.(…)->name`, `(…)`, `\…\`, or itself."""
    found = Expression(text)
    each = _FOREACH.fullmatch(text)
    if each:
        found = found._replace(foreach=True, place=each[1] or "", text=each[2])
    head, arrow, name = found.text.rpartition("->")
    if arrow and "\n" not in head and _NAME.fullmatch(name.lstrip()):
        found = found._replace(binding=name.lstrip(), text=head.rstrip())
    escaped = _ESCAPED.fullmatch(found.text)
    if escaped:
        return found._replace(text=escaped[1])
    evaluated = _ENGINE.fullmatch(found.text)
    if evaluated:
        return found._replace(engine=evaluated[1] or "jp", text=evaluated[2])
    return found


def asker(system: System) -> Ask:
    """Return what evaluates expressions; numbers are floats in what it returns."""
    evaluate = bound_queries(system, FUNCTIONS)

    def ask(text: str, value: Json, bindings: Bindings) -> Json:
        named = {name: floated(bound) for name, bound in bindings.items() if f"${name}" in text}
        system.meter.begin_rule()
        try:
            return evaluate(text, floated(value), named)
        except BudgetError:
            raise HardError(f"`{_start(text)}`: {_TOO_MUCH}") from None
        except (QueryError, QuerySyntaxError) as error:
            missing = error.message.removeprefix(_UNKNOWN)
            if missing in NEEDING_A_CLUSTER:
                raise UnsupportedError(f"the function `{missing}` of an expression") from None
            raise HardError(f"`{text}`: {error.message}") from None

    return ask


def _start(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def ask_expression(expression: Expression, value: Json, bindings: Bindings, ask: Ask) -> Json:
    """Return what an expression finds; raise UnsupportedError for another language."""
    if expression.engine != "jp":
        raise UnsupportedError(f"expressions of the language `{expression.engine}`")
    return ask(expression.text, value, bindings)
