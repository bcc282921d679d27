"""What is to be known of a policy in CEL by those who know nothing of its language."""

from collections.abc import Mapping

from kyvsim.kube.objects import Json
from kyvsim.model.facts import RuleFacts

_UPKEEP = ("synchronize", "orphanDownstreamOnPolicyDelete")


def rule_facts(spec: Mapping[str, Json]) -> RuleFacts:
    """Return the facts of the one rule that a policy is.

    Later changes of what it generates are spoken of once, under `evaluation`.
    """
    if spec.get("generate").__class__ is not list:
        return RuleFacts()
    evaluation = spec.get("evaluation") or {}
    said = {name: (evaluation.get(name) or {}).get("enabled") for name in _UPKEEP}
    return RuleFacts(upkeep={name: value for name, value in said.items() if value is not None})
