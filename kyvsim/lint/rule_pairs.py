"""Rules that repeat or contradict each other.

Only rules for the same objects are compared: with the same blocks, contexts and preconditions.
"""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple, TypeAlias

from kyvsim.engine.compile.compiled import warn
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.autogen import POD_CONTROLLERS, compute_rules
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.source import Path

# Pairs of rules: one that repeats another, and two that no object can satisfy.
#
# Compared are rules for the same objects: their blocks, contexts and preconditions are the same.

_SCOPE = ("match", "exclude", "preconditions", "celPreconditions", "context")
_BODIES = ("validate", "generate", "verifyImages")
"""Bodies that have no more effect if they are repeated; a patch may add twice."""
_WORD = re.compile(r"[A-Za-z]{2,}")
_NO_WORDS = frozenset({"true", "false", "null"})


_Field: TypeAlias = tuple[str, Path, type]
"""The scope of a rule, a path in its pattern, and what sort of value is there."""


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
    """KV220: a rule that repeats a rule before it."""
    seen: dict[str, list[_Placed]] = {}
    for one in _rules(policies):
        if not any(one.rule.data.get(name) for name in _BODIES):
            continue
        before = seen.setdefault(_text(_effects(one)), [])
        first = next((other for other in before if _covers(other, one)), None)
        before.append(one)
        if first is not None and not _is_same_policy(first.policy, one.policy):
            text = f"rule `{one.rule.name}` is a duplicate of {first.label(one.policy)}"
            yield warn(one.policy.document, "KV220", text, one.rule.path)


def contradicting_rules(policies: Iterable[Policy]) -> Iterator[Diagnostic]:
    """KV221: a rule whose pattern contradicts that of another rule."""
    seen: dict[_Field, dict[Json, _Placed]] = {}
    for one in _rules(policies):
        pattern = (one.rule.data.get("validate") or {}).get("pattern")
        if not pattern or any(sign in _text(pattern) for sign in ("(", "{{", "*", "?")):
            continue
        scope = _text(_scope(one))
        values = {
            (scope, path, value.__class__): value for path, value in _plain_values(pattern, ())
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
            place = (*one.rule.path, "validate", "pattern", *path)
            yield warn(one.policy.document, "KV221", text, place)
        for field, value in values.items():
            seen.setdefault(field, {}).setdefault(value, one)


def _rules(policies: Iterable[Policy]) -> Iterator[_Placed]:
    for policy in policies:
        if policy.kind in {"ClusterPolicy", "Policy"} and not policy.applies_one_rule:
            yield from (_Placed(policy, rule) for rule in policy.rules)


def _is_same_policy(one: Policy, other: Policy) -> bool:
    """Return whether two documents are the same policy given twice."""
    named = (one.kind, one.key) == (other.kind, other.key)
    return named and one.document is not other.document


def _scope(one: _Placed) -> Json:
    """Return what decides which objects a rule applies to, and when a failure denies them."""
    own = [one.rule.data.get(name) for name in _SCOPE]
    return [one.policy.kind, one.policy.namespace, one.policy.facts.action, *own]


def _effects(one: _Placed) -> Json:
    """Return all that decides what a rule does, but for the kinds that autogen derives it for."""
    policy = one.policy
    spec = {name: value for name, value in policy.spec.items() if name != "rules"}
    data = {name: value for name, value in one.rule.data.items() if name != "name"}
    validate = data.get("validate")
    if validate.__class__ is dict:
        data["validate"] = {name: part for name, part in validate.items() if name != "message"}
    return [policy.kind, policy.namespace, policy.scored, spec, data]


def _covers(other: _Placed, one: _Placed) -> bool:
    """Return whether a rule is derived for all controllers for which another one is."""
    if other.policy is one.policy:
        return True
    return _derived_kinds(other) >= _derived_kinds(one)


def _derived_kinds(one: _Placed) -> frozenset[str]:
    """Return the kinds of controllers for which a rule is derived, which may be none."""
    found = compute_rules(one.policy)
    derived = any(made.written is one.rule for made in found.derived)
    return found.controllers & POD_CONTROLLERS if derived else frozenset()


def _text(data: Json) -> str:
    return json.dumps(data, sort_keys=True, default=str)


def _plain_values(pattern: Json, path: Path) -> Iterator[tuple[Path, Json]]:
    """Yield the plain values that a pattern without anchors wants at paths through maps."""
    if pattern.__class__ is dict:
        for name, value in pattern.items():
            yield from _plain_values(value, (*path, name))
    elif pattern.__class__ is bool or _is_plain_word(pattern):
        yield path, pattern


def _is_plain_word(value: Json) -> bool:
    """Return whether a string is a literal in a pattern, and neither a number nor a boolean."""
    is_text = value.__class__ is str and _WORD.fullmatch(value) is not None
    return is_text and value.lower() not in _NO_WORDS
