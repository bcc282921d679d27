"""Expressions as values: their text, the names they may read, and the closure that evaluates."""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

from kyvsim.expr.closures import Run
from kyvsim.expr.errors import NotFoundError, QuerySyntaxError
from kyvsim.expr.functions.record import Function
from kyvsim.expr.functions.table import FUNCTIONS
from kyvsim.expr.lower import Surroundings, lower
from kyvsim.expr.names import names_in
from kyvsim.expr.parse import Spans, Tree, parse
from kyvsim.expr.semantics import Missing
from kyvsim.kube.objects import Json
from kyvsim.model.ports import System
from kyvsim.model.wording import likely


class Query(NamedTuple):
    """A compiled expression; share it freely."""

    text: str
    names: frozenset[str]
    """Names of context entries that upstream would load for it."""
    evaluate: Callable[[Json], Json]
    """Takes plain data; raises `QueryError`, as `NotFoundError` where a map lacks a key."""


_PLAIN: Final = frozenset({"literal", "identity", "current", "variable", "expref", "empty"})
"""Parts of which nobody asks what they came to."""


def function_named(name: str) -> Function | None:
    """Return the function of a name, or None."""
    return FUNCTIONS.get(name)


def impossible_calls(expression: str) -> Iterator[str]:
    """Yield why calls of functions in an expression can only fail, whatever their arguments are.

    upstream: kyverno/go-jmespath `functions.go`, CallFunction
    """
    try:
        tree = parse(expression)
    except QuerySyntaxError:
        return
    for name, count in _calls(tree):
        function = FUNCTIONS.get(name)
        if function is None:
            yield f"there is no function `{name}`{likely(name, FUNCTIONS)}"
        elif refusal := function.refusal(count):
            yield refusal


def _calls(tree: Tree) -> Iterator[tuple[str, int]]:
    """Yield name and number of arguments of every call in a tree."""
    pending = [tree]
    while pending:
        node = pending.pop()
        children = [child for child in node["children"] if child.__class__ is dict]
        if node["type"] == "function_expression":
            yield node["value"], len(children)
        pending += reversed(children)


Hear: TypeAlias = Callable[[tuple[int, int], Run], Run]
"""Takes where a part of an expression begins and ends, and its closure; gives what stands for it.

It is not asked for what has no text of its own, nor for what is evaluated for each element of a
list.
"""


def compile_query(text: str, system: System, hear: Hear | None = None) -> Query:
    """Return the compiled expression; raise `QuerySyntaxError` where the text is none."""
    spans: Spans | None = {} if hear else None
    tree = parse(text, spans=spans)
    around = Surroundings(function_named, system)
    if hear and spans:
        around = around._replace(hear=_hearing(hear, spans))
    try:
        run = lower(tree, around)
    except RecursionError:
        raise QuerySyntaxError(
            "SyntaxError: the expression is nested too deeply", text, 0
        ) from None

    def evaluate(data: Json) -> Json:
        found = run(data)
        if found.__class__ is Missing:
            raise NotFoundError(found.key)
        return found

    return Query(text, names_in(text), evaluate)


def _hearing(hear: Hear, spans: Spans) -> Callable[[Tree, Run], Run]:
    def heard(tree: Tree, run: Run) -> Run:
        span = spans.get(id(tree))
        return hear(span, run) if span and tree["type"] not in _PLAIN else run

    return heard
