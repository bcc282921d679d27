"""What is to be known of a rule, and of the policy that it is in: read once, for all others."""

from collections.abc import Mapping
from dataclasses import replace

from kyvsim.engine.match.criteria import filters, kinds_of_block
from kyvsim.kubernetes.objects import Json, Path
from kyvsim.languages.classic.rules import rule_types_of
from kyvsim.model.policy import FailureAction, Override, PolicyFacts, Rule, RuleFacts
from kyvsim.policy.read import read_rule


def rule_facts(rule: Mapping[str, Json], spec: Mapping[str, Json]) -> RuleFacts:
    """Return the facts of a rule in a policy with this specification.

    Facts that all rules have are set here; rule types add the rest.
    """
    types = tuple(rule_types_of(rule))
    facts = RuleFacts(
        section=types[0].section if types else "",
        match=tuple(filters(rule, "match")),
        exclude=tuple(filters(rule, "exclude")),
        kinds=kinds_of_block(rule.get("match") or {}),
        action=failure_action(rule.get("validate") or {}, "failureAction"),
        sees_background=rule.get("skipBackgroundRequests") is False,
    )
    for one in types:
        facts = one.facts(facts, rule, spec)
    return facts


def rule_of(data: Mapping[str, Json], path: Path, spec: Mapping[str, Json]) -> Rule:
    """Return a rule that is written at a path, in a policy with this specification."""
    return Rule(data["name"], data, path, rule_facts(data, spec), read_rule(data, path))


def with_facts(rule: Rule, spec: Mapping[str, Json]) -> Rule:
    """Return a rule with the tree and the facts of its data."""
    facts = rule_facts(rule.data, spec)
    return replace(rule, facts=facts, tree=read_rule(rule.data, rule.path))


def policy_facts(spec: Mapping[str, Json], rules: tuple[RuleFacts, ...]) -> PolicyFacts:
    """Return the facts of a ClusterPolicy or Policy, of those of its rules and the rest."""
    webhook = spec.get("webhookConfiguration") or {}
    chosen = webhook.get("failurePolicy") or spec.get("failurePolicy") or "Fail"
    own = any(one.mutates_on_update for one in rules)
    return PolicyFacts(
        api_version="kyverno.io/v1",
        action=failure_action(spec, "validationFailureAction"),
        admission=spec.get("admission") is not False,
        background=spec.get("background") is not False,
        applies_one_rule=spec.get("applyRules") == "One",
        emits_warnings=spec.get("emitWarning") is True,
        fails_closed=chosen == "Fail",
        webhook_conditions=tuple(
            (one["name"], one["expression"]) for one in webhook.get("matchConditions") or ()
        ),
        webhook_timeout=webhook.get("timeoutSeconds") or spec.get("webhookTimeoutSeconds"),
        applies_server_side=bool(spec.get("useServerSideApply")),
        mutates_on_update=own or bool(spec.get("mutateExistingOnPolicyUpdate")),
    )


def failure_action(written: Mapping[str, Json], field: str) -> FailureAction:
    """Return the action of `field` and its overrides, `failureAction` or its older name."""
    overrides = []
    for one in written.get(f"{field}Overrides") or ():
        namespaces = one.get("namespaces")
        overrides.append(
            Override(
                str(one.get("action") or ""),
                None if namespaces is None else tuple(map(str, namespaces)),
                one.get("namespaceSelector"),
            )
        )
    return FailureAction(str(written.get(field) or ""), tuple(overrides))
