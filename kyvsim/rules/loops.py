"""What every `foreach` shares: its list, its elements, and the names they have in expressions.

Source of the rules: upstream pkg/engine/utils/foreach.go, pkg/engine/context (AddElement).
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from kyvsim.context import JSONContext
from kyvsim.context.loaders import compile_entries
from kyvsim.expr import Environment, QueryError, QuerySyntaxError, compile_query
from kyvsim.kube.objects import Json


class Element(NamedTuple):
    """One turn of a loop."""

    number: int
    """Its place in the list, from 0, whatever the order of the loop."""
    value: Json
    scope: JSONContext


def compile_list(expression: str, environment: Environment) -> Callable[[JSONContext], list[Json]]:
    """Return what evaluates a loop's list; a value that is no list counts as a list of one.

    Raises `QueryError` at evaluation, with upstream's text.
    """
    try:
        query = compile_query(expression.strip(), environment)
    except QuerySyntaxError as error:
        return _unreadable(QueryError(f"incorrect query {expression.strip()}: {error.message}"))

    def evaluate(scope: JSONContext) -> list[Json]:
        root = scope.root(query.names)
        try:
            found = query.evaluate(root)
        except QueryError as error:
            raise QueryError(f"JMESPath query failed: {error.message}") from error
        return found if found.__class__ is list else [found]

    return evaluate


def _unreadable(error: QueryError) -> Callable[[JSONContext], list[Json]]:
    # upstream does not look at lists when it checks a policy, so the rule finds out.
    def evaluate(_scope: JSONContext) -> list[Json]:
        raise error

    return evaluate


def compile_elements(
    loop: Json, nesting: int, environment: Environment
) -> Callable[[JSONContext, Iterable[tuple[int, Json]]], Iterator[Element]]:
    """Return what gives the elements of a loop, each in a scope of its own; null is left out."""
    entries = compile_entries(loop.get("context") or (), environment)
    level = str(nesting)

    def elements(scope: JSONContext, numbered: Iterable[tuple[int, Json]]) -> Iterator[Element]:
        for index, value in numbered:
            if value is None:
                continue
            names = {
                "element": value,
                f"element{level}": value,
                "elementIndex": index,
                f"elementIndex{level}": index,
            }
            yield Element(index, value, scope.layer(names, entries))

    return elements
