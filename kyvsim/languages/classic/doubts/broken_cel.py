"""Expressions of `validate.cel` that cannot be compiled.

Kyverno takes them and says so when the rule runs: every object that it matches fails.
"""

from collections.abc import Iterator

from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.policy import Policy


def broken_cel(policy: Policy) -> Iterator[Diagnostic]:
    """KV145: an expression that cannot be compiled, so that the rule fails for every object.

    KV212: a message that cannot be computed, in whose place Kyverno gives another.
    """
    for rule in policy.rules:
        if not (rule.data.get("validate") or {}).get("cel"):
            continue
        from kyvsim.languages.classic.rules.cel_body import cel_problems  # noqa: PLC0415 — CEL is slow to import

        for path, problem in cel_problems(rule.data):
            place = policy.document.locate((*rule.path, *path))
            if path[-1] == "messageExpression":
                text = f"rule `{rule.name}` never gives this message: {problem}"
                yield Diagnostic("KV212", Severity.WARNING, text, place)
            else:
                text = f"rule `{rule.name}` fails for every object: {problem}"
                yield Diagnostic("KV145", Severity.ERROR, text, place)
