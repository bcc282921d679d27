"""DeletingPolicies that delete whatever they match.

upstream: pkg/cel/policies/dpol/compiler/policy.go
"""

from collections.abc import Iterator

from kyvsim.engine.compile.compiled import warn
from kyvsim.languages.cel_advice.written import Written
from kyvsim.model.diagnostic import Diagnostic

_SELECTORS = ("objectSelector", "namespaceSelector")


def no_conditions(written: Written) -> Iterator[Diagnostic]:
    """KV256: a DeletingPolicy without `conditions`, selectors and names."""
    if written.kind != "DeletingPolicy" or written.spec.get("conditions"):
        return
    constraints = written.spec.get("matchConstraints") or {}
    rules = constraints.get("resourceRules") or ()
    narrowed = any(any((constraints.get(name) or {}).values()) for name in _SELECTORS)
    if rules and not narrowed and not any(rule.get("resourceNames") for rule in rules):
        text = "the policy deletes all objects of the kinds that it names: it has no `conditions`"
        yield warn(written.policy.document, "KV256", text, ("spec",))
