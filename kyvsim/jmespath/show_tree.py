"""The syntax tree as text, for `jp parse`.

upstream: kyverno/go-jmespath `parser.go` (PrettyPrint), which closes a node with children only
once. For a slice it prints the numbers, of which upstream prints the addresses.
"""

from collections.abc import Iterator
from types import MappingProxyType
from typing import Final

from kyvsim.jmespath.parse import Tree, parse
from kyvsim.kubernetes.go_text import format_float, to_json
from kyvsim.kubernetes.objects import Json

_NAMES: Final = MappingProxyType(
    {
        "current": "CurrentNode",
        "expref": "ExpRef",
        "multi_select_dict": "MultiSelectHash",
        "nameless_call": "FunctionExpression",
    }
)
"""Names that are not the type in camel case."""
_NESTED: Final = ("subexpression", "index_expression")


def show_tree(expression: str) -> str:
    """Return the lines of an expression's tree; raise `QuerySyntaxError` if it is invalid."""
    return "".join(_lines(parse(expression), 0))


def _lines(tree: Tree, indent: int) -> Iterator[str]:
    name, value, children = _node(tree)
    edge, inner = " " * indent, " " * (indent + 2)
    yield f"{edge}{name} {{\n"
    if value is not None:
        yield f"{inner}value: {value}\n"
    if children:
        yield f"{inner}children: {{\n"
        for child in children:
            yield from _lines(child, indent + 4)
    yield f"{edge}}}\n"


def _node(tree: Tree) -> tuple[str, str | None, list[Tree]]:
    kind, children = tree["type"], tree["children"]
    if kind == "slice":
        return "ASTSlice", ":".join("" if n is None else str(n) for n in children), []
    if kind in _NESTED and len(children) > 2:
        children = [{"type": kind, "children": children[:-1]}, children[-1]]
    name = _NAMES.get(kind) or kind.title().replace("_", "")
    value: Json = tree.get("value")
    if kind == "comparator":
        return f"AST{name}", f"t{value.upper()}", children
    return f"AST{name}", None if value is None else _go_syntax(value), children


def _go_syntax(value: object) -> str:
    """Return a value as Go's `%#v` prints it."""
    if value is None:
        return "interface {}(nil)"
    if value.__class__ is list:
        return f"[]interface {{}}{{{', '.join(map(_go_syntax, value))}}}"
    if value.__class__ is dict:
        pairs = (f"{to_json(key)}:{_go_syntax(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{', '.join(pairs)}}}"
    return format_float(value, "g") if value.__class__ is float else to_json(value)
