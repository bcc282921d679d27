"""The background controller: how UpdateRequests are created and processed."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from functools import partial
from types import MappingProxyType

from kyvsim.engine.background import check_rule, old_facts, open_background
from kyvsim.engine.compile import CompiledPolicy, Model
from kyvsim.engine.evaluate import lists_deletion
from kyvsim.engine.world import World
from kyvsim.kubernetes.discovery import split_api_version
from kyvsim.kubernetes.objects import (
    Json,
    KubernetesObject,
    ObjectKey,
    labels,
    metadata,
    object_key,
    text_field,
)
from kyvsim.languages import needs_request
from kyvsim.languages.cel.facts import mutating_facts
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.model.result import RuleStatus
from kyvsim.simulator.admission.classic import UNMET
from kyvsim.simulator.admission.review import concerns, from_background
from kyvsim.simulator.api_server import Review, StoreChange
from kyvsim.simulator.background.generate import (
    attempt_generate,
    attempt_generate_in_cel,
    generating_work,
    kinds_of,
    release_stale_targets,
    sync_generating_policy,
)
from kyvsim.simulator.background.mutate_existing import (
    attempt_mutation,
    attempt_mutation_in_cel,
    mutating_work,
    sync_mutating_policy,
)
from kyvsim.simulator.background.update_requests import (
    CEL_GENERATE,
    CEL_MUTATE,
    COMPLETED,
    FAILED,
    GENERATE,
    KIND,
    LABEL,
    MUTATE,
    PENDING,
    RequestedWork,
    existing_generation,
    existing_mutations,
    in_batches,
    messages,
    of_mutation,
    policy_labels,
    reference,
    rule_context,
    rules_of,
    selected,
    submit,
    trigger_from_labels,
    triggers_of,
)
from kyvsim.simulator.configuration import ADMISSION, BACKGROUND, MANAGED, NAMESPACE
from kyvsim.simulator.context import NOTICE, PICK_UP, UPDATE_REQUEST
from kyvsim.simulator.kyverno import Kyverno, restart

# Requests of others for objects that rules generated or cloned.
# Source of the rules: upstream pkg/webhooks/resource/generation/handler.go (processRequest).


def managed_work(kyverno: Kyverno, request: AdmissionRequest) -> list[RequestedWork]:
    """Return the work that restores a generated object, or synchronizes it with its source."""
    old = request.old_object
    marks = labels(old) if old else {}
    if f"{LABEL}clone-source" not in marks and not marks.get(f"{LABEL}policy-name"):
        return []
    if MANAGED.items() <= marks.items():
        return [*_restoring(kyverno, request, marks, deletes=False)]
    api_version, kind, namespace, _ = object_key(old)
    names = ("group", "version", "kind", "namespace", "uid")
    values = (*split_api_version(api_version), kind, namespace, text_field(metadata(old), "uid"))
    required = {f"{LABEL}source-{name}": one for name, one in zip(names, values, strict=True)}
    return [
        work
        for copy in selected(kyverno.sim.store, api_version, kind, required)
        for work in _restoring(kyverno, request, labels(copy), deletes=not request.object)
    ]


def _restoring(
    kyverno: Kyverno, request: AdmissionRequest, marks: dict[str, str], *, deletes: bool
) -> Iterator[RequestedWork]:
    name = marks.get(f"{LABEL}policy-name", "")
    namespace = marks.get(f"{LABEL}policy-namespace", "")
    policy = kyverno.cache.get(f"{namespace}/{name}" if namespace else name)
    facts = old_facts(request, World(kyverno.sim.store, account=ADMISSION))
    if policy is None or facts is None:
        return
    trigger = trigger_from_labels(marks)
    contexts = tuple(
        rule_context(one.rule.name, trigger, deletes=deletes)
        for one in policy.rules
        if one.rule.name == marks.get(f"{LABEL}rule-name")
        and (generation := one.rule.facts.generation) is not None
        and generation.synchronizes
        and not one.matches_again(facts)  # otherwise it is also the trigger
    )
    if contexts:
        yield RequestedWork(GENERATE, policy.policy.key, contexts)


# Work for policies that are created, changed or deleted, and once an hour.
# Source of the rules: upstream pkg/policy (policy_controller.go, generate.go, mutate.go).

_POLICY_ACTOR = "policy-controller"
_INTERVAL = 3600.0
"""Seconds between two reconciliations of all policies."""


def start_policy_controller(kyverno: Kyverno) -> None:
    """Reconcile the objects of policies that are created, changed or deleted."""

    def reconcile(policy: Policy, before: Policy | None) -> None:
        if not _works_in_background(policy, kyverno) or (before and before.has_same_spec(policy)):
            return
        if before is not None:
            names = {rule.name for rule in policy.rules}
            removed = tuple(rule for rule in before.rules if rule.name not in names)
            if removed:
                _clean_up(before, removed, kyverno)
            else:
                release_stale_targets(before, policy, kyverno.sim)
        compiled = kyverno.lister.get(policy.key)
        if compiled is not None:
            _sync(compiled, kyverno)

    kyverno.lister.changed.append(reconcile)
    kyverno.lister.dropped.append(lambda policy: _clean_up(policy, policy.rules, kyverno))
    kyverno.sim.scheduler.after(_INTERVAL, _POLICY_ACTOR, partial(_requeue, kyverno), timer=True)


def _requeue(kyverno: Kyverno) -> None:
    for policy in kyverno.lister.every():
        if _works_in_background(policy.policy, kyverno):
            _sync(policy, kyverno)
    for one in kyverno.generating.every():
        sync_generating_policy(one.policy, kyverno)
    for one in kyverno.mutating.every():
        if not mutating_facts(one.policy).by_expression:
            sync_mutating_policy(one.policy, kyverno)
    kyverno.sim.scheduler.after(_INTERVAL, _POLICY_ACTOR, partial(_requeue, kyverno), timer=True)


def _works_in_background(policy: Policy, kyverno: Kyverno) -> bool:
    """Return whether a policy works without a request and is reconciled now.

    A policy that mutates existing objects must enable that while it is younger than an hour.
    """
    mutates = any(rule.mutates_existing for rule in policy.rules)
    if needs_request(policy) or not (mutates or any(rule.generates for rule in policy.rules)):
        return False
    if not mutates or policy.facts.mutates_on_update:
        return True
    sim = kyverno.sim
    stored = sim.store.get("kyverno.io/v1", policy.kind, policy.namespace, policy.name)
    created = text_field(metadata(stored), "creationTimestamp")
    old = timedelta(seconds=_INTERVAL)
    return bool(created) and datetime.fromisoformat(created) + old <= sim.clock.now()


def _sync(compiled: CompiledPolicy, kyverno: Kyverno) -> None:
    """Submit the work of a policy for existing objects."""
    policy, works = compiled.policy, [*existing_mutations(compiled, kyverno)]
    # Objects of synchronized data are updated to the current policy.
    contexts = [
        rule_context(rule.name, trigger_from_labels(labels(obj)))
        for rule in policy.rules
        if (generation := rule.facts.generation) is not None and generation.synchronizes
        for pattern in (generation.whole, *(generation.loops or ()))
        if pattern.has_data
        for obj in _generated(policy, rule, [(pattern.api_version, pattern.kind)], kyverno)
    ]
    works += in_batches(RequestedWork(GENERATE, policy.key, tuple(contexts)))
    works += in_batches(existing_generation(compiled, kyverno))
    for work in works:
        submit(work, kyverno.sim, BACKGROUND)


def _generated(
    policy: Policy, rule: Rule, kinds: Iterable[tuple[str, str]], kyverno: Kyverno
) -> Iterator[KubernetesObject]:
    required = {**policy_labels(policy), f"{LABEL}rule-name": rule.name}
    for api_version, kind in kinds:
        yield from selected(kyverno.sim.store, api_version, kind, required)


def _clean_up(policy: Policy, rules: Iterable[Rule], kyverno: Kyverno) -> None:
    """Delete the objects that removed rules generated, if they are synchronized.

    Copies of a single source are deleted too. upstream: pkg/policy/generate.go (cleanupPatterns)
    and its unit tests; an end-to-end test (`clone-sync-delete-policy`) still expects them to stay.
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
        work = RequestedWork(GENERATE, policy.key, tuple(contexts), generated=tuple(generated))
        submit(work, kyverno.sim, BACKGROUND)


# Requests that create background work: triggers that are created, changed, deleted.
# Source of the rules: upstream pkg/webhooks/resource (updaterequest.go, utils.go),
# pkg/webhooks/resource/generation/handler.go.


def start_admission_triggers(kyverno: Kyverno) -> None:
    """Create UpdateRequests for admission requests."""
    sim = kyverno.sim

    def emit(review: Review, request: AdmissionRequest) -> None:
        works = [*_triggered(kyverno, request), *generating_work(kyverno, request)]
        # The webhooks are registered for the generated kinds, not for their subresources.
        if not from_background(request) and not request.subresource:
            works += managed_work(kyverno, request)
        write_soon(review, works)

    def write_soon(review: Review, works: Iterable[RequestedWork]) -> None:
        before, key = len(sim.timeline.events), review.request.key
        if not key.name and review.object is not None:
            key = object_key(review.object)

        def write(work: RequestedWork) -> None:
            # Its cause is the event of the request: the first one of the object since then.
            with sim.timeline.following(sim.timeline.first_about(key, before)):
                submit(work, sim, ADMISSION)

        for work in works:
            sim.scheduler.after(UPDATE_REQUEST, "admission-controller", partial(write, work))

    kyverno.admission.background.append(emit)
    kyverno.admission.mutated.append(
        lambda review, request: write_soon(review, [*mutating_work(kyverno, request)])
    )


def _triggered(kyverno: Kyverno, request: AdmissionRequest) -> Iterator[RequestedWork]:
    """Yield the work for rules whose trigger the object of a request is, or was."""
    external = World(kyverno.sim.store, account=ADMISSION).external
    policies: list[CompiledPolicy] = []
    for policy in kyverno.cache.every():
        rules = [one for one in policy.rules if one.rule.generates or one.rule.mutates_existing]
        if rules and concerns(policy.policy, request, external):
            policies.append(policy)
        elif rules:
            kyverno.admission.skip(policy.policy, rules, request, UNMET)
    mutating = [one for one in policies if any(rule.rule.mutates_existing for rule in one.rules)]
    generating = [one for one in policies if any(rule.rule.generates for rule in one.rules)]
    for policy in mutating:
        key, trigger = policy.policy.key, reference(request.subject)
        for rule, status in _statuses(kyverno, policy, request, request.subject):
            counts = request.operation is not Operation.DELETE or lists_deletion(rule)
            if status is RuleStatus.PASS and counts:
                yield RequestedWork(MUTATE, key, rule=rule.name, trigger=trigger, request=request)
    for policy in generating:
        key = policy.policy.key
        triggered = (_matched(kyverno, policy, request), _unmatched(kyverno, policy, request))
        for contexts in filter(None, triggered):
            yield RequestedWork(GENERATE, key, tuple(contexts), request=request)


def _statuses(
    kyverno: Kyverno,
    policy: CompiledPolicy,
    request: AdmissionRequest,
    trigger: KubernetesObject | None,
) -> Iterator[tuple[Rule, RuleStatus]]:
    """Yield the background rules that apply to a trigger, with their statuses."""
    world = World(kyverno.sim.store, account=ADMISSION)
    new = open_background(policy.policy, trigger, request, world) if trigger else None
    old = old_facts(request, world)
    for rule in policy.rules:
        if not rule.rule.generates and not rule.rule.mutates_existing:
            continue
        if from_background(request) and not rule.rule.facts.sees_background:
            sent = "the background controller sent the request"
            why = f"{sent}, and `skipBackgroundRequests` is not false"
            kyverno.admission.skip(policy.policy, [rule], request, why)
            continue
        outcome = check_rule(rule, new, old)
        if outcome is None:
            continue
        yield rule.rule, outcome.status
        if policy.policy.applies_one_rule and outcome.status is not RuleStatus.SKIP:
            return


def _matched(kyverno: Kyverno, policy: CompiledPolicy, request: AdmissionRequest) -> list[Json]:
    """Return the contexts of rules that match the trigger."""
    if request.operation is Operation.DELETE:
        return []
    trigger = reference(request.object)
    contexts = [
        rule_context(rule.name, trigger)
        for rule, status in _statuses(kyverno, policy, request, request.object)
        if status is RuleStatus.PASS and rule.generates
    ]
    model = kyverno.sim.settings.model
    gates = model is Model.BACKGROUND_GATES_GENERATE and not policy.policy.background
    if contexts and gates:
        why = "generate rules do not run for new objects: the policy has background: false"
        message = f"{why} (model {model.value})"
        gated = [rule for rule in policy.rules if rule.rule.generates]
        kyverno.admission.skip(policy.policy, gated, request, message)
        kyverno.sim.timeline.record(
            "admission",
            "generate",
            object_key(request.subject),
            outcome="skipped",
            message=message,
            policies=(policy.policy.key,),
        )
        return []
    return contexts


def _unmatched(kyverno: Kyverno, policy: CompiledPolicy, request: AdmissionRequest) -> list[Json]:
    """Return the contexts of rules that matched the trigger before and no longer do."""
    if not request.old_object:
        return []
    deleted = request.operation is Operation.DELETE
    trigger = reference(request.old_object)
    contexts: list[Json] = []
    statuses = _statuses(kyverno, policy, request, None if deleted else request.object)
    for rule in [rule for rule, status in statuses if status is RuleStatus.FAIL]:
        if deleted and lists_deletion(rule):
            contexts.append(rule_context(rule.name, trigger))
        elif rule.facts.generation is not None and rule.facts.generation.synchronizes:
            contexts.append(rule_context(rule.name, trigger, deletes=True))
    return contexts


# The background controller: processes UpdateRequests until they succeed or are dropped.
# Source of the rules: upstream pkg/background/update_request_controller.go,
# pkg/background/common/util.go.

_ACTOR = "background-controller"
_MOST_RETRIES = 4
_ATTEMPTS = MappingProxyType(
    {
        GENERATE: attempt_generate,
        MUTATE: attempt_mutation,
        CEL_GENERATE: attempt_generate_in_cel,
        CEL_MUTATE: attempt_mutation_in_cel,
    }
)


def start_background_controller(kyverno: Kyverno) -> None:
    """Process UpdateRequests when they are written."""

    def observe(change: StoreChange) -> None:
        if change.new is not None:
            _defer(change.new, kyverno)

    kyverno.sim.store.watch(observe, {KIND})


def _defer(obj: KubernetesObject, kyverno: Kyverno) -> None:
    """Schedule the next action on an UpdateRequest, if it is pending or failed."""
    key, sim = object_key(obj), kyverno.sim

    def retry() -> None:
        current = sim.store.get(*key)
        status = (current or {}).get("status") or {}
        if current is not None and status.get("state") == FAILED:
            pending = {**current, "status": {**status, "state": PENDING}}
            sim.client(BACKGROUND).update(pending, "status")

    state = (obj.get("status") or {}).get("state") if key.namespace == NAMESPACE else None
    if state == PENDING:
        sim.scheduler.after(PICK_UP, _ACTOR, lambda: _attempt(key, kyverno))
    elif state == FAILED:
        sim.scheduler.after(NOTICE, _ACTOR, retry)


def _attempt(key: ObjectKey, kyverno: Kyverno) -> None:
    """Process an UpdateRequest once, and record the outcome."""
    sim, client = kyverno.sim, kyverno.sim.client(BACKGROUND)
    obj = sim.store.get(*key)
    status = (obj or {}).get("status") or {}
    if obj is None or status.get("state") != PENDING:
        return
    spec = obj.get("spec") or {}
    work = _ATTEMPTS.get(text_field(spec, "requestType"))
    if work is None:
        return
    if spec["requestType"] == MUTATE and kyverno.lister.get(spec["policy"]) is None:
        for one in of_mutation(sim, spec["policy"].rpartition("/")[2]):
            client.delete(object_key(one))
        return
    retries = int(status.get("retryCount") or 0)
    message = f"attempt {retries + 1} of {_MOST_RETRIES + 1} for {triggers_of(spec)}"
    with sim.timeline.following(sim.timeline.first_about(key)):
        event = sim.timeline.record(
            "background", "attempt", key, message=message, policies=rules_of(spec)
        )
    with sim.timeline.following(event.number):
        attempt = work(obj, kyverno)
        sim.timeline.amend(
            event,
            outcome="failed" if attempt.problems else event.outcome,
            failure_reasons=(*attempt.problems, *attempt.notes),
            given_up=bool(attempt.problems) and retries >= _MOST_RETRIES,
        )
        if not attempt.problems:
            completed = {**status, "state": COMPLETED, "message": ""}
            client.update({**obj, "status": completed}, "status")
        elif retries < _MOST_RETRIES:
            failed = {"state": FAILED, "message": messages(attempt.problems)}
            status = {**status, **failed, "retryCount": retries + 1}
            client.update({**obj, "status": status}, "status")
            return
        client.delete(key)


def restart_background_controller(kyverno: Kyverno) -> None:
    """Stop the background controller, and start it again some time later.

    Deletions of policies in between are never noticed, since the informer's events are lost.
    """

    def relist() -> None:
        kyverno.downstreams.restart()
        kyverno.lister.relist()
        kyverno.generating.relist()
        kyverno.mutating.relist()
        for one in kyverno.sim.store.list(*KIND, NAMESPACE):
            _defer(one, kyverno)

    restart(kyverno.sim, "background", frozenset({_ACTOR, _POLICY_ACTOR}), relist)
