"""The webhook configurations that Kyverno writes for its policies."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from kyvsim.kubernetes.defaults import with_defaults
from kyvsim.kubernetes.discovery import parse_kind_selector
from kyvsim.kubernetes.objects import Json, ObjectKey, text_field
from kyvsim.languages import language_of
from kyvsim.languages.cel import webhook_facts_of
from kyvsim.languages.cel.facts import WebhookFacts
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.release import Release
from kyvsim.model.request import OPERATIONS
from kyvsim.simulator.admission.cel import PINNING_WEBHOOKS, WEBHOOKS, Hook, webhook_of
from kyvsim.simulator.admission.classic import webhook_name
from kyvsim.simulator.api_server import ObjectStore, StoreChange
from kyvsim.simulator.api_server.metadata import with_metadata
from kyvsim.simulator.api_server.store import find_resources
from kyvsim.simulator.configuration import NAMESPACE, settings_of, webhook_setting
from kyvsim.simulator.context import NOTICE, SimulationContext
from kyvsim.simulator.kyverno import Kyverno
from kyvsim.simulator.native_policies import is_left_to_the_server

TIMEOUT = 10
"""Seconds that the API server waits for a response, unless a policy sets another timeout."""
_LONGEST = 30


class Selectors(NamedTuple):
    """The selectors of a webhook; None if there is none."""

    namespace: Json = None
    object: Json = None


def installed_selectors(store: ObjectStore) -> Selectors:
    """Return the selectors in the ConfigMap, which apply to every webhook."""
    setting = webhook_setting(settings_of(store).get("webhooks") or "{}")
    with suppress(AttributeError):
        names = ("namespaceSelector", "objectSelector")
        return Selectors(*(_plain(setting.get(name)) for name in names))
    return Selectors()


def merged_selector(first: Json, second: Json) -> Json:
    """Return a selector with the requirements of both; None selects everything.

    upstream: pkg/controllers/webhook/validating.go mergeLabelSelectors
    """
    if first is None or second is None:
        return second if first is None else first
    labels = {**(first.get("matchLabels") or {}), **(second.get("matchLabels") or {})}
    expressions = [*(first.get("matchExpressions") or ()), *(second.get("matchExpressions") or ())]
    return _plain({"matchExpressions": expressions, "matchLabels": labels})


def webhook(name: str, path: str, **fields: Json) -> dict[str, Json]:
    """Return a webhook of Kyverno's service; fields that are None are omitted."""
    service = {"name": "kyverno-svc", "namespace": NAMESPACE, "path": path, "port": 443}
    described = {
        "name": name,
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": service},
        "sideEffects": "NoneOnDryRun",
        "timeoutSeconds": TIMEOUT,
        **fields,
    }
    return {field: value for field, value in described.items() if value is not None}


def _plain(selector: Json) -> Json:
    if selector is None:
        return None
    return {name: value for name, value in selector.items() if value}


# The rules of a webhook: the requests for which the API server calls it.
# Source of the rules: upstream pkg/controllers/webhook/utils_webhook.go and utils.go.

ALL_SCOPES, NAMESPACED = "*", "Namespaced"
_ANY = "*"


class WebhookTarget(NamedTuple):
    """One operation on one resource for which a policy's webhook is called."""

    group: str
    version: str
    resource: str
    """The name of a resource, or `*`."""
    subresource: str
    """"" for the resource itself."""
    scope: str
    operation: str


def rules_of(entries: Iterable[WebhookTarget]) -> list[Json]:
    """Return the rules for some targets, without those that a wider one covers.

    Most new policies add no new target. Callers must not change the returned rules.
    """
    return _rules_of(frozenset(entries))


@lru_cache(maxsize=64)
def _rules_of(known: frozenset[WebhookTarget]) -> list[Json]:
    operations: dict[tuple[str, str, str, str], set[str]] = {}
    for one in known:
        if not _is_covered(one, known):
            named = f"{one.resource}/{one.subresource}" if one.subresource else one.resource
            place = one.group, one.version, one.scope, named
            operations.setdefault(place, set()).add(one.operation)
    resources: dict[tuple[str, str, str, tuple[str, ...]], set[str]] = {}
    for (group, version, scope, named), some in operations.items():
        names = resources.setdefault((group, version, scope, tuple(sorted(some))), set())
        names.add(named)
        if named in {"pods", _ANY} and group in {"", _ANY} and version in {"v1", _ANY}:
            names.add("pods/ephemeralcontainers")
    return in_order(
        {
            "apiGroups": [group],
            "apiVersions": [version],
            "operations": list(written),
            "resources": list(names),
            "scope": scope,
        }
        for (group, version, scope, written), names in resources.items()
    )


def in_order(rules: Iterable[Json]) -> list[Json]:
    """Return rules in the written order: unique, with sorted lists, shorter lists first."""

    def order(rule: Json) -> tuple[object, ...]:
        lists = ("apiGroups", "apiVersions", "resources", "operations")
        parts = (rule.get(name) or () for name in lists)
        keys = (part for one in parts for part in (len(one), tuple(one)))
        return (*keys, rule.get("scope") or ALL_SCOPES)

    written = [
        {name: sorted(value) if value.__class__ is list else value for name, value in rule.items()}
        for rule in rules
    ]
    distinct = {order(rule): rule for rule in written}
    return [distinct[key] for key in sorted(distinct)]


def _is_covered(one: WebhookTarget, known: frozenset[WebhookTarget]) -> bool:
    resource, part = one.resource, one.subresource
    # The names that cover a resource, including its own; `pods/*` does not cover `pods`.
    names = {(resource, ""), (_ANY, ""), (_ANY, _ANY)}
    if part:
        names = {(resource, part), (resource, _ANY), (_ANY, part), (_ANY, _ANY)}
    wider = (
        WebhookTarget(group, version, *name, scope, one.operation)
        for scope, group, version, name in product(
            {one.scope, ALL_SCOPES}, {one.group, _ANY}, {one.version, _ANY}, names
        )
    )
    return any(each != one and each in known for each in wider)


# The webhooks for classic policies.
#
# There is one for each failure policy, and one for each policy with its own matchConditions.
# Source of the rules: upstream pkg/controllers/webhook (controller.go, utils.go).

_Kinds = dict[str, set[str]]
"""Operations by `kinds` entry."""


class WebhookTargets:
    """The targets of policies, cached: every change needs those of all policies."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._defined = store.defined
        self._known: dict[tuple[str, bool], tuple[Policy, frozenset[WebhookTarget]]] = {}

    def of(self, policy: Policy, *, mutating: bool) -> frozenset[WebhookTarget]:
        """Return the targets of a policy for one of the two configurations."""
        if self._defined is not self._store.defined:
            self._defined = self._store.defined
            self._known.clear()
        known = self._known.get((policy.key, mutating))
        if known is None or known[0] is not policy:
            known = policy, frozenset(_entries(policy, self._store, mutating=mutating))
            self._known[policy.key, mutating] = known
        return known[1]


def classic_webhooks(
    policies: Iterable[Policy], entries: WebhookTargets, selectors: Selectors, *, mutating: bool
) -> Iterator[Json]:
    """Yield the webhooks of one configuration, except those without targets."""
    taking_part = [
        one
        for one in policies
        if one.facts.admission
        and any(
            _is_called(rule, mutating=mutating)
            or (not mutating and rule.facts.section == "generate")
            for rule in one.rules
        )
    ]
    for closed in (False, True):
        some = [one for one in taking_part if one.facts.fails_closed is closed]
        shared = [one for one in some if not one.facts.webhook_conditions]
        alone = [one for one in some if one.facts.webhook_conditions]
        for group in (shared, *([one] for one in alone)):
            targets = set().union(*(entries.of(one, mutating=mutating) for one in group))
            if targets:
                yield _webhook(group, targets, selectors, mutating=mutating)


def _webhook(
    policies: list[Policy], entries: set[WebhookTarget], selectors: Selectors, *, mutating: bool
) -> dict[str, Json]:
    """Return a webhook for some policies, or for a single one with matchConditions."""
    first, base = policies[0], "mutate" if mutating else "validate"
    closed, written = first.facts.fails_closed, first.facts.webhook_conditions
    path = f"/{base}/{'fail' if closed else 'ignore'}"
    conditions = [{"name": one, "expression": text} for one, text in written]
    timeouts = (one.facts.webhook_timeout for one in policies)
    return webhook(
        webhook_name(base, first),
        f"{path}/finegrained/{first.key}" if conditions else path,
        failurePolicy="Fail" if closed else "Ignore",
        rules=rules_of(entries),
        namespaceSelector=selectors.namespace,
        objectSelector=selectors.object or {},
        timeoutSeconds=min(max((TIMEOUT, *filter(None, timeouts))), _LONGEST),
        matchPolicy="Equivalent",
        matchConditions=conditions or None,
        reinvocationPolicy="IfNeeded" if mutating else None,
    )


def _is_called(rule: Rule, *, mutating: bool) -> bool:
    """Return whether the webhooks of one of the two configurations evaluate a rule."""
    section = rule.facts.section
    if section == "verifyImages":
        return True
    if mutating:
        return section == "mutate" and not rule.mutates_existing
    return section == "validate" or rule.mutates_existing


def _entries(policy: Policy, store: ObjectStore, *, mutating: bool) -> Iterator[WebhookTarget]:
    kinds: _Kinds = {}
    for rule in language_of(policy).derive(policy):
        for kind, operations in _kinds_of(rule, mutating=mutating).items():
            kinds.setdefault(kind, set()).update(operations)
    for text, operations in kinds.items():
        group, version, kind, part = parse_kind_selector(text)
        resources = [((group, version, kind, part), bool(policy.namespace))]
        if kind != _ANY:
            resources = [(one[:4], one.namespaced) for one in find_resources(text, store)]
        for (place, namespaced), operation in product(resources, operations):
            yield WebhookTarget(*place, NAMESPACED if namespaced else ALL_SCOPES, operation)


def _kinds_of(rule: Rule, *, mutating: bool) -> _Kinds:
    generation = rule.facts.generation
    if generation is not None:
        kinds = _named(rule, OPERATIONS)
        for one in (generation.whole, *(generation.loops or ())):
            for kind in (one.kind,) if one.kind else one.clone_kinds:
                kinds.setdefault(kind, set()).update(OPERATIONS[:3])
        return kinds
    if not _is_called(rule, mutating=mutating):
        return {}
    return _named(rule, OPERATIONS[:2] if mutating else OPERATIONS)


def _named(rule: Rule, usual: tuple[str, ...]) -> _Kinds:
    """Return the kinds of a match block, without those that a simple `exclude.any` removes."""
    operations: _Kinds = {}
    for one in rule.tree.match.filters:
        for kind in one.kinds:
            operations.setdefault(kind, set()).update(one.operations or usual)
    exclude = rule.tree.exclude
    for one in (exclude.any if exclude else None) or ():
        # A filter that only has kinds and operations.
        if not any(one._replace(path=(), resource_fields=frozenset(), kinds=(), operations=())):
            for kind in one.kinds or list(operations):
                operations.get(kind, set()).difference_update(one.operations or OPERATIONS)
    return operations


# The webhooks for CEL policies.
#
# Policies with conditions, an exact match or a timeout have their own; the others share one
# for each failure policy and pair of selectors.
# Source of the rules: upstream pkg/controllers/webhook/validating.go.


class _CalledPolicy(NamedTuple):
    policy: Policy
    facts: WebhookFacts
    selectors: Selectors


def cel_webhooks(
    policies: Iterable[Policy], hook: Hook, installed: Selectors, release: Release
) -> Iterator[Json]:
    """Yield the webhooks for policies of one kind."""
    base, path = hook.name, hook.path
    called = [
        _CalledPolicy(one, facts, _selectors(one, facts, installed))
        for one in policies
        if (facts := webhook_facts_of(one, release)) and one.facts.admission
    ]
    alone = [one for one in called if one.facts.alone]
    for one in sorted(alone, key=lambda one: (one.policy.namespace, one.policy.name)):
        conditions = [{"name": name, "expression": text} for name, text in one.facts.conditions]
        timeout = one.facts.timeout
        yield webhook(
            webhook_of(one.policy, one.facts, base),
            f"{path}/{one.policy.name}",
            failurePolicy="Fail" if one.policy.facts.fails_closed else "Ignore",
            # Upstream does not copy it to mutating webhooks, so they get the API server's default.
            matchPolicy="Exact" if one.facts.exact and not hook.mutates else None,
            matchConditions=conditions or None,
            namespaceSelector=one.selectors.namespace,
            objectSelector=one.selectors.object,
            rules=in_order(rule.written for rule in one.facts.rules),
            **({"timeoutSeconds": timeout} if timeout is not None else {}),
        )
    groups: dict[str, list[_CalledPolicy]] = {}
    for one in (one for one in called if not one.facts.alone):
        # The names of groups contain a digest; upstream hashes its own serialisation.
        text = json.dumps(one.selectors, sort_keys=True)
        groups.setdefault(hashlib.sha256(text.encode()).hexdigest(), []).append(one)
    for key in sorted(groups):
        some = groups[key]
        suffix = f"-{key[:8]}" if len(groups) > 1 else ""
        names = "/".join(sorted(one.policy.name for one in some))
        for closed in (True, False):
            called_so = [one for one in some if one.policy.facts.fails_closed is closed]
            rules = [rule.written for one in called_so for rule in one.facts.rules]
            if rules:
                yield webhook(
                    f"{base}-{'fail' if closed else 'ignore'}{suffix}",
                    f"{path}/{names}",
                    failurePolicy="Fail" if closed else "Ignore",
                    namespaceSelector=some[0].selectors.namespace,
                    objectSelector=some[0].selectors.object,
                    rules=in_order(rules),
                )


def _selectors(policy: Policy, facts: WebhookFacts, installed: Selectors) -> Selectors:
    namespace = facts.namespace_selector
    if policy.namespace:
        label, names = "kubernetes.io/metadata.name", [policy.namespace]
        namespace = {"matchExpressions": [{"key": label, "operator": "In", "values": names}]}
    return Selectors(
        merged_selector(namespace, installed.namespace),
        merged_selector(facts.object_selector, installed.object),
    )


# The webhook configurations through which the API server finds Kyverno's webhooks.
# Source of the rules: upstream pkg/controllers/webhook/controller.go.

_NAMES: Mapping[bool, tuple[str, str]] = {
    False: ("ValidatingWebhookConfiguration", "kyverno-resource-validating-webhook-cfg"),
    True: ("MutatingWebhookConfiguration", "kyverno-resource-mutating-webhook-cfg"),
}

_WRITES = ("CREATE", "UPDATE")


def _own_rule(group: str, versions: str, resources: str, operations: tuple[str, ...]) -> Json:
    return {
        "apiGroups": [group],
        "apiVersions": versions.split(),
        "operations": list(operations),
        "resources": resources.split(),
        "scope": ALL_SCOPES,
    }


_POLICIES = _own_rule("kyverno.io", "v1 v2beta1", "clusterpolicies policies", _WRITES)
_CEL_POLICIES = tuple(
    _own_rule("policies.kyverno.io", versions, f"{prefix}{resource}", _WRITES)
    for resource, prefixes in (
        *((f"{one}policies", ("", "namespaced")) for one in ("validating", "imagevalidating")),
        *((f"{one}policies", ("", "namespaced")) for one in ("generating", "mutating")),
        ("deletingpolicies", ("",)),
    )
    for prefix in prefixes
    for versions in ("v1beta1 v1" if prefix else "v1alpha1 v1beta1 v1",)
)
_OWN_WEBHOOKS: tuple[tuple[str, str, Json], ...] = (
    (
        "MutatingWebhookConfiguration",
        "kyverno-policy-mutating-webhook-cfg",
        webhook(
            "mutate-policy.kyverno.svc",
            "/policymutate",
            failurePolicy="Fail",
            reinvocationPolicy="IfNeeded",
            rules=[_POLICIES],
        ),
    ),
    (
        "ValidatingWebhookConfiguration",
        "kyverno-policy-validating-webhook-cfg",
        webhook(
            "validate-policy.kyverno.svc",
            "/policyvalidate",
            failurePolicy="Fail",
            rules=[_POLICIES, *_CEL_POLICIES],
            sideEffects="None",
        ),
    ),
    (
        "MutatingWebhookConfiguration",
        "kyverno-verify-mutating-webhook-cfg",
        webhook(
            "monitor-webhooks.kyverno.svc",
            "/verifymutate",
            failurePolicy="Ignore",
            objectSelector={"matchLabels": {"app.kubernetes.io/name": "kyverno"}},
            reinvocationPolicy="IfNeeded",
            rules=[_own_rule("coordination.k8s.io", "v1", "leases", ("UPDATE",))],
        ),
    ),
)
"""The configurations for Kyverno's policies and its own Leases, with their only webhook.

Source: upstream pkg/controllers/webhook/controller.go. Requests are not sent by them: the webhooks
of the simulation are called for policies anyway.
"""


def write_webhooks(kyverno: Kyverno) -> None:
    """Write the configurations for the policies from now on.

    They are written without requests: whether the API server calls Kyverno is computed for each
    request.
    """
    sim = kyverno.sim
    entries = WebhookTargets(sim.store)

    def store(kind: str, name: str, webhooks: Iterable[Json]) -> None:
        settings = settings_of(sim.store)
        notes = json.loads(settings.get("webhookAnnotations") or "{}")
        marks = json.loads(settings.get("webhookLabels") or "{}")
        key = ObjectKey("admissionregistration.k8s.io/v1", kind, "", name)
        configuration = with_defaults(
            {
                "apiVersion": key.api_version,
                "kind": kind,
                "metadata": {
                    "name": name,
                    "labels": {**marks, "webhook.kyverno.io/managed-by": "kyverno"},
                    **({"annotations": notes} if notes else {}),
                },
                "webhooks": sorted(webhooks, key=lambda one: text_field(one, "name")),
            }
        )
        before = sim.store.get(*key)
        stamp = {
            "uid": sim.identities.uid(*key),
            "creationTimestamp": sim.clock.stamp(),
            "generation": 1,
        }
        if before is None:
            sim.store.put(with_metadata(configuration, stamp))
        elif before.get("webhooks") != configuration.get("webhooks"):
            sim.store.put({**configuration, "metadata": before["metadata"]})

    def write(known: Sequence[Policy]) -> None:
        policies = [one for one in known if not kyverno.cache.is_left_to_the_server(one)]
        for mutating, (kind, name) in _NAMES.items():
            store(kind, name, _webhooks(policies, sim, entries, mutating=mutating))

    def observe(change: StoreChange) -> None:
        if is_left_to_the_server(change.old) != is_left_to_the_server(change.new):
            sim.scheduler.after(NOTICE, "admission-controller", kyverno.policies.write_webhooks)

    kyverno.policies.configured.append(write)
    sim.store.watch(observe)
    write(())
    for kind, name, own in _OWN_WEBHOOKS:
        store(kind, name, [own])


def _webhooks(
    policies: list[Policy], sim: SimulationContext, entries: WebhookTargets, *, mutating: bool
) -> Iterator[Json]:
    selectors = installed_selectors(sim.store)
    older = [one for one in policies if one.kind in {"ClusterPolicy", "Policy"}]
    yield from classic_webhooks(older, entries, selectors, mutating=mutating)
    pinning = [one for one in policies if one.facts.pins_images]
    for every, hooks in ((policies, WEBHOOKS), (pinning, PINNING_WEBHOOKS)):
        for kind, hook in hooks.items():
            if hook.mutates is not mutating:
                continue
            some = [one for one in every if one.kind == kind]
            yield from cel_webhooks(some, hook, selectors, sim.settings.release)
