"""Ways to a Pod's fields that stay as they are in what is derived for controllers.

Derived expressions are made by replacing the text `object.spec`: what is spelled otherwise looks
at the controller's own fields, finds nothing, and may well pass.
upstream: pkg/cel/autogen
"""

from collections.abc import Iterator

from kyvsim.cel.nodes import Call, Literal, Node, Select
from kyvsim.engine.compile.compiled import warn
from kyvsim.languages.cel_advice.written import Written, is_name
from kyvsim.model.diagnostic import Diagnostic

_OBJECTS = ("object", "oldObject")


def controllers_spec(written: Written) -> Iterator[Diagnostic]:
    """KV243: a way to the fields of Pods that autogen does not see."""
    if not written.is_derived:
        return
    for one in written.expressions:
        spellings = dict.fromkeys(filter(None, map(_spelling, one.nodes())))
        for spelled, plain in spellings:
            text = (
                f"`{spelled}` is not changed in what is derived for the controllers of Pods: of a "
                f"Deployment it is the Deployment's own, in which a Pod's fields are not "
                f"(`{plain}` is changed)"
            )
            yield warn(written.policy.document, "KV243", text, one.path)


def _spelling(node: Node) -> tuple[str, str] | None:
    """Return how a node writes `object.spec`, and how it ought to; None where it is fine."""
    if isinstance(node, Select) and node.optional and node.field == "spec":
        for name in _OBJECTS:
            if is_name(node.operand, name):
                return f"{name}.?spec", f"{name}.spec"
    if isinstance(node, Call) and node.function in {"_[_]", "_[?_]"}:
        operand, key = node.arguments
        for name in _OBJECTS:
            if is_name(operand, name) and isinstance(key, Literal) and key.value == "spec":
                mark = "?" if node.function == "_[?_]" else ""
                return f"{name}[{mark}'spec']", f"{name}.spec"
    return None
