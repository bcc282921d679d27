"""Documents → ClusterPolicies and Policies.

Codes: KV023 a policy without rules.
"""

from kyvsim.kube.objects import Json, annotations, metadata, text_field
from kyvsim.languages.classic.facts import policy_facts, rule_facts
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.source import Document


def read(data: Json, document: Document) -> tuple[Policy, tuple[Diagnostic, ...]]:
    """Return a policy whose shape is right, with a remark where it has no rules."""
    spec = data["spec"]
    rules = tuple(
        Rule(rule["name"], rule, ("spec", "rules", index), rule_facts(rule, spec))
        for index, rule in enumerate(spec.get("rules", ()))
    )
    policy = Policy(
        kind=data["kind"],
        name=metadata(data)["name"],
        namespace=text_field(metadata(data), "namespace"),
        annotations=annotations(data),
        spec=spec,
        rules=rules,
        document=document,
        facts=policy_facts(spec, tuple(rule.facts for rule in rules)),
    )
    if rules:
        return policy, ()
    place = document.locate(("spec",))
    return policy, (Diagnostic("KV023", Severity.WARNING, "the policy has no rules", place),)
