"""Chainsaw's expressions and assertion trees."""

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.chainsaw.errors import HardError, UnsupportedError
from kyvsim.jmespath import QueryError, QuerySyntaxError, System
from kyvsim.jmespath.functions import Function, function
from kyvsim.jmespath.functions.strings import parse_json
from kyvsim.jmespath.query import bound_queries
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.quantities import with_floats
from kyvsim.kubernetes.wildcard import matches
from kyvsim.model.ports import BudgetError

# The JMESPath functions that chainsaw adds to Kyverno's; `FUNCTIONS` lists them by name.
#
# Source of the list: chainsaw's documentation, "Functions"; kyverno-json's;
# github.com/kyverno/chainsaw pkg/engine/functions; kyverno-json pkg/core/templating

NEEDING_A_CLUSTER = frozenset(
    {"env", "k8s_get", "k8s_list", "k8s_exists", "k8s_resource_exists"}
    | {"k8s_server_version", "metrics_decode"}
)


def _at(items: list[object], place: float) -> object:
    if not 0 <= place < len(items):
        raise QueryError(f"index {int(place)} is out of range")
    return items[int(place)]


FUNCTIONS: Mapping[str, Function] = {
    one.name: one
    for one in (
        function(
            "as_string(any) string",
            "Return a string as is, null for anything else.",
            lambda value: value if value.__class__ is str else None,
        ),
        function("at(array, number) any", "Return the item of a list at an index.", _at),
        function("concat(string, string) string", "Concatenate two strings.", operator.add),
        function(
            "json_parse(string) any",
            "Parse a JSON string.",
            lambda text: with_floats(parse_json(text)),
        ),
        function("trim_space(string) string", "Remove whitespace at both ends.", str.strip),
        function(
            "wildcard(string, string) boolean",
            "Return whether a string matches a pattern.",
            matches,
        ),
    )
}

# Expressions in keys and strings, and their evaluation.
#
# Source of the grammar: kyverno-json, pkg/core/expression.

_FOREACH = re.compile(r"~(\w+)?\.(.*)")
_NAME = re.compile(r"\w+")
_ESCAPED = re.compile(r"\\(.+)\\")
_ENGINE = re.compile(r"\((?:(\w+);)?(.+)\)")
_UNKNOWN = "unknown function: "
_SHOWN = 200
_TOO_MUCH = "the step limit for the expressions of a test is exceeded"

Bindings = Mapping[str, Json]
"""The values of `$name`, by name without the `$`."""
Evaluate = Callable[[str, object, Bindings], Json]
"""Evaluates an expression on a value; raises HardError."""


class TreeExpression(NamedTuple):
    """A key or string of an assertion tree, with its modifiers."""

    text: str
    """The expression, or the literal key."""
    engine: str = ""
    """The engine that evaluates it: `jp`; "" for a literal."""
    foreach: bool = False
    """Whether the subtree is checked for each item of the result."""
    place: str = ""
    """The name of the binding for each item's index or key."""
    binding: str = ""
    """The name of the binding for the result."""


def parse_expression(text: str) -> TreeExpression:
    r"""Parse an expression: `~index.(…)->name`, `(…)`, `\…\`, or literal text."""
    expression = TreeExpression(text)
    each = _FOREACH.fullmatch(text)
    if each:
        expression = expression._replace(foreach=True, place=each[1] or "", text=each[2])
    head, arrow, name = expression.text.rpartition("->")
    if arrow and "\n" not in head and _NAME.fullmatch(name.lstrip()):
        expression = expression._replace(binding=name.lstrip(), text=head.rstrip())
    escaped = _ESCAPED.fullmatch(expression.text)
    if escaped:
        return expression._replace(text=escaped[1])
    evaluated = _ENGINE.fullmatch(expression.text)
    if evaluated:
        return expression._replace(engine=evaluated[1] or "jp", text=evaluated[2])
    return expression


def compile_evaluate(system: System) -> Evaluate:
    """Return the function that evaluates expressions; it returns numbers as floats."""
    query = bound_queries(system, FUNCTIONS)

    def evaluate(text: str, value: object, bindings: Bindings) -> Json:
        # Numbers in expressions are floats.
        named = {name: with_floats(one) for name, one in bindings.items() if f"${name}" in text}
        system.meter.begin_rule()
        try:
            return query(text, with_floats(value), named)
        except BudgetError:
            shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
            raise HardError(f"`{shown}`: {_TOO_MUCH}") from None
        except (QueryError, QuerySyntaxError) as error:
            missing = error.message.removeprefix(_UNKNOWN)
            if missing in NEEDING_A_CLUSTER:
                raise UnsupportedError(f"the function `{missing}` in an expression") from None
            raise HardError(f"`{text}`: {error.message}") from None

    return evaluate


def evaluate_expression(
    expression: TreeExpression, value: object, bindings: Bindings, evaluate: Evaluate
) -> Json:
    """Return the value of an expression; raise UnsupportedError for other languages."""
    if expression.engine != "jp":
        raise UnsupportedError(f"expressions in the language `{expression.engine}`")
    return evaluate(expression.text, value, bindings)


_LARGEST_WHOLE = 2**63
_EMPTY: Mapping[str, object] = MappingProxyType({})


def fill(value: Json, bindings: Bindings, evaluate: Evaluate, *, data: object = _EMPTY) -> Json:
    """Return a value with all its expressions evaluated on `data`.

    The default is an empty map, so that lists and maps can be built from bindings.
    """
    kind = value.__class__
    if kind is dict:
        return {key: fill(member, bindings, evaluate, data=data) for key, member in value.items()}
    if kind is list:
        return [fill(member, bindings, evaluate, data=data) for member in value]
    if kind is not str or not value.startswith("(") or not value.endswith(")"):
        return value
    expression = parse_expression(value)
    if not expression.engine or expression.foreach or expression.binding:
        return value
    return unfloated(evaluate_expression(expression, data, bindings, evaluate))


def unfloated(value: Json) -> Json:
    """Return the result of an expression with whole numbers as integers."""
    kind = value.__class__
    if kind is dict:
        return {key: unfloated(member) for key, member in value.items()}
    if kind is list:
        return [unfloated(member) for member in value]
    if kind is float and value.is_integer() and abs(value) < _LARGEST_WHOLE:
        return int(value)
    return value


# Assertion trees: compare a value with a tree of keys, expressions and scalars.
#
# Source of the rules: kyverno-json, pkg/core/assertion.


class TreeMismatch(NamedTuple):
    """A place at which a value does not match."""

    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}" if self.path else self.text


def check_tree(
    tree: object, value: object, bindings: Bindings, evaluate: Evaluate
) -> tuple[TreeMismatch, ...]:
    """Return where `value` does not match `tree`; nothing if it matches.

    Raises HardError for values that cannot be compared and expressions that cannot be evaluated.
    """
    return tuple(_check(tree, value, _TreePlace("", bindings, evaluate)))


class _TreePlace(NamedTuple):
    path: str
    bindings: Bindings
    evaluate: Evaluate

    def under(self, name: str) -> "_TreePlace":
        return self._replace(path=f"{self.path}.{name}" if self.path else name)

    def item(self, index: str) -> "_TreePlace":
        return self._replace(path=f"{self.path}[{index}]")

    def binding(self, name: str, value: object) -> "_TreePlace":
        return self._replace(bindings={**self.bindings, name: value}) if name else self


def _check(tree: object, value: object, at: _TreePlace) -> Iterator[TreeMismatch]:
    if isinstance(tree, dict):
        yield from _check_map(tree, value, at)
    elif isinstance(tree, list):
        yield from _check_list(tree, value, at)
    else:
        expected = tree
        if isinstance(tree, str):
            expression = parse_expression(tree)
            if expression.engine:
                expected = evaluate_expression(expression, value, at.bindings, at.evaluate)
            elif not expression.foreach and not expression.binding:
                expected = expression.text
        kinds = {expected.__class__, value.__class__}
        if len(kinds) > 1 and kinds != {int, float} and type(None) not in kinds:
            raise HardError(f"{at.path}: {_kind(expected)} and {_kind(value)} cannot be compared")
        if expected != value:
            yield TreeMismatch(at.path, f"is {_shown(value)}, but should be {_shown(expected)}")


def _check_map(tree: Mapping[str, object], value: object, at: _TreePlace) -> Iterator[TreeMismatch]:
    if not tree:
        if value is None:
            yield TreeMismatch(at.path, "is null, but should exist")
        return
    for key, subtree in tree.items():
        expression = parse_expression(str(key))
        place = at.under(str(key))
        if expression.engine:
            result = evaluate_expression(expression, value, at.bindings, at.evaluate)
        elif isinstance(value, dict) and expression.text in value:
            result = value[expression.text]
        else:
            yield TreeMismatch(place.path, "field not found in the input object")
            continue
        place = place.binding(expression.binding, result)
        if not expression.foreach:
            yield from _check(subtree, result, place)
        elif result.__class__ in {dict, list}:
            each: Iterable[tuple[str | int, object]] = (
                sorted(result.items()) if isinstance(result, dict) else enumerate(result)
            )
            for index, member in each:
                inner = place.item(str(index)).binding(expression.place, index)
                yield from _check(subtree, member, inner)
        else:
            yield TreeMismatch(place.path, f"expected a list or a map, not {_kind(result)}")


def _check_list(tree: list[object], value: object, at: _TreePlace) -> Iterator[TreeMismatch]:
    if value is None:
        yield TreeMismatch(at.path, "is null, but should be a list")
        return
    if not isinstance(value, list):
        raise HardError(f"{at.path}: expected a list, not {_kind(value)}")
    if len(tree) != len(value):
        yield TreeMismatch(at.path, f"the list has {len(value)} items, not {len(tree)}")
        return
    for index, (subtree, member) in enumerate(zip(tree, value, strict=True)):
        yield from _check(subtree, member, at.item(str(index)))


def _kind(value: object) -> str:
    if value is None:
        return "null"
    names = {dict: "a map", list: "a list", str: "a string", bool: "a boolean"}
    return names.get(value.__class__, "a number")


def _shown(value: object) -> str:
    return f"`{value}`" if isinstance(value, str) else str(value)
