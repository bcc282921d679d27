"""Converts nodes of expressions to source text, on one line."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from kyvsim.cel import nodes
from kyvsim.cel.macros import OR_VALUE
from kyvsim.cel.nodes import Node, children
from kyvsim.cel.values import show_value

_Path: TypeAlias = tuple[str | int, ...]

_TIGHTNESS: Mapping[str, int] = {
    "_?_:_": 1,
    "_||_": 2,
    "_&&_": 3,
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_", "_==_", "_!=_", "@in"), 4),
    **dict.fromkeys(("_+_", "_-_"), 5),
    **dict.fromkeys(("_*_", "_/_", "_%_"), 6),
    **dict.fromkeys(("!_", "-_"), 7),
}
"""The precedence of operators; all others have a higher one."""
_LOOSE = 8
_NAME_BEFORE = re.compile(r"\w+\s*$")


def written(node: Node) -> str:
    """Return an expression in the usual notation; expanded macros are shown as macros."""
    return _WRITERS[node.__class__](node)


def object_path(node: Node) -> _Path | None:
    """Return the path in `object` that a node reads, if it does nothing else."""
    if isinstance(node, nodes.Ident):
        return () if node.name == "object" else None
    if isinstance(node, nodes.Select):
        return _with(object_path(node.operand), node.field)
    if isinstance(node, nodes.Call) and node.function in {"_[_]", "_[?_]"}:
        operand, key = node.arguments
        return _with(object_path(operand), key.value) if isinstance(key, nodes.Literal) else None
    if isinstance(node, nodes.Call) and node.function == OR_VALUE:
        return object_path(node.arguments[0])
    return None


def start_of(node: Node, text: str) -> int:
    """Return the start of a node's text in its expression, without parentheses around it."""
    first = _first(node)
    # The position of a function is that of its parenthesis; its name precedes it.
    named = _NAME_BEFORE.search(text, 0, first) if text[first : first + 1] == "(" else None
    return named.start() if named else first


def _first(node: Node) -> int:
    return min((node.at, *map(_first, children(node))))


def _with(path: _Path | None, step: Any) -> _Path | None:
    return None if path is None or not isinstance(step, str | int) else (*path, step)


def _inside(node: Node, least: int) -> str:
    """Return a part, in parentheses if it has a lower precedence."""
    tightness = _TIGHTNESS.get(node.function, _LOOSE) if isinstance(node, nodes.Call) else _LOOSE
    text = written(node)
    return f"({text})" if tightness < least else text


def _call(node: nodes.Call) -> str:
    name, parts = node.function, node.arguments
    if name == "_?_:_":
        test, chosen, other = (_inside(one, 2) for one in parts)
        return f"{test} ? {chosen} : {other}"
    if name in {"_[_]", "_[?_]"}:
        mark = "?" if "?" in name else ""
        return f"{_inside(parts[0], _LOOSE)}[{mark}{written(parts[1])}]"
    if name in {"!_", "-_"}:
        return f"{name[0]}{_inside(parts[0], 7)}"
    if name == OR_VALUE:
        return f"{_inside(parts[0], _LOOSE)}.orValue({written(parts[1])})"
    if name in _TIGHTNESS:
        sign = "in" if name == "@in" else name.strip("_")
        own = _TIGHTNESS[name]
        first, *others = parts
        return f" {sign} ".join((_inside(first, own), *(_inside(one, own + 1) for one in others)))
    start = f"{_inside(node.target, _LOOSE)}." if node.target is not None else ""
    return f"{start}{name}({', '.join(map(written, parts))})"


def _select(node: nodes.Select) -> str:
    text = f"{_inside(node.operand, _LOOSE)}.{'?' if node.optional else ''}{node.field}"
    return f"has({text})" if node.test else text


def _loop(node: nodes.Loop) -> str:
    parts = [
        *node.variables,
        *(written(one) for one in (node.test, node.result) if one is not None),
    ]
    return f"{_inside(node.source, _LOOSE)}.{node.kind}({', '.join(parts)})"


def _literal(node: nodes.Literal) -> str:
    value = node.value
    return json.dumps(value, ensure_ascii=False) if value.__class__ is str else show_value(value)


def _map_or_struct(node: nodes.MapLiteral | nodes.StructLiteral) -> str:
    if isinstance(node, nodes.StructLiteral):
        name, parts = node.type_name, [(one.name, one.value) for one in node.fields]
    else:
        name, parts = "", [(written(one.key), one.value) for one in node.entries]
    return f"{name}{{{', '.join(f'{key}: {written(value)}' for key, value in parts)}}}"


_WRITERS: Mapping[type, Callable[[Any], str]] = {
    nodes.Literal: _literal,
    nodes.Ident: lambda node: node.name,
    nodes.Select: _select,
    nodes.Call: _call,
    nodes.ListLiteral: lambda node: f"[{', '.join(map(written, node.elements))}]",
    nodes.MapLiteral: _map_or_struct,
    nodes.StructLiteral: _map_or_struct,
    nodes.Loop: _loop,
    nodes.Bind: lambda node: (
        f"cel.bind({node.variable}, {written(node.value)}, {written(node.body)})"
    ),
}
