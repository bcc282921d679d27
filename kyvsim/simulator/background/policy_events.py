"""Work that policies and generated objects make: when they come, change and go."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from kyvsim.engine.background import old_facts
from kyvsim.engine.compile import CompiledPolicy
from kyvsim.engine.world import World
from kyvsim.kubernetes.discovery import split_api_version
from kyvsim.kubernetes.objects import Json, labels, metadata, object_key, text_field
from kyvsim.languages import needs_request
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.request import AdmissionRequest
from kyvsim.simulator.background.generate import kinds_of, release_stale_targets
from kyvsim.simulator.background.generate_in_cel import sync_generating_policies
from kyvsim.simulator.background.mutate_existing_in_cel import sync_mutating_policies
from kyvsim.simulator.background.ownership import (
    LABEL,
    MANAGED,
    policy_labels,
    selected,
    trigger_from_labels,
)
from kyvsim.simulator.background.triggers import existing_generation, existing_mutations
from kyvsim.simulator.background.update_requests import (
    GENERATE,
    Work,
    in_batches,
    reference,
    rule_context,
    submit,
)
from kyvsim.simulator.kyverno.configuration import ADMISSION, BACKGROUND
from kyvsim.simulator.kyverno.installed import Kyverno

# Requests about objects that rules generated, or copied from: others changed them.
#
# Source of the rules: upstream pkg/webhooks/resource/generation/handler.go (processRequest).


def managed_work(kyverno: Kyverno, request: AdmissionRequest) -> list[Work]:
    """Return the work that restores what was generated, or follows its source."""
    old = request.old_object
    marks = labels(old) if old else {}
    if f"{LABEL}clone-source" not in marks and not marks.get(f"{LABEL}policy-name"):
        return []
    if MANAGED.items() <= marks.items():
        return [*_restoring(kyverno, request, marks, deletes=False)]
    gone = not request.object
    return [
        work
        for copy in _copies(kyverno, old)
        for work in _restoring(kyverno, request, labels(copy), deletes=gone)
    ]


def _copies(kyverno: Kyverno, source: Json) -> list[Json]:
    api_version, kind, namespace, _ = object_key(source)
    group, version = split_api_version(api_version)
    wanted = {
        f"{LABEL}source-group": group,
        f"{LABEL}source-version": version,
        f"{LABEL}source-kind": kind,
        f"{LABEL}source-namespace": namespace,
        f"{LABEL}source-uid": text_field(metadata(source), "uid"),
    }
    return selected(kyverno.parts.store, api_version, kind, wanted)


def _restoring(
    kyverno: Kyverno, request: AdmissionRequest, marks: dict[str, str], *, deletes: bool
) -> Iterator[Work]:
    name = marks.get(f"{LABEL}policy-name", "")
    namespace = marks.get(f"{LABEL}policy-namespace", "")
    policy = kyverno.cache.get(f"{namespace}/{name}" if namespace else name)
    facts = old_facts(request, World(kyverno.parts.store, account=ADMISSION))
    if policy is None or facts is None:
        return
    trigger = trigger_from_labels(marks)
    contexts = tuple(
        rule_context(one.rule.name, trigger, deletes=deletes)
        for one in policy.rules
        if one.rule.name == marks.get(f"{LABEL}rule-name")
        and (generation := one.rule.facts.generation) is not None
        and generation.synchronizes
        and not one.matches_again(facts)  # else it is the trigger as well
    )
    if contexts:
        yield Work(GENERATE, policy.policy.key, contexts)


# Work that policies make themselves: when they come, change and go, and once an hour.
#
# Source of the rules: upstream pkg/policy (policy_controller.go, generate.go, mutate.go).

_ACTOR = "policy-controller"
_INTERVAL = 3600.0
"""Seconds between two looks at all policies."""


def start_policy_controller(kyverno: Kyverno) -> None:
    """Let policies that come, change or go bring their objects along."""
    scheduler = kyverno.parts.scheduler

    def requeue() -> None:
        for policy in kyverno.lister.every():
            if _works_in_background(policy.policy, kyverno):
                _sync(policy, kyverno)
        sync_generating_policies(kyverno)
        sync_mutating_policies(kyverno)
        scheduler.after(_INTERVAL, _ACTOR, requeue, timer=True)

    lister = kyverno.lister
    lister.changed.append(lambda policy, before: _reconcile(policy, before, kyverno))
    lister.dropped.append(lambda policy: _clean_up(policy, policy.rules, kyverno))
    scheduler.after(_INTERVAL, _ACTOR, requeue, timer=True)


def _reconcile(policy: Policy, before: Policy | None, kyverno: Kyverno) -> None:
    if not _works_in_background(policy, kyverno) or (before and before.says(policy)):
        return
    if before is not None:
        names = {rule.name for rule in policy.rules}
        removed = tuple(rule for rule in before.rules if rule.name not in names)
        if removed:
            _clean_up(before, removed, kyverno)
        else:
            release_stale_targets(before, policy, kyverno.parts)
    compiled = kyverno.lister.get(policy.key)
    if compiled is not None:
        _sync(compiled, kyverno)


def _works_in_background(policy: Policy, kyverno: Kyverno) -> bool:
    """Return whether a policy can be looked at without a request, and is to be.

    A policy that mutates what exists has to be asked for that while it is younger than an hour.
    """
    mutates = any(rule.mutates_existing for rule in policy.rules)
    if not mutates and not any(rule.generates for rule in policy.rules):
        return False
    if needs_request(policy):
        return False
    return not mutates or not _is_young(policy, kyverno) or policy.facts.mutates_on_update


def _is_young(policy: Policy, kyverno: Kyverno) -> bool:
    parts = kyverno.parts
    stored = parts.store.get("kyverno.io/v1", policy.kind, policy.namespace, policy.name)
    created = text_field(metadata(stored), "creationTimestamp")
    if not created:
        return True
    return datetime.fromisoformat(created) + timedelta(seconds=_INTERVAL) > parts.clock.now()


def _sync(policy: CompiledPolicy, kyverno: Kyverno) -> None:
    """Make the work for what a policy finds in the cluster."""
    works = [*existing_mutations(policy, kyverno), *_regenerations(policy.policy, kyverno)]
    works += in_batches(existing_generation(policy, kyverno))
    for work in works:
        submit(work, kyverno.parts, BACKGROUND)


def _regenerations(policy: Policy, kyverno: Kyverno) -> Iterator[Work]:
    """Give the work that makes objects of synchronized data what the policy says now."""
    contexts: list[Json] = []
    for rule in policy.rules:
        generation = rule.facts.generation
        if generation is None or not generation.synchronizes:
            continue
        for pattern in (generation.whole, *(generation.loops or ())):
            if not pattern.has_data:
                continue
            kind = pattern.api_version, pattern.kind
            contexts += (
                rule_context(rule.name, trigger_from_labels(labels(obj)))
                for obj in _generated(policy, rule, [kind], kyverno)
            )
    yield from in_batches(Work(GENERATE, policy.key, tuple(contexts)))


def _generated(
    policy: Policy, rule: Rule, kinds: Iterable[tuple[str, str]], kyverno: Kyverno
) -> Iterator[Json]:
    wanted = {**policy_labels(policy), f"{LABEL}rule-name": rule.name}
    for api_version, kind in kinds:
        yield from selected(kyverno.parts.store, api_version, kind, wanted)


def _clean_up(policy: Policy, rules: Iterable[Rule], kyverno: Kyverno) -> None:
    """Have deleted what rules generated that are gone, where they synchronized it.

    Copies of a single source go too. upstream: pkg/policy/generate.go (cleanupPatterns) and its
    unit tests; an end-to-end test (`clone-sync-delete-policy`) still expects them to stay.
    """
    contexts: list[Json] = []
    generated: list[Json] = []
    for rule in rules:
        generation = rule.facts.generation
        if generation is None or not generation.synchronizes or generation.orphans:
            continue
        for obj in _generated(policy, rule, kinds_of(rule), kyverno):
            trigger = trigger_from_labels(labels(obj))
            contexts.append(rule_context(rule.name, trigger, deletes=True))
            generated.append(reference(obj))
    if contexts:
        work = Work(GENERATE, policy.key, tuple(contexts), generated=tuple(generated))
        submit(work, kyverno.parts, BACKGROUND)
