"""Syntax tree → the text that `jp parse` prints.

upstream: kyverno/go-jmespath `parser.go` (PrettyPrint), which closes a node with children but once.
A slice shows its numbers where upstream shows their addresses.
"""

from collections.abc import Iterator
from types import MappingProxyType
from typing import Final, NamedTuple

from kyvsim.jmespath.parse import Tree, parse
from kyvsim.kubernetes.go_text import format_float, to_json
from kyvsim.kubernetes.objects import Json

_NAMES: Final = MappingProxyType(
    {
        "and_expression": "AndExpression",
        "comparator": "Comparator",
        "current": "CurrentNode",
        "empty": "Empty",
        "expref": "ExpRef",
        "field": "Field",
        "filter_projection": "FilterProjection",
        "flatten": "Flatten",
        "function_expression": "FunctionExpression",
        "identity": "Identity",
        "index": "Index",
        "index_expression": "IndexExpression",
        "key_val_pair": "KeyValPair",
        "literal": "Literal",
        "multi_select_dict": "MultiSelectHash",
        "multi_select_list": "MultiSelectList",
        "nameless_call": "FunctionExpression",
        "not_expression": "NotExpression",
        "or_expression": "OrExpression",
        "pipe": "Pipe",
        "projection": "Projection",
        "slice": "Slice",
        "subexpression": "Subexpression",
        "value_projection": "ValueProjection",
    }
)
_NESTED: Final = ("subexpression", "index_expression")


class _Node(NamedTuple):
    name: str
    value: str | None
    children: tuple[Tree, ...]


def show_tree(expression: str) -> str:
    """Return the lines of an expression's tree; raise `QuerySyntaxError` where it is none."""
    return "".join(_lines(parse(expression), 0))


def _lines(tree: Tree, indent: int) -> Iterator[str]:
    node = _node(tree)
    edge, inner = " " * indent, " " * (indent + 2)
    yield f"{edge}{node.name} {{\n"
    if node.value is not None:
        yield f"{inner}value: {node.value}\n"
    if node.children:
        yield f"{inner}children: {{\n"
        for child in node.children:
            yield from _lines(child, indent + 4)
    yield f"{edge}}}\n"


def _node(tree: Tree) -> _Node:
    kind, children = tree["type"], tree["children"]
    if kind == "slice":
        return _Node("ASTSlice", ":".join("" if n is None else str(n) for n in children), ())
    if kind in _NESTED and len(children) > 2:
        first = {"type": kind, "children": children[:-1]}
        children = [first, children[-1]]
    return _Node(f"AST{_NAMES[kind]}", _value(kind, tree.get("value")), tuple(children))


def _value(kind: str, value: Json) -> str | None:
    if kind == "comparator":
        return f"t{value.upper()}"
    return None if value is None else _go_syntax(value)


def _go_syntax(value: Json) -> str:
    """Return a value as Go's `%#v` writes it."""
    if value is None:
        return "interface {}(nil)"
    if value.__class__ is list:
        return f"[]interface {{}}{{{', '.join(map(_go_syntax, value))}}}"
    if value.__class__ is dict:
        pairs = (f"{to_json(key)}:{_go_syntax(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{', '.join(pairs)}}}"
    return format_float(value, "g") if value.__class__ is float else to_json(value)
