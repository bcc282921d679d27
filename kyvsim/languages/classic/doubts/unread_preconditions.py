"""CEL preconditions beside a body that knows none.

Kyverno refuses them beside most; where it does not, nobody reads them.
"""

from collections.abc import Iterator

from kyvsim.languages.classic.rules import rule_types_of
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.policy import Policy


def unread_preconditions(policy: Policy) -> Iterator[Diagnostic]:
    """KV211: `celPreconditions` that nobody reads, so that the rule works on every object."""
    for rule in policy.rules:
        readers = (one for one in rule_types_of(rule.data) if "celPreconditions" in one.fields)
        if "celPreconditions" not in rule.data or any(one.body(rule.data) for one in readers):
            continue
        refused = " (in a cluster Kyverno refuses the policy)" if rule.generates else ""
        text = (
            f"rule `{rule.name}`: `celPreconditions` are read beside `validate.cel` only,"
            f" so it works on every object that it matches{refused}"
        )
        place = policy.document.locate((*rule.path, "celPreconditions"))
        yield Diagnostic("KV211", Severity.WARNING, text, place)
