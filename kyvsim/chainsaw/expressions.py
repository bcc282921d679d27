"""Keys and texts that are expressions: their functions, their evaluation, and templates.

upstream: github.com/kyverno/chainsaw pkg/engine/functions,
github.com/kyverno/kyverno-json pkg/core/templating
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.chainsaw.ending import HardError, UnsupportedError
from kyvsim.jmespath import QueryError, QuerySyntaxError, System
from kyvsim.jmespath.functions.record import ANY, ARRAY, NUMBER, STRING, Function
from kyvsim.jmespath.functions.texts import parse_json
from kyvsim.jmespath.query import bound_queries
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.wildcard import matches
from kyvsim.model.ports import BudgetError

# The JMESPath functions that chainsaw adds to Kyverno's; `FUNCTIONS` has them by name.
#
# Source of the list: chainsaw's documentation, "Functions"; kyverno-json's.

NEEDING_A_CLUSTER = (
    "env",
    "k8s_get",
    "k8s_list",
    "k8s_exists",
    "k8s_resource_exists",
    "k8s_server_version",
    "metrics_decode",
)
"""Functions of chainsaw's that ask the world outside."""


def floated(value: Json) -> Json:
    """Return a value with every whole number as a float, which is what expressions count with."""
    kind = value.__class__
    if kind is dict:
        return {key: floated(member) for key, member in value.items()}
    if kind is list:
        return [floated(member) for member in value]
    return float(value) if kind is int else value


def _trim_space(text: str) -> str:
    return text.strip()


def _as_string(value: Json) -> Json:
    return value if value.__class__ is str else None


def _at(items: list[Json], place: float) -> Json:
    if not 0 <= place < len(items):
        raise QueryError(f"index {int(place)} is outside of the list")
    return items[int(place)]


def _concat(first: str, second: str) -> str:
    return first + second


def _json_parse(text: str) -> Json:
    return floated(parse_json(text))


def _wildcard(pattern: str, text: str) -> bool:
    return matches(pattern, text)


FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        one.name: one
        for one in (
            Function("as_string", (ANY,), STRING, "A text, or null of all else.", _as_string),
            Function("at", (ARRAY, NUMBER), ANY, "An item of a list by its place.", _at),
            Function("concat", (STRING, STRING), STRING, "Two texts as one.", _concat),
            Function("json_parse", (STRING,), ANY, "What a JSON text says.", _json_parse),
            Function("trim_space", (STRING,), STRING, "A text without blanks around.", _trim_space),
            Function("wildcard", (STRING, STRING), ("boolean",), "Whether a text fits.", _wildcard),
        )
    }
)

# Keys and texts that are expressions, and their evaluation.
#
# Source of the grammar: kyverno-json, pkg/core/expression.

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


# Scalars that are expressions, filled in: keys stay as they are.

_LARGEST_WHOLE = 2**63
_EMPTY: Json = MappingProxyType({})


def fill(value: Json, bindings: Bindings, ask: Ask, *, data: Json = _EMPTY) -> Json:
    """Return a value with every text that is an expression replaced by what it finds in `data`.

    Without data there is an empty map, so that lists and maps can be made of bindings.
    """
    kind = value.__class__
    if kind is dict:
        return {key: fill(member, bindings, ask, data=data) for key, member in value.items()}
    if kind is list:
        return [fill(member, bindings, ask, data=data) for member in value]
    if kind is not str or not value.startswith("(") or not value.endswith(")"):
        return value
    expression = parse_expression(value)
    if not expression.engine or expression.foreach or expression.binding:
        return value
    return unfloated(ask_expression(expression, data, bindings, ask))


def unfloated(value: Json) -> Json:
    """Return what an expression found with whole numbers as such again."""
    kind = value.__class__
    if kind is dict:
        return {key: unfloated(member) for key, member in value.items()}
    if kind is list:
        return [unfloated(member) for member in value]
    if kind is float and value.is_integer() and abs(value) < _LARGEST_WHOLE:
        return int(value)
    return value
