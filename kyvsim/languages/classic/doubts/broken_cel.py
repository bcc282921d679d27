"""Expressions of `validate.cel` that cannot be compiled.

Kyverno takes them and says so when the rule runs: every object that it matches fails.
"""

from collections.abc import Iterator
from itertools import chain

from kyvsim.languages.classic.rules import rule_types_of
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.policy import Policy


def broken_cel(policy: Policy) -> Iterator[Diagnostic]:
    """KV145: an expression that cannot be compiled, so that the rule fails for every object.

    KV212: a message that cannot be computed, in whose place Kyverno gives another.
    """
    for rule in policy.rules:
        broken = (one.broken(rule.data) for one in rule_types_of(rule.data))
        for path, problem in chain.from_iterable(broken):
            place = policy.document.locate((*rule.path, *path))
            if path[-1] == "messageExpression":
                text = f"rule `{rule.name}` never gives this message: {problem}"
                yield Diagnostic("KV212", Severity.WARNING, text, place)
            else:
                text = f"rule `{rule.name}` fails for every object: {problem}"
                yield Diagnostic("KV145", Severity.ERROR, text, place)
