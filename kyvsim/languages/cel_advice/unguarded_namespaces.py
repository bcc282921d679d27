"""Fields of `namespaceObject` in policies for objects that lie in no namespace.

upstream: pkg/cel/policies/vpol/engine/engine.go resolves it for requests with a namespace only
"""

from collections.abc import Iterator

from kyvsim.cel.nodes import Node, Select
from kyvsim.compile.remark import warn
from kyvsim.kube.discovery import lies_in_namespace
from kyvsim.languages.cel_advice.matched_kinds import matched_kinds
from kyvsim.languages.cel_advice.written import MUTATING, VALIDATING, Written, is_name
from kyvsim.model.diagnostic import Diagnostic

_NAME = "namespaceObject"
_ASKED = frozenset({"kind", "resource", "namespace", "requestKind", "requestResource"})
"""Fields that tell objects of namespaces from others."""
_KINDS = frozenset({*VALIDATING, *MUTATING, "GeneratingPolicy"})


def unguarded_namespaces(written: Written) -> Iterator[Diagnostic]:
    """KV262: a field of a namespace where there is none."""
    if written.kind not in _KINDS:
        return
    kinds = matched_kinds(written.spec)
    outside = [one.kind for one in kinds if not lies_in_namespace(one.group, one.kind)]
    # A request for a Namespace has its own name as its namespace.
    if not outside or "Namespace" in outside or _asks(written):
        return
    for one in written.expressions:
        if any(_reads(node) for node in one.nodes()):
            text = (
                f"`{_NAME}` has no fields for a {outside[0]}, which lies in no namespace "
                f"(ask for `{_NAME} != null` before)"
            )
            yield warn(written.policy.document, "KV262", text, one.path)


def _asks(written: Written) -> bool:
    """Return whether some expression may tell objects of namespaces from others."""
    nodes = [node for one in written.expressions for node in one.nodes()]
    if any(isinstance(node, Select) and node.field in _ASKED for node in nodes):
        return True
    named = sum(is_name(node, _NAME) for node in nodes)
    return named != sum(map(_reads, nodes))


def _reads(node: Node) -> bool:
    """Return whether a node is a plain field of the namespace, which ends in an error."""
    is_plain = isinstance(node, Select) and not node.test and not node.optional
    return is_plain and isinstance(node, Select) and is_name(node.operand, _NAME)
