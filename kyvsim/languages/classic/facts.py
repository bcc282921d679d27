"""What is to be known of a rule, and of the policy that it is in: read once, for all others."""

from collections.abc import Mapping

from kyvsim.engine.match import kinds_of_block
from kyvsim.kubernetes.objects import Json, Path
from kyvsim.languages.classic.rules import rule_types_of
from kyvsim.model.policy import FailureAction, Override, PolicyFacts, Rule, RuleFacts
from kyvsim.policy.rule import FailureOverride, PolicyNode, RuleNode, read_rule


def rule_of(data: Mapping[str, Json], path: Path, policy: PolicyNode) -> Rule:
    """Return a rule that is written at a path, in a policy with this specification."""
    tree = read_rule(data, path)
    return Rule(tree.name, data, path, _rule_facts(tree, policy), tree)


def derived_rule(written: Rule, data: Mapping[str, Json], fields: Path, policy: PolicyNode) -> Rule:
    """Return the rule with this data that autogen derived; its patterns are under `fields`."""
    tree = read_rule(data, written.path, fields)
    facts = _rule_facts(tree, policy)
    return Rule(tree.name, data, written.path, facts, tree, autogen_prefix=fields)


def _rule_facts(rule: RuleNode, policy: PolicyNode) -> RuleFacts:
    """Return the facts of a rule. Those of all rules are set here; rule types add the rest."""
    types = tuple(rule_types_of(rule))
    validate = rule.validate
    facts = RuleFacts(
        section=types[0].section if types else "",
        kinds=kinds_of_block(rule.match),
        action=_action(validate.failure_action, validate.overrides) if validate else _action(),
        sees_background=rule.skip_background_requests is False,
    )
    for one in types:
        facts = one.facts(facts, rule, policy)
    return facts


def policy_facts(policy: PolicyNode, rules: tuple[RuleFacts, ...]) -> PolicyFacts:
    """Return the facts of a ClusterPolicy or Policy, of those of its rules and the rest."""
    webhook = policy.webhook
    failure_policy = (webhook and webhook.failure_policy) or policy.failure_policy
    mutates_on_update = any(one.mutates_on_update for one in rules)
    return PolicyFacts(
        api_version="kyverno.io/v1",
        action=_action(policy.validation_failure_action, policy.overrides),
        admission=policy.admission is not False,
        background=policy.background is not False,
        applies_one_rule=policy.apply_rules == "One",
        emits_warnings=policy.emit_warning is True,
        fails_closed=failure_policy in {"", "Fail"},
        webhook_conditions=tuple(
            (one.name, one.expression) for one in (webhook.match_conditions if webhook else ())
        ),
        webhook_timeout=(webhook and webhook.timeout_seconds) or policy.webhook_timeout_seconds,
        applies_server_side=policy.use_server_side_apply is True,
        mutates_on_update=mutates_on_update or policy.mutate_existing_on_policy_update is True,
    )


def _action(action: str = "", overrides: tuple[FailureOverride, ...] = ()) -> FailureAction:
    return FailureAction(
        action, tuple(Override(one.action, one.namespaces, one.selector) for one in overrides)
    )
