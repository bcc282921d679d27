"""Fields of `namespaceObject` in policies for objects that lie in no namespace.

upstream: pkg/cel/policies/vpol/engine/engine.go resolves it for requests with a namespace only
"""

from collections.abc import Iterator

from kyvsim.cel.nodes import Select
from kyvsim.engine.compile.compiled import warn
from kyvsim.kubernetes.discovery import lies_in_namespace
from kyvsim.languages.cel_advice.matched_kinds import matched_kinds
from kyvsim.languages.cel_advice.written import MUTATING, VALIDATING, Written, reads_field
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
        if any(reads_field(node, _NAME) for node in one.nodes()):
            text = (
                f"`{_NAME}` has no fields for a {outside[0]}, which lies in no namespace "
                f"(ask for `{_NAME} != null` before)"
            )
            yield warn(written.policy.document, "KV262", text, one.path)


def _asks(written: Written) -> bool:
    """Return whether some expression may tell objects of namespaces from others."""
    if any(isinstance(node, Select) and node.field in _ASKED for node in written.nodes()):
        return True
    return not written.only_reads_fields(_NAME)
