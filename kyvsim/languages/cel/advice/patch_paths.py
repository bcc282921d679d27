"""The operations of JSON patches that an expression writes, as far as their texts tell."""

from collections.abc import Iterator

from kyvsim.cel.nodes import Call, Literal, Node, StructLiteral
from kyvsim.languages.cel.advice.written import Expression
from kyvsim.light.named_tuple import NamedTuple

UNKNOWN = "\0"
"""Stands in a path for what only an object tells."""
_KEEPS = frozenset({"add", "replace"})


class PatchStep(NamedTuple):
    """One operation that sets a value."""

    path: str
    """The path as it is written, with UNKNOWN for each part that is computed."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys on the path."""
        parts = self.path.split("/")[1:]
        return tuple(one.replace("~1", "/").replace("~0", "~") for one in parts)


def steps_of(expression: Expression) -> Iterator[PatchStep]:
    """Yield the operations of a patch that add or replace, once each; others are left out."""
    if expression.list_name != "mutations" or expression.path[-2] != "jsonPatch":
        return
    seen = set()
    for node in expression.nodes():
        if not isinstance(node, StructLiteral) or node.type_name.lstrip(".") != "JSONPatch":
            continue
        fields = {one.name: one.value for one in node.fields}
        op, path = fields.get("op"), fields.get("path")
        if isinstance(op, Literal) and op.value in _KEEPS and path is not None:
            text = _text(path)
            if text.startswith("/") and text not in seen:
                seen.add(text)
                yield PatchStep(text)


def _text(node: Node) -> str:
    if isinstance(node, Literal) and isinstance(node.value, str):
        return node.value
    if isinstance(node, Call) and node.function == "_+_":
        return "".join(map(_text, node.arguments))
    if isinstance(node, Call) and node.function == "escapeKey" and len(node.arguments) == 1:
        inner = _text(node.arguments[0])
        return inner.replace("~", "~0").replace("/", "~1")
    return UNKNOWN
