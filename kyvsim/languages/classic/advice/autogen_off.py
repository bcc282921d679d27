"""One rule that keeps the others of its policy from pod controllers.

Rules for controllers are derived for all rules of a policy or for none. The annotation
`pod-policies.kyverno.io/autogen-controllers: none` says that none are wanted.
"""

from collections.abc import Iterator
from dataclasses import replace

from kyvsim.engine.compile.compiled import warn
from kyvsim.languages.classic.autogen import ANNOTATION, compute_rules, hindrance
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy, Rule


def autogen_off(policy: Policy) -> Iterator[Diagnostic]:
    """KV207: a rule because of which no rule of its policy reaches pod controllers."""
    hindering = [rule for rule in policy.rules if hindrance(rule)]
    others = [rule for rule in policy.rules if not hindrance(rule)]
    lost = [rule.name for rule in others if _derives(policy, rule)]
    if not hindering or not lost:
        return
    listed = ", ".join(f"`{name}`" for name in lost)
    for rule in hindering:
        text = (
            f"rule `{rule.name}` switches off autogen for the whole policy, because"
            f" {hindrance(rule)}: Pod controllers do not meet {listed} (move it to a policy of its"
            f" own, or set `{ANNOTATION}: none` where that is meant)"
        )
        yield warn(policy.document, "KV207", text, rule.path)


def _derives(policy: Policy, rule: Rule) -> bool:
    return bool(compute_rules(replace(policy, rules=(rule,))).derived)
