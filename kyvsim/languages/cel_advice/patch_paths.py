"""The operations of JSON patches that an expression writes, as far as their texts tell."""

from typing import NamedTuple

from kyvsim.cel.nodes import Call, Literal, Node, StructLiteral
from kyvsim.languages.cel_advice.written import Expression

UNKNOWN = "\0"
"""Stands in a path for what only an object tells."""
_WRITES = frozenset({"add", "replace"})


class PatchStep(NamedTuple):
    """One place at which values are set."""

    path: str
    """The path as it is written, with UNKNOWN for each part that is computed."""
    operations: frozenset[str]
    """What is done there: every operation of the expression with this path."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys on the path."""
        parts = self.path.split("/")[1:]
        return tuple(one.replace("~1", "/").replace("~0", "~") for one in parts)


def steps_of(expression: Expression) -> tuple[PatchStep, ...]:
    """Return the paths to which a patch writes, once each, in the order of the text."""
    if expression.list_name != "mutations" or expression.path[-2] != "jsonPatch":
        return ()
    found: dict[str, set[str]] = {}
    for node in expression.nodes():
        if isinstance(node, StructLiteral) and node.type_name.lstrip(".") == "JSONPatch":
            fields = {one.name: one.value for one in node.fields}
            op, path = fields.get("op"), fields.get("path")
            if isinstance(op, Literal) and isinstance(op.value, str) and path is not None:
                found.setdefault(_text(path), set()).add(op.value)
    return tuple(
        PatchStep(path, frozenset(operations))
        for path, operations in found.items()
        if path.startswith("/") and operations & _WRITES
    )


def _text(node: Node) -> str:
    if isinstance(node, Literal) and isinstance(node.value, str):
        return node.value
    if isinstance(node, Call) and node.function == "_+_":
        return "".join(map(_text, node.arguments))
    if isinstance(node, Call) and node.function == "escapeKey" and len(node.arguments) == 1:
        inner = _text(node.arguments[0])
        return inner.replace("~", "~0").replace("/", "~1")
    return UNKNOWN
