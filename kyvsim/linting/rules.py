"""Checks of whole rules: match blocks, autogen, duplicate and contradicting rules."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from operator import eq
from typing import NamedTuple

from kyvsim.engine.compile.compiled import warn
from kyvsim.engine.match import criteria_of
from kyvsim.kubernetes.discovery import parse_kind_selector
from kyvsim.kubernetes.objects import Path, found_at, without
from kyvsim.kubernetes.wildcard import covers
from kyvsim.languages.classic.autogen import POD_CONTROLLERS, compute_rules
from kyvsim.languages.classic.validation.match_blocks import check_empty_match
from kyvsim.languages.classic.validation.rule_parts import rules_under_check
from kyvsim.linting.matching import filters_apart
from kyvsim.linting.traversal import joined_texts, nodes_of, texts_of
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy, Rule
from kyvsim.policy.autogen import ANNOTATION, blocker_of
from kyvsim.policy.rule import ForEachValidation
from kyvsim.policy.tree import (
    Deny,
    MatchBlock,
    PatternLeaf,
    PatternMap,
    PatternNode,
    ResourceFilter,
)


def never_matches(policy: Policy) -> Iterator[Diagnostic]:
    """KV206: a rule that cannot match anything.

    Kyverno rejects the simplest cases (KV122). upstream: pkg/engine/utils/match.go
    """
    for subject in rules_under_check(policy):
        match, exclude = subject.rule.tree.match, subject.rule.tree.exclude
        filters = () if match.any else match.all or ()
        criterion = filters_apart(filters)
        if criterion:
            text = (
                f"the rule never matches: filters of `match.all` have no {criterion} in common "
                "(write `any` if one is enough)"
            )
            yield warn(policy.document, "KV206", text, (*match.path, "all"))
        if _only_deletes(match) and _changes_requests(subject.rule):
            text = (
                "the rule never acts: it only matches DELETE, and deleted objects are not changed "
                "or verified"
            )
            yield warn(policy.document, "KV206", text, match.path)
        if exclude and _excludes_all(match, exclude) and not any(check_empty_match(subject)):
            text = "the rule never matches: its exclude block covers everything that it matches"
            yield warn(policy.document, "KV206", text, exclude.path)


def _only_deletes(match: MatchBlock) -> bool:
    return bool(match.effective) and all(one.operations == ("DELETE",) for one in match.effective)


def _changes_requests(rule: Rule) -> bool:
    return bool(rule.tree.verify_images) or bool(rule.tree.mutate and not rule.mutates_existing)


def _excludes_all(match: MatchBlock, exclude: MatchBlock) -> bool:
    removed = exclude.effective
    if not exclude.any and len(removed) > 1:
        return False
    if match.any:
        return all(any(_covers(out, one) for out in removed) for one in match.any)
    return any(_covers(out, one) for out in removed for one in match.effective)


def _covers(removed: ResourceFilter, matched: ResourceFilter) -> bool:
    """Return whether a filter certainly excludes all that another one matches."""
    covered = {
        "operations": _all_fit(eq, removed.operations, matched.operations),
        "kinds": _all_fit(_is_kind, removed.kinds, matched.kinds),
        "name": bool(matched.name) and covers(removed.name, matched.name),
        "names": _all_fit(covers, removed.names, matched.names),
        "namespaces": _all_fit(covers, removed.namespaces, matched.namespaces),
        "annotations": removed.annotations == matched.annotations,
        "selector": removed.selector == matched.selector,
        "namespaceSelector": removed.namespace_selector == matched.namespace_selector,
    }
    criteria = criteria_of(removed)
    return bool(criteria) and all(covered.get(one.field, False) for one in criteria)


def _all_fit(
    fits: Callable[[str, str], bool],
    removed: tuple[str, ...] | None,
    matched: tuple[str, ...] | None,
) -> bool:
    if not matched:
        return False
    return all(any(fits(out, one) for out in removed or ()) for one in matched)


def _is_kind(removed: str, matched: str) -> bool:
    pairs = zip(parse_kind_selector(removed), parse_kind_selector(matched), strict=True)
    return all(out in {one, "*"} for out, one in pairs)


def empty_conditions(policy: Policy) -> Iterator[Diagnostic]:
    """KV347: `conditions` without a condition, with which a rule denies everything.

    upstream: pkg/engine/handlers/validation/validate_resource.go, pkg/engine/variables/evaluate.go
    """
    for rule in policy.rules:
        for one in nodes_of(rule) if rule.tree.validate and "deny" in joined_texts(rule) else ():
            if not isinstance(one, Deny) or (one.conditions and one.conditions.conditions):
                continue
            never = one.conditions is not None and one.conditions.never_hold
            # The node lacks a field that is null.
            if not never and "conditions" in found_at(policy.document.data, one.path):
                text = (
                    "there is no condition, so the rule denies every object that it matches: add "
                    "one, or write `deny: {}` if that is meant"
                )
                yield warn(policy.document, "KV347", text, (*one.path, "conditions"))


def loops_without_element(policy: Policy) -> Iterator[Diagnostic]:
    """KV358: a loop with `deny` that evaluates the same conditions for each element."""
    for rule in policy.rules:
        for loop in nodes_of(rule) if rule.tree.validate and rule.tree.validate.foreach else ():
            if not isinstance(loop, ForEachValidation) or not loop.deny or loop.foreach:
                continue
            inside = [
                one.text
                for one in texts_of(rule)
                if one.path[: len(loop.path)] == loop.path
                and one.path[len(loop.path) :] != ("list",)
            ]
            if not any("element" in text for text in inside):
                text = (
                    "the conditions do not use `element`, so they are the same for each element of "
                    f"`{loop.list}`: write `element.…` for its fields"
                )
                yield warn(policy.document, "KV358", text, (*loop.path, "list"))


def denials_without_admission(policy: Policy) -> Iterator[Diagnostic]:
    """KV392: rules that shall deny requests, in a policy that only scans evaluate.

    upstream: pkg/controllers/webhook/controller.go
    """
    if policy.spec.get("admission") is not False:
        return
    for rule in policy.rules:
        validate = rule.tree.validate
        action = (validate and validate.failure_action) or policy.tree.validation_failure_action
        if validate and str(action).lower() == "enforce":
            text = (
                "`Enforce` has no effect: with `admission: false` the policy is only evaluated in "
                "scans (write `Audit`, or enable it)"
            )
            yield warn(policy.document, "KV392", text, validate.path)


def autogen_off(policy: Policy) -> Iterator[Diagnostic]:
    """KV207: a rule that disables autogen for the whole policy.

    Autogen derives rules for all rules of a policy or for none.
    """
    reasons = [(rule, blocker_of(rule.tree)) for rule in policy.rules]
    blocking = [(rule, why) for rule, why in reasons if why]
    lost = [
        rule.name
        for rule, why in reasons
        if not why and compute_rules(policy._replace(rules=(rule,))).derived
    ]
    if not blocking or not lost:
        return
    listed = ", ".join(f"`{name}`" for name in lost)
    for rule, why in blocking:
        text = (
            f"rule `{rule.name}` disables autogen for the whole policy, because {why}, so "
            f"{listed} {'is' if len(lost) == 1 else 'are'} not applied to Pod controllers (move "
            f"the rule to a policy of its own, or set `{ANNOTATION}: none` if that is intended)"
        )
        yield warn(policy.document, "KV207", text, rule.path)


class _Placed(NamedTuple):
    policy: Policy
    rule: Rule

    def label(self, other: Policy) -> str:
        """Return the name of the rule, with its policy if that is not `other`."""
        name = f"`{self.rule.name}`"
        if self.policy is other:
            return name
        return f"{name} of `{self.policy.key}` ({self.policy.document.locate(self.rule.path)})"


def repeated_rules(policies: Iterable[Policy]) -> Iterator[Diagnostic]:
    """KV220: a rule that duplicates an earlier rule."""
    seen: dict[str, list[_Placed]] = {}
    for one in _rules(policies):
        tree, policy = one.rule.tree, one.policy
        # Duplicates of these have no further effect; a patch may add an item twice.
        if not (tree.validate or tree.generate or tree.verify_images):
            continue
        spec = {name: value for name, value in policy.spec.items() if name != "rules"}
        data = without(tree.data, ("name",))
        if tree.validate:
            data = without(data, ("validate", "message"))
        key = _text([policy.kind, policy.namespace, policy.scored, spec, data])
        before = seen.setdefault(key, [])
        # Autogen must derive the other rule for at least the same controllers.
        first = next(
            (
                other
                for other in before
                if other.policy is policy or _derived_kinds(other) >= _derived_kinds(one)
            ),
            None,
        )
        before.append(one)
        if first is not None and not _is_same_policy(first.policy, one.policy):
            text = f"rule `{one.rule.name}` is a duplicate of {first.label(one.policy)}"
            yield warn(one.policy.document, "KV220", text, one.rule.path)


def contradicting_rules(policies: Iterable[Policy]) -> Iterator[Diagnostic]:
    """KV221: a rule whose pattern contradicts that of another rule.

    Only rules for the same objects are compared: with equal blocks, contexts and preconditions.
    """
    # By the scope of a rule, a path in its pattern, and the type of the value.
    seen: dict[tuple[str, Path, type], dict[str | bool, _Placed]] = {}
    for one in _rules(policies):
        tree = one.rule.tree
        pattern = tree.validate.pattern if tree.validate else None
        if not pattern or any(sign in _text(pattern.data) for sign in ("(", "{{", "*", "?")):
            continue
        parts = ("match", "exclude", "preconditions", "celPreconditions", "context")
        own = [tree.data.get(name) for name in parts]
        scope = _text([one.policy.kind, one.policy.namespace, one.policy.facts.action, *own])
        values = {
            (scope, leaf.path[len(pattern.path) :], leaf.data.__class__): leaf.data
            for leaf in _plain_leaves(pattern.root)
        }
        clashes = (
            (field[1], value, other_value, other)
            for field, value in values.items()
            for other_value, other in seen.get(field, {}).items()
            if other_value != value and not _is_same_policy(other.policy, one.policy)
        )
        for path, value, other_value, other in islice(clashes, 1):
            name = ".".join(map(str, path))
            text = (
                f"this rule contradicts {other.label(one.policy)}: no object satisfies both, "
                f"since one requires `{name}` to be {json.dumps(value)} and the other "
                f"{json.dumps(other_value)}"
            )
            yield warn(one.policy.document, "KV221", text, (*pattern.path, *path))
        for field, value in values.items():
            seen.setdefault(field, {}).setdefault(value, one)


def _rules(policies: Iterable[Policy]) -> Iterator[_Placed]:
    for policy in policies:
        if policy.kind in {"ClusterPolicy", "Policy"} and not policy.applies_one_rule:
            yield from (_Placed(policy, rule) for rule in policy.rules)


def _is_same_policy(one: Policy, other: Policy) -> bool:
    named = (one.kind, one.key) == (other.kind, other.key)
    return named and one.document is not other.document


def _derived_kinds(one: _Placed) -> frozenset[str]:
    found = compute_rules(one.policy)
    derived = any(made.written is one.rule for made in found.derived)
    return found.controllers & POD_CONTROLLERS if derived else frozenset()


def _text(data: object) -> str:
    return json.dumps(data, sort_keys=True, default=str)


def _plain_leaves(pattern: PatternNode) -> Iterator[PatternLeaf]:
    if isinstance(pattern, PatternMap):
        for entry in pattern.entries:
            yield from _plain_leaves(entry.value)
    elif isinstance(pattern, PatternLeaf):
        value = pattern.data
        is_word = isinstance(value, str) and re.fullmatch("[A-Za-z]{2,}", value) is not None
        if value.__class__ is bool or (is_word and value.lower() not in {"true", "false", "null"}):
            yield pattern
