"""Documents → policies without rules: their whole `spec` is what their one rule says."""

from kyvsim.kubernetes.objects import Json, annotations, metadata, text_field
from kyvsim.model.policy import Policy, PolicyFacts, Rule, RuleFacts
from kyvsim.model.source import Document


def whole_policy(
    data: Json, document: Document, facts: PolicyFacts, of_rule: RuleFacts, *, rule_name: str = ""
) -> Policy:
    """Return a policy with one rule, which has the policy's specification."""
    return Policy(
        kind=data["kind"],
        name=metadata(data)["name"],
        namespace=text_field(metadata(data), "namespace"),
        annotations=annotations(data),
        spec=data["spec"],
        rules=(Rule(rule_name, data["spec"], ("spec",), of_rule),),
        document=document,
        facts=facts,
    )
