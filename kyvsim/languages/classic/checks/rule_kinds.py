"""Every rule has a name of its own and does exactly one thing.

upstream: api/kyverno/v1/rule_types.go, spec_types.go
"""

from collections.abc import Iterator

from kyvsim.languages.classic.checks.refusal import RuleUnderCheck, has, refuse
from kyvsim.languages.classic.rules import SECTIONS
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy


def check_rule_names(policy: Policy) -> Iterator[Diagnostic]:
    """Rule names are unique."""
    seen = set()
    for index, rule in enumerate(policy.spec.get("rules", ())):
        name = rule["name"]
        if name in seen:
            text = f"spec.rules[{index}].name: Invalid value: Duplicate rule name: '{name}'"
            yield refuse(policy, "KV120", text, ("spec", "rules", index, "name"))
        seen.add(name)


def check_operations(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """A rule mutates, validates, generates or verifies images."""
    name = subject.rule.name
    count = sum(has(subject.data, section) for section in SECTIONS)
    if count == 0:
        text = (
            f"{subject.text_path}: Invalid value: No operation defined in the rule '{name}'."
            "(supported operations: mutate,validate,generate,verifyImages)"
        )
        yield subject.refuse("KV121", text)
    elif count > 1:
        text = (
            f"{subject.text_path}: Invalid value: Multiple operations defined in the rule '{name}',"
            " only one operation (mutate,validate,generate,verifyImages) is allowed per rule"
        )
        yield subject.refuse("KV121", text)
    if "imageExtractors" in subject.data and not has(subject.data, "verifyImages"):
        text = (
            f"{subject.text_path}.imageExtractors: Invalid value: Invalid rule spec for rule"
            f" '{name}', imageExtractors can only be defined for verifyImages rule"
        )
        yield subject.refuse("KV121", text, ("imageExtractors",))
