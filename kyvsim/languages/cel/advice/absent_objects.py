"""Objects that requests of the only operation of a policy do not have.

At CREATE there is no old object, at DELETE no new one: it is an empty map, in which no field is.
upstream: pkg/cel/policies/vpol/engine/engine.go
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from kyvsim.cel.nodes import Node, Select
from kyvsim.compile.remark import warn
from kyvsim.languages.cel.advice.written import Written, is_name
from kyvsim.model.diagnostic import Diagnostic

_ABSENT: Mapping[str, str] = MappingProxyType({"CREATE": "oldObject", "DELETE": "object"})


def absent_objects(written: Written) -> Iterator[Diagnostic]:
    """KV248: a field of an object that is never there."""
    if written.kind != "ValidatingPolicy":
        return
    rules = (written.spec.get("matchConstraints") or {}).get("resourceRules") or ()
    operations = {name for rule in rules for name in rule.get("operations") or ("*",)}
    only = operations.pop() if len(operations) == 1 else ""
    absent = _ABSENT.get(only)
    if absent is None:
        return
    for one in written.expressions:
        if any(_reads_field(node, absent) for node in one.nodes()):
            text = f"`{absent}` has no field at {only}, the only operation that the policy matches"
            yield warn(written.policy.document, "KV248", text, one.path)


def _reads_field(node: Node, name: str) -> bool:
    is_plain = isinstance(node, Select) and not node.test and not node.optional
    return is_plain and isinstance(node, Select) and is_name(node.operand, name)
