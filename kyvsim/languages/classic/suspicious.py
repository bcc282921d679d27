"""Warnings about policies that Kyverno accepts although they certainly do not work as meant.

Such a policy passes all objects, or none. Every command reports these warnings; the results stay
Kyverno's. What only `lint` reports is in `kyvsim.lint`.
"""

from collections.abc import Iterator
from typing import Final

from kyvsim.languages.classic.rules import rule_types_of
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.policy import Policy


def broken_cel(policy: Policy) -> Iterator[Diagnostic]:
    """KV145: an expression that cannot be compiled, so that the rule fails for every object.

    KV212: a message that cannot be computed, so that Kyverno shows another. Kyverno accepts
    the policy and reports it when the rule runs.
    """
    for rule in policy.rules:
        broken = (found for one in rule_types_of(rule.data) for found in one.broken(rule.data))
        for path, problem in broken:
            place = policy.document.locate((*rule.path, *path))
            if path[-1] == "messageExpression":
                text = f"rule `{rule.name}` never shows this message: {problem}"
                yield Diagnostic("KV212", Severity.WARNING, text, place)
            else:
                text = f"rule `{rule.name}` fails for every object: {problem}"
                yield Diagnostic("KV145", Severity.ERROR, text, place)


def empty_rules(policy: Policy) -> Iterator[Diagnostic]:
    """KV210: a rule that never has an effect."""
    for rule in policy.rules:
        found = [
            ((*one.field, *path), why)
            for one in rule_types_of(rule.data)
            for path, why in one.no_effect(one.body(rule.data), rule.tree)
        ]
        if rule.tree.preconditions and rule.tree.preconditions.never_hold:
            why = "`any` of its preconditions is empty, so it is always skipped"
            found.append((("preconditions",), why))
        for path, why in found:
            place = policy.document.locate((*rule.path, *path))
            text = f"rule `{rule.name}` has the same result for every object: {why}"
            yield Diagnostic("KV210", Severity.WARNING, text, place)


def unread_preconditions(policy: Policy) -> Iterator[Diagnostic]:
    """KV211: `celPreconditions` that are ignored, so that the rule applies to every object.

    Kyverno refuses them beside most bodies; where it does not, they have no effect.
    """
    for rule in policy.rules:
        readers = (one for one in rule_types_of(rule.data) if "celPreconditions" in one.fields)
        if "celPreconditions" not in rule.data or any(one.body(rule.data) for one in readers):
            continue
        refused = " (in a cluster Kyverno rejects the policy)" if rule.generates else ""
        text = (
            f"rule `{rule.name}`: `celPreconditions` are only used with `validate.cel`, so the "
            f"rule applies to every object that it matches{refused}"
        )
        place = policy.document.locate((*rule.path, "celPreconditions"))
        yield Diagnostic("KV211", Severity.WARNING, text, place)


SUSPICIOUS: Final = (broken_cel, empty_rules, unread_preconditions)


def suspicious_parts(policy: Policy) -> tuple[Diagnostic, ...]:
    """Return warnings about a policy that Kyverno accepts."""
    return tuple(found for check in SUSPICIOUS for found in check(policy))
