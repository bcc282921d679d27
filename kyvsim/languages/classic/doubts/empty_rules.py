"""Rules that say the same of every object, because what they would look at is empty."""

from collections.abc import Iterator

from kyvsim.languages.classic.rule_type import Remark
from kyvsim.languages.classic.rules import rule_types_of
from kyvsim.languages.classic.rules.idle import never_holds
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.policy import Policy, Rule


def empty_rules(policy: Policy) -> Iterator[Diagnostic]:
    """KV210: a rule that can say nothing, whatever it is given."""
    for rule in policy.rules:
        for path, why in _empty(rule):
            place = policy.document.locate((*rule.path, *path))
            text = f"rule `{rule.name}` says the same of every object: {why}"
            yield Diagnostic("KV210", Severity.WARNING, text, place)


def _empty(rule: Rule) -> Iterator[Remark]:
    for one in rule_types_of(rule.data):
        for path, why in one.idle(one.body(rule.data)):
            yield (*one.field, *path), why
    if never_holds(rule.data.get("preconditions")):
        yield ("preconditions",), "`any` of its preconditions is empty, so it is always skipped"
