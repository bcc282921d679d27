"""Objects that requests of the only operation of a policy do not have.

At CREATE there is no old object, at DELETE no new one. To Kyverno's policies it is an empty map
then, in which no field is; to Kubernetes' own it is null, so that a policy may ask for that first.
upstream: pkg/cel/policies/vpol/engine/engine.go
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from kyvsim.engine.compile.compiled import warn
from kyvsim.languages.cel_advice.written import VALIDATING, Written, reads_field
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
    if absent is None:
        return
    if written.kind != "ValidatingPolicy" and not written.only_reads_fields(absent):
        return
    for one in written.expressions:
        if any(reads_field(node, absent) for node in one.nodes()):
            text = f"`{absent}` has no field at {only}, the only operation that the policy matches"
            yield warn(written.policy.document, "KV248", text, one.path)
