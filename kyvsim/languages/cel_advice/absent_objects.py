"""Objects that requests of the only operation of a policy do not have.

At CREATE there is no old object, at DELETE no new one. To Kyverno's policies it is an empty map
then, in which no field is; to Kubernetes' own it is null, so that a policy may ask for that first.
upstream: pkg/cel/policies/vpol/engine/engine.go
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from kyvsim.cel.nodes import Node, Select
from kyvsim.compile.remark import warn
from kyvsim.languages.cel_advice.written import VALIDATING, Written, is_name
from kyvsim.model.diagnostic import Diagnostic

_ABSENT: Mapping[str, str] = MappingProxyType({"CREATE": "oldObject", "DELETE": "object"})


def absent_objects(written: Written) -> Iterator[Diagnostic]:
    """KV248: a field of an object that is never there."""
    if written.kind not in VALIDATING:
        return
    rules = (written.spec.get("matchConstraints") or {}).get("resourceRules") or ()
    operations = {name for rule in rules for name in rule.get("operations") or ("*",)}
    only = operations.pop() if len(operations) == 1 else ""
    absent = _ABSENT.get(only)
    if absent is None or (written.kind != "ValidatingPolicy" and _asks_for(written, absent)):
        return
    for one in written.expressions:
        if any(_reads_field(node, absent) for node in one.nodes()):
            text = f"`{absent}` has no field at {only}, the only operation that the policy matches"
            yield warn(written.policy.document, "KV248", text, one.path)


def _asks_for(written: Written, name: str) -> bool:
    """Return whether some expression does more with an object than to read its fields."""
    nodes = [node for one in written.expressions for node in one.nodes()]
    named = sum(is_name(node, name) for node in nodes)
    return named != sum(_reads_field(node, name) for node in nodes)


def _reads_field(node: Node, name: str) -> bool:
    is_plain = isinstance(node, Select) and not node.test and not node.optional
    return is_plain and isinstance(node, Select) and is_name(node.operand, name)
