"""Arithmetic of whole numbers with numbers of objects, which are doubles outside of clusters.

upstream: cmd/cli/kubectl-kyverno/resource reads objects with float64 for all numbers
"""

from collections.abc import Iterator

from kyvsim.cel.nodes import Call, Literal, Node
from kyvsim.engine.compile.compiled import warn
from kyvsim.languages.cel_advice.written import VALIDATING, Written, selected
from kyvsim.model.diagnostic import Diagnostic

_SIGNS = "+-*/%"
_OPERATORS = frozenset(f"_{sign}_" for sign in _SIGNS)
_OBJECTS = ("object.", "oldObject.", "request.object.", "request.oldObject.")


def number_arithmetic(written: Written) -> Iterator[Diagnostic]:
    """KV252: arithmetic of a whole number and a field of an object."""
    if written.kind not in VALIDATING:
        return
    for one in written.expressions:
        for name, shown in dict.fromkeys(filter(None, map(_mixed, one.nodes()))):
            text = (
                f"`{shown}` has no value where objects are read from files: their numbers are "
                f"doubles there and whole in a cluster (`int({name})` is whole in both)"
            )
            yield warn(written.policy.document, "KV252", text, one.path)


def _mixed(node: Node) -> tuple[str, str] | None:
    """Return a field that a node reckons with, and the sum as it is written; None for no such."""
    if not isinstance(node, Call) or node.function not in _OPERATORS or len(node.arguments) != 2:
        return None
    left, right = node.arguments
    sign = node.function.strip("_")
    if _is_whole(right) and selected(left).startswith(_OBJECTS):
        return selected(left), f"{selected(left)} {sign} {_value(right)}"
    if _is_whole(left) and selected(right).startswith(_OBJECTS):
        return selected(right), f"{_value(left)} {sign} {selected(right)}"
    return None


def _is_whole(node: Node) -> bool:
    return isinstance(node, Literal) and node.value.__class__ is int


def _value(node: Node) -> object:
    return node.value if isinstance(node, Literal) else ""
