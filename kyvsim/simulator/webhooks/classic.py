"""The webhooks for policies with rules.

There is one for each failure policy, and one for each policy with conditions of its own.

Source of the rules: upstream pkg/controllers/webhook (controller.go, utils.go).
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kyvsim.kubernetes.discovery import parse_kind_selector
from kyvsim.kubernetes.objects import Json
from kyvsim.languages import language_of
from kyvsim.model.policy import Filter, Generation, Policy, Rule
from kyvsim.simulator.api_server import Store
from kyvsim.simulator.api_server.store import find_resources
from kyvsim.simulator.webhooks.rules import (
    ALL_SCOPES,
    NAMESPACED,
    TIMEOUT,
    Entry,
    Selectors,
    capped,
    rules_of,
    webhook,
)

_ANY = "*"
_EVERY = ("CREATE", "UPDATE", "DELETE", "CONNECT")
_WRITES = ("CREATE", "UPDATE", "DELETE")
_MUTATED = ("CREATE", "UPDATE")

_Kinds = dict[str, set[str]]
"""Operations by what a `kinds` entry says."""


class _Group(NamedTuple):
    """Policies that one webhook is for."""

    policies: list[Policy]
    own: Policy | None
    """The only one, where it has conditions of its own."""
    closed: bool


class Entries:
    """What policies are to be asked about, worked out once for each: all count at each change."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._defined = store.defined
        self._known: dict[tuple[str, bool], tuple[Policy, frozenset[Entry]]] = {}

    def of(self, policy: Policy, *, mutating: bool) -> frozenset[Entry]:
        """Return the entries of a policy for one of the two configurations."""
        if self._defined is not self._store.defined:
            self._defined = self._store.defined
            self._known.clear()
        known = self._known.get((policy.key, mutating))
        if known is None or known[0] is not policy:
            known = policy, frozenset(_entries(policy, self._store, mutating=mutating))
            self._known[policy.key, mutating] = known
        return known[1]


def classic_webhooks(
    policies: Iterable[Policy], entries: Entries, selectors: Selectors, *, mutating: bool
) -> Iterator[Json]:
    """Yield the webhooks of one configuration, those of nothing left out."""
    for group in _groups([one for one in policies if _takes_part(one, mutating=mutating)]):
        each = (entries.of(policy, mutating=mutating) for policy in group.policies)
        found = set().union(*each)
        if found:
            yield _webhook(group, found, selectors, mutating=mutating)


def _webhook(
    group: _Group, entries: set[Entry], selectors: Selectors, *, mutating: bool
) -> dict[str, Json]:
    base, ending = "mutate" if mutating else "validate", "fail" if group.closed else "ignore"
    name, path = f"{base}.kyverno.svc-{ending}", f"/{base}/{ending}"
    conditions = None
    if group.own is not None:
        name = f"{name}-finegrained-{group.own.key.replace('/', '-')}"
        path = f"{path}/finegrained/{group.own.key}"
        own = group.own.facts.webhook_conditions
        conditions = [{"name": one, "expression": text} for one, text in own]
    timeouts = (one.facts.webhook_timeout for one in group.policies)
    return webhook(
        name,
        path,
        failurePolicy="Fail" if group.closed else "Ignore",
        rules=rules_of(entries),
        namespaceSelector=selectors.namespace,
        objectSelector=selectors.object or {},
        timeoutSeconds=capped(max((TIMEOUT, *filter(None, timeouts)))),
        matchPolicy="Equivalent",
        matchConditions=conditions,
        reinvocationPolicy="IfNeeded" if mutating else None,
    )


def _groups(policies: list[Policy]) -> Iterator[_Group]:
    for closed in (False, True):
        some = [one for one in policies if one.facts.fails_closed is closed]
        yield _Group([one for one in some if not one.facts.webhook_conditions], None, closed)
        yield from (_Group([one], one, closed) for one in some if one.facts.webhook_conditions)


def _takes_part(policy: Policy, *, mutating: bool) -> bool:
    if not policy.facts.admission:
        return False
    if mutating:
        return any(
            one.facts.section == "verifyImages" or _mutates_trigger(one) for one in policy.rules
        )
    return any(
        one.facts.section in {"validate", "verifyImages", "generate"} or one.mutates_existing
        for one in policy.rules
    )


def _mutates_trigger(rule: Rule) -> bool:
    return rule.facts.section == "mutate" and not rule.mutates_existing


def _entries(policy: Policy, store: Store, *, mutating: bool) -> Iterator[Entry]:
    kinds: _Kinds = {}
    for rule in language_of(policy).derive(policy):
        for kind, operations in _kinds_of(rule, mutating=mutating).items():
            kinds.setdefault(kind, set()).update(operations)
    for kind, operations in kinds.items():
        for group, version, resource, part, scope in _resources(kind, policy, store):
            for operation in operations:
                yield Entry(
                    group=group,
                    version=version,
                    resource=resource,
                    subresource=part,
                    scope=scope,
                    operation=operation,
                )


def _kinds_of(rule: Rule, *, mutating: bool) -> _Kinds:
    generation, section = rule.facts.generation, rule.facts.section
    if generation is not None:
        kinds = _named(rule, _EVERY)
        for kind in _generated(generation):
            kinds.setdefault(kind, set()).update(_WRITES)
        return kinds
    if mutating:
        looks = section == "verifyImages" or _mutates_trigger(rule)
    else:
        looks = section in {"validate", "verifyImages"} or rule.mutates_existing
    return _named(rule, _MUTATED if mutating else _EVERY) if looks else {}


def _generated(generation: Generation) -> Iterator[str]:
    for one in (generation.whole, *(generation.loops or ())):
        yield from (one.kind,) if one.kind else one.clone_kinds


def _named(rule: Rule, usual: tuple[str, ...]) -> _Kinds:
    """Return the kinds of a match block, less what a plain `exclude.any` takes away."""
    found: _Kinds = {}
    for entry in rule.facts.match:
        operations = entry.resources.get("operations") or usual
        for kind in entry.kinds:
            found.setdefault(kind, set()).update(operations)
    for entry in rule.facts.exclude:
        if entry.path[1:2] == ("any",) and _is_plain(entry):
            operations = entry.resources.get("operations") or _EVERY
            for kind in entry.kinds or list(found):
                found.get(kind, set()).difference_update(operations)
    return found


def _is_plain(entry: Filter) -> bool:
    """Return whether a filter names kinds and operations only."""
    users = any(entry.data.get(name) for name in ("roles", "clusterRoles", "subjects"))
    others = (value for name, value in entry.resources.items() if name not in _PLAIN)
    return not users and not any(others)


_PLAIN = frozenset({"kinds", "operations"})


def _resources(text: str, policy: Policy, store: Store) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield group, version, resource, subresource and scope of what a `kinds` entry selects."""
    group, version, kind, part = parse_kind_selector(text)
    if kind == _ANY:
        yield group, version, kind, part, NAMESPACED if policy.namespace else ALL_SCOPES
        return
    for found in find_resources(text, store):
        yield *found[:4], NAMESPACED if found.namespaced else ALL_SCOPES
