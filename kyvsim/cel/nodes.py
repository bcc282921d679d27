"""The tree of an expression. Every node has a unique number and an offset into the text."""

from typing import Any, NamedTuple, TypeAlias


class Literal(NamedTuple):
    """A number, string, bytes, boolean or null."""

    id: int
    at: int
    value: Any


class Ident(NamedTuple):
    """A name; with a leading dot if it is looked up at the outermost level."""

    id: int
    at: int
    name: str


class Select(NamedTuple):
    """`operand.field`, `operand.?field` or `has(operand.field)`."""

    id: int
    at: int
    operand: "Node"
    field: str
    optional: bool = False
    test: bool = False


class Call(NamedTuple):
    """A function or operator; `target` is the receiver, before the dot."""

    id: int
    at: int
    function: str
    target: "Node | None"
    arguments: tuple["Node", ...]


class ListLiteral(NamedTuple):
    """`[a, ?b]`; `optional` contains the indexes with a question mark."""

    id: int
    at: int
    elements: tuple["Node", ...]
    optional: frozenset[int]


class MapEntry(NamedTuple):
    """`key: value` of a map."""

    at: int
    key: "Node"
    value: "Node"
    optional: bool


class MapLiteral(NamedTuple):
    """`{key: value, ?key: value}`."""

    id: int
    at: int
    entries: tuple[MapEntry, ...]


class StructField(NamedTuple):
    """`field: value` or `?field: value` of a typed object; `at` is the position of the colon."""

    at: int
    name: str
    value: "Node"
    optional: bool


class StructLiteral(NamedTuple):
    """`Type{field: value}`."""

    id: int
    at: int
    type_name: str
    fields: tuple[StructField, ...]


class Loop(NamedTuple):
    """One of the loop macros over a list or map."""

    id: int
    at: int
    kind: str
    source: "Node"
    variables: tuple[str, ...]
    """One name, or two for the index or key and the value."""
    test: "Node | None"
    """The test of an element; None if all are accepted."""
    result: "Node | None"
    """The result for an accepted element."""


class Bind(NamedTuple):
    """`body` with a name for `value`."""

    id: int
    at: int
    variable: str
    value: "Node"
    body: "Node"


Node: TypeAlias = (
    Literal | Ident | Select | Call | ListLiteral | MapLiteral | StructLiteral | Loop | Bind
)


def children(node: Node) -> tuple[Node, ...]:
    """Return the nodes directly below, in the written order."""
    if isinstance(node, Select):
        return (node.operand,)
    if isinstance(node, Call):
        return node.arguments if node.target is None else (node.target, *node.arguments)
    if isinstance(node, ListLiteral):
        return node.elements
    if isinstance(node, MapLiteral):
        return tuple(part for entry in node.entries for part in (entry.key, entry.value))
    if isinstance(node, StructLiteral):
        return tuple(field.value for field in node.fields)
    if isinstance(node, Loop):
        return tuple(part for part in (node.source, node.test, node.result) if part is not None)
    if isinstance(node, Bind):
        return (node.value, node.body)
    return ()


def has_loops(node: Node) -> bool:
    """Return whether there is a loop in an expression."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Loop):
            return True
        waiting.extend(children(one))
    return False


def dotted_name(node: Node) -> str:
    """Return the name of a chain of plain selections, or "" if it is not a name."""
    if isinstance(node, Ident):
        return node.name
    if isinstance(node, Select) and not node.test and not node.optional:
        inner = dotted_name(node.operand)
        return f"{inner}.{node.field}" if inner else ""
    return ""
