"""ClusterPolicy and Policy documents to policies, and whether they need a request."""

from kyvsim.kube.objects import Json, annotations, metadata, text_field
from kyvsim.languages.classic.checks.refusal import rules_under_check
from kyvsim.languages.classic.checks.variables import invalid_variables, user_dependencies
from kyvsim.languages.classic.facts import policy_facts, rule_facts
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.source import Document

# Documents → ClusterPolicies and Policies.
#
# Codes: KV023 a policy without rules.


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


# What of a policy only a request tells: its user, and variables of its own.


def needs_request(policy: Policy) -> bool:
    """Return whether a policy cannot be looked at in the background."""
    if any(True for _ in user_dependencies(policy)):
        return True
    subjects = rules_under_check(policy)
    return any(True for one in subjects for _ in invalid_variables(one, background=True))
