"""Trees of JMESPath expressions → values: one converter for each kind of node."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from kyvsim.migrate.queries import functions, logic, paths, projections
from kyvsim.migrate.queries.constants import constant
from kyvsim.migrate.queries.nested import is_marked, marked_text, with_marks
from kyvsim.migrate.queries.scope import Scope, Tree, no_twin
from kyvsim.migrate.queries.trees import tree_of
from kyvsim.migrate.values import Value


def query_value(text: str, scope: Scope) -> Value:
    """Return the value of an expression; raise NotConvertible where it has no twin."""
    text, scope = with_marks(text, scope, depth=1)
    return read(tree_of(text), scope._replace(current=None))


def query_within(text: str, scope: Scope, value: Value) -> Value:
    """Return what an expression finds in a value; raise NotConvertible where it has no twin."""
    text, scope = with_marks(text, scope, depth=1)
    return read(tree_of(text), scope.within(value))


def read(tree: Tree, scope: Scope) -> Value:
    """Return the value of a tree."""
    convert = _NODES.get(tree["type"])
    if convert is None:
        raise no_twin(f"`{tree['type'].replace('_', ' ')}`")
    return convert(tree, scope)


def _pipe(tree: Tree, scope: Scope) -> Value:
    left, right = tree["children"]
    return read(right, scope.within(read(left, scope)))


def _literal(tree: Tree, scope: Scope) -> Value:
    value = tree["value"]
    return marked_text(value, scope) if is_marked(value) else constant(value)


_NODES: Final[Mapping[str, Callable[[Tree, Scope], Value]]] = MappingProxyType(
    {
        "field": paths.field,
        "subexpression": paths.subexpression,
        "index_expression": paths.subexpression,
        "index": paths.index,
        "identity": paths.identity,
        "current": paths.identity,
        "literal": _literal,
        "comparator": logic.comparator,
        "or_expression": logic.either,
        "and_expression": logic.both,
        "not_expression": logic.negation,
        "projection": projections.projection,
        "flatten": projections.flatten,
        "filter_projection": projections.filtered,
        "value_projection": projections.values,
        "multi_select_list": projections.multi_select,
        "multi_select_dict": projections.multi_select_map,
        "function_expression": functions.call,
        "pipe": _pipe,
    }
)
