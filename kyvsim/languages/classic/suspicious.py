"""Warnings about policies that Kyverno accepts although they certainly do not work as intended.

Such a policy passes all objects, or none. Every command reports these warnings; results are
the same as Kyverno's. Warnings of `lint` are in `kyvsim.linting`.
"""

from collections.abc import Iterator
from typing import Final

from kyvsim.kubernetes.objects import Path
from kyvsim.languages.classic.rule_type import rule_types_of
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.policy import Policy
from kyvsim.policy.rule import ForEachValidation, RuleNode, Validate


def broken_cel(policy: Policy) -> Iterator[Diagnostic]:
    """KV145: an expression that cannot be compiled, so that the rule fails for every object.

    KV212: a message that cannot be computed, so that Kyverno shows another. Kyverno accepts
    the policy and reports it when the rule runs.
    """
    for rule in policy.rules:
        broken = (found for one in rule_types_of(rule.tree) for found in one.broken(rule.tree))
        for path, what in broken:
            place = policy.document.locate(path)
            problem, *notes = what.rsplit("\nnote: ", 1)
            excerpt = tuple(f"note: {note}" for note in notes)
            if path[-1] == "messageExpression":
                text = f"rule `{rule.name}` never shows this message: {problem}"
                yield Diagnostic("KV212", Severity.WARNING, text, place, excerpt)
            else:
                text = f"rule `{rule.name}` fails for every object: {problem}"
                yield Diagnostic("KV145", Severity.ERROR, text, place, excerpt)


def empty_rules(policy: Policy) -> Iterator[Diagnostic]:
    """KV210: a rule that never has an effect."""
    for rule in policy.rules:
        for path, why in _without_effect(rule.tree):
            text = f"rule `{rule.name}` has the same result for every object: {why}"
            yield Diagnostic("KV210", Severity.WARNING, text, policy.document.locate(path))


def _without_effect(rule: RuleNode) -> Iterator[tuple[Path, str]]:
    if mutation := rule.mutate:
        merge, patch = mutation.patch_strategic_merge, mutation.patches_json6902
        for name, is_empty in (
            ("targets", mutation.targets == ()),
            ("foreach", mutation.foreach == ()),
            ("patchStrategicMerge", merge is not None and merge.data == {}),
        ):
            if is_empty:
                yield (*mutation.path, name), f"`{name}` is empty, so it changes nothing"
        if patch and patch.text.strip() == "[]":
            yield patch.path, "it has no operations, so it changes nothing"
    if rule.validate:
        yield from _without_checks(rule.validate)
    if rule.generate and rule.generate.foreach == ():
        yield (*rule.generate.path, "foreach"), "`foreach` is empty, so it generates nothing"
    for image in rule.verify_images or ():
        settings = (image.mutate_digest, image.verify_digest, image.required)
        is_checked = image.attestors or image.attestations
        if not is_checked and all(one is False for one in settings):
            yield image.path, "the entry checks nothing"
    if rule.preconditions and rule.preconditions.never_hold:
        why = "`any` of its preconditions is empty, so it is always skipped"
        yield rule.preconditions.path, why


def _without_checks(validation: Validate) -> Iterator[tuple[Path, str]]:
    security = validation.pod_security
    if security and not (security.level or security.version or security.exclude):
        yield security.path, "`podSecurity` is empty, so it checks nothing"
    yield from _empty_checks(validation)
    if validation.foreach == ():
        yield (*validation.path, "foreach"), "`foreach` is empty, so it checks nothing"
    pending = [*reversed(validation.foreach or ())]
    while pending:
        loop = pending.pop()
        pending += reversed(loop.foreach or ())
        yield from _empty_checks(loop)
        if loop.preconditions and loop.preconditions.never_hold:
            yield loop.path, "`any` of its preconditions is empty, so it skips every element"
    if validation.cel and not validation.cel.expressions:
        yield validation.cel.path, "`cel` has no expressions, so it checks nothing"


def _empty_checks(block: Validate | ForEachValidation) -> Iterator[tuple[Path, str]]:
    if block.deny and block.deny.conditions and block.deny.conditions.never_hold:
        yield block.deny.path, "`any` of its conditions is empty, so it never denies"
    is_loop = isinstance(block, ForEachValidation)
    if block.pattern and (block.pattern.data == {} or (is_loop and block.pattern.data == [])):
        yield block.pattern.path, "`pattern` is empty, so it checks nothing"
    if block.any_pattern == () or (is_loop and block.invalid_any_pattern == {}):
        yield (*block.path, "anyPattern"), "`anyPattern` is empty, so it checks nothing"


def unread_preconditions(policy: Policy) -> Iterator[Diagnostic]:
    """KV211: `celPreconditions` that are ignored, so that the rule applies to every object.

    Kyverno rejects them beside most bodies (KV137, KV138); if not, they have no effect.
    """
    for rule in policy.rules:
        cel = rule.tree.validate.cel if rule.tree.validate else None
        is_read = cel is not None and any(field not in (None, ()) for field in cel[1:])
        mutate = rule.tree.mutate
        is_rejected = rule.tree.validate is not None or (mutate is not None and not mutate.foreach)
        if is_read or is_rejected or not rule.tree.cel_preconditions:
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
