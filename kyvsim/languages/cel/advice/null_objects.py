"""Comparisons of objects with null: an object that is not there is an empty map to Kyverno.

upstream: pkg/cel/policies/vpol/engine/engine.go
"""

from collections.abc import Iterator
from itertools import permutations

from kyvsim.cel.nodes import Call, Literal, Node
from kyvsim.engine.compile.compiled import warn
from kyvsim.languages.cel_advice.written import Written, is_name
from kyvsim.model.diagnostic import Diagnostic

_OBJECTS = ("object", "oldObject")


def null_objects(written: Written) -> Iterator[Diagnostic]:
    """KV247: `object` or `oldObject` beside null, which neither ever is."""
    if written.kind != "ValidatingPolicy" or not _is_of_kubernetes(written):
        return
    for one in written.expressions:
        for name in dict.fromkeys(filter(None, map(_compared, one.nodes()))):
            text = (
                f"`{name}` is never null: where there is no such object it is an empty map "
                f"(`request.operation` tells, or `has({name}.metadata)`)"
            )
            yield warn(written.policy.document, "KV247", text, one.path)


def _is_of_kubernetes(written: Written) -> bool:
    mode = (written.spec.get("evaluation") or {}).get("mode") or "Kubernetes"
    return bool(mode == "Kubernetes")


def _compared(node: Node) -> str:
    """Return which object a node compares with null, "" for none."""
    if not isinstance(node, Call) or node.function not in {"_==_", "_!=_"}:
        return ""
    for left, right in permutations(node.arguments):
        if isinstance(right, Literal) and right.value is None:
            return next((name for name in _OBJECTS if is_name(left, name)), "")
    return ""
