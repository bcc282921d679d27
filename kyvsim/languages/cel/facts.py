"""What is to be known of a policy in CEL by those who know nothing of its language."""

from collections.abc import Mapping

from kyvsim.kube.objects import Json
from kyvsim.model.facts import FailureAction, PolicyFacts, RuleFacts

_API_VERSION = "policies.kyverno.io/v1beta1"
"""The one that Kyverno itself reads and speaks of."""
_UPKEEP = ("synchronize", "orphanDownstreamOnPolicyDelete")
_OF_POLICY = "useServerSideApply"


def policy_facts(kind: str, spec: Mapping[str, Json]) -> PolicyFacts:
    """Return the facts of a policy as a whole."""
    actions = spec.get("validationActions") or ("Deny",)
    return PolicyFacts(
        _API_VERSION,
        FailureAction("Enforce" if "Deny" in actions else "Audit"),
        admission=_switch(spec, "admission") is not False,
        background=_switch(spec, "background") is not False,
        emits_warnings="Warn" in actions,
        fails_closed=spec.get("failurePolicy") != "Ignore",
        schedule=str(spec.get("schedule") or "") if kind.endswith("DeletingPolicy") else None,
        propagation=str(spec.get("deletionPropagationPolicy") or "Background"),
        has_rules=False,
    )


def rule_facts(spec: Mapping[str, Json]) -> RuleFacts:
    """Return the facts of the one rule that a policy is.

    Later changes of what it generates are spoken of once, under `evaluation`.
    """
    sees = spec.get("skipBackgroundRequests") is False
    if spec.get("generate").__class__ is not list:
        return RuleFacts(sees_background=sees)
    said = {name: _switch(spec, name) for name in _UPKEEP}
    said[_OF_POLICY] = spec.get(_OF_POLICY)
    upkeep = {name: value for name, value in said.items() if value is not None}
    return RuleFacts(upkeep=upkeep, sees_background=sees)


def _switch(spec: Mapping[str, Json], name: str) -> Json:
    """Return whether something is switched on under `evaluation`; None where nothing is said."""
    return ((spec.get("evaluation") or {}).get(name) or {}).get("enabled")
