"""Policies on the controllers of Pods by name that leave one of them out.

The Pods themselves are not named either, so what such a controller makes is never looked at.
"""

from collections.abc import Iterator

from kyvsim.cel.nodes import Select
from kyvsim.engine.compile.compiled import warn
from kyvsim.languages.cel_advice.written import VALIDATING, Written
from kyvsim.model.diagnostic import Diagnostic

_OTHERS = frozenset({"deployments", "daemonsets", "statefulsets", "replicasets", "jobs"})
_LEFT_OUT = "replicationcontrollers"


def unseen_controllers(written: Written) -> Iterator[Diagnostic]:
    """KV268: a policy on all controllers of Pods but the oldest."""
    if written.kind not in VALIDATING:
        return
    rules = (written.spec.get("matchConstraints") or {}).get("resourceRules") or ()
    names = {name for rule in rules for name in rule.get("resources") or ("*",)}
    named = names >= _OTHERS and names.isdisjoint({"pods", _LEFT_OUT})
    if not named or any("*" in name for name in names):
        return
    fields = {
        node.field
        for one in written.expressions
        for node in one.nodes()
        if isinstance(node, Select)
    }
    if "template" in fields:
        text = (
            f"neither `{_LEFT_OUT}` nor `pods` is named beside the other controllers of Pods: what "
            "a ReplicationController makes passes the policy unseen"
        )
        path = ("spec", "matchConstraints", "resourceRules")
        yield warn(written.policy.document, "KV268", text, path)
