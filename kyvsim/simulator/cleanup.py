"""The cleanup controller: deletion by cleanup policies and by TTL labels."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial

from kyvsim.engine.compile import CompiledPolicy, PolicyRules
from kyvsim.engine.explain import Recorder
from kyvsim.engine.policy import open_request, run_policy_rules
from kyvsim.engine.world import World, creation_of
from kyvsim.kubernetes.cron import next_times
from kyvsim.kubernetes.discovery import KindTable, parse_kind_selector, plural, split_api_version
from kyvsim.kubernetes.lifetimes import TTL_LABEL, TtlError, parse_lifetime
from kyvsim.kubernetes.objects import (
    KubernetesObject,
    ObjectKey,
    annotations,
    labels,
    metadata,
    object_key,
    text_field,
)
from kyvsim.kubernetes.wildcard import matches
from kyvsim.languages import CLEANUP_POLICIES
from kyvsim.languages.cel import resources_of
from kyvsim.model.explanation import Step, deciding
from kyvsim.model.policy import Policy
from kyvsim.model.result import Phase, RuleStatus
from kyvsim.model.simulation import FailureReason, Unevaluated
from kyvsim.simulator.api_server import ObjectStore, Purpose, Review, StoreChange, WebhookResponse
from kyvsim.simulator.api_server.authorizer import denial, may
from kyvsim.simulator.api_server.metadata import is_terminating
from kyvsim.simulator.api_server.request import ALLOWED, Webhook, written
from kyvsim.simulator.configuration import CLEANUP, is_filtered
from kyvsim.simulator.context import NOTICE
from kyvsim.simulator.events import cleaned_up
from kyvsim.simulator.kyverno import Kyverno, restart
from kyvsim.simulator.policies import CEL_KINDS, is_cel_policy, is_webhook_policy
from kyvsim.simulator.scheduler import START

# Source of the rules: upstream pkg/controllers/cleanup/controller.go, api/kyverno/v2; for
# DeletingPolicies pkg/controllers/deleting/controller.go.

_CLEANUP_ACTOR = "cleanup"
_NOT_FOUND = 404


class CleanupController:
    """Runs cleanup policies on schedule."""

    def __init__(self, kyverno: Kyverno) -> None:
        self._kyverno = kyverno
        self._sim = kyverno.sim
        self._plans: dict[ObjectKey, int] = {}
        """How often the next run of each policy was scheduled; only the last one counts."""
        kyverno.sim.store.watch(self._observe)
        kyverno.cleaning.append(self._relist)

    def _observe(self, change: StoreChange) -> None:
        """Schedule the next run of a policy that is new or changed."""
        key = change.key
        if change.new is None or not is_scheduled(key):
            return
        if change.old is None or change.old.get("spec") != change.new.get("spec"):
            self._sim.scheduler.after(NOTICE, _CLEANUP_ACTOR, lambda: self._plan(key))

    def _relist(self) -> None:
        """Schedule the next run of every stored policy: overdue ones run immediately."""
        for obj in self._sim.store.every():
            key = object_key(obj)
            if is_scheduled(key):
                self._plan(key)

    def _plan(self, key: ObjectKey) -> None:
        obj = self._sim.store.get(*key)
        if obj is None:
            return
        due = next_run(obj)
        if due is not None:
            plan = self._plans[key] = self._plans.get(key, 0) + 1
            delay = max((due - self._sim.clock.now()).total_seconds(), 1.0)
            run = partial(self._run, key, plan)
            self._sim.scheduler.after(delay, _CLEANUP_ACTOR, run, timer=True)

    def _run(self, key: ObjectKey, plan: int) -> None:
        obj = self._sim.store.get(*key)
        if obj is None or self._plans[key] != plan:
            return
        policy, _ = self._sim.readers.policy(obj)
        compiled = self._kyverno.cache.compiled(policy) if policy else None
        if compiled is None:
            return
        # The objects to delete, of kinds that the controller may list.
        places = tuple(self._places(compiled.policy))
        objects = (obj for place in places for obj in self._sim.store.list(*place[:3]))
        matched = [
            obj
            for obj in objects
            if not is_filtered(object_key(obj), self._sim.store) and self._matches(compiled, obj)
        ]
        client = self._sim.client(CLEANUP, Purpose("", (compiled.policy.key,)))
        for target in matched:
            error = client.delete(object_key(target), compiled.policy.facts.propagation).error
            if error is None or error.code != _NOT_FOUND:
                why = error.message if error else ""
                self._kyverno.events.record(cleaned_up(self._sim, compiled.policy, target, why))
        status = {**(obj.get("status") or {}), LAST_RUN: self._sim.clock.stamp()}
        self._sim.client(CLEANUP).update({**obj, "status": status}, "status")
        self._plan(key)

    def _places(self, policy: Policy) -> Iterator[ObjectKey]:
        store = self._sim.store
        confined = policy.kind in CEL_KINDS and bool(policy.namespace)
        for api_version, kind in store.kinds():
            place = ObjectKey(api_version, kind, policy.namespace, "")
            if not selects_kind(policy, api_version, kind, store.defined) or (
                confined and not store.is_namespaced(api_version, kind)
            ):
                continue
            refused = denial(CLEANUP, "list", place, store)
            if refused is None:
                yield place
            else:
                self._sim.timeline.record(
                    _CLEANUP_ACTOR,
                    "list",
                    place,
                    outcome="failed",
                    policies=(policy.key,),
                    failure_reasons=(FailureReason(refused.why, refused.message, place),),
                )

    def _matches(self, compiled: CompiledPolicy, obj: KubernetesObject) -> bool:
        """Return whether a policy matches an object and its conditions are met."""
        world = World(self._sim.store, account=CLEANUP)
        given = open_request(creation_of(obj, None, None), world, compiled.policy.name)
        if given is None:
            return False
        rules = PolicyRules(compiled, compiled.rules)
        response = run_policy_rules(rules, Phase.DELETE, given, world)
        for listener in self._kyverno.reports.listeners:
            listener((response,))
        policy = response.policy.key
        failed = (one for one in response.results if one.status is RuleStatus.ERROR)
        errors = dict.fromkeys(Unevaluated(policy, one.message, note=one.note) for one in failed)
        if errors:
            self._sim.timeline.record(
                _CLEANUP_ACTOR,
                "evaluate",
                object_key(obj),
                outcome="failed",
                policies=(policy,),
                unevaluated=tuple(errors),
            )
        return any(one.status is RuleStatus.PASS for one in response.results)


def deciding_steps(kyverno: Kyverno, policy: Policy, obj: KubernetesObject) -> tuple[Step, ...]:
    """Return the steps that decide whether a policy deletes an object; () if it is invalid."""
    recorder, world = Recorder(), World(kyverno.sim.store, account=CLEANUP)
    compiled = kyverno.cache.traced(policy, recorder)
    given = open_request(creation_of(obj, None, None), world, policy.name) if compiled else None
    if compiled is None or given is None:
        return ()
    run_policy_rules(PolicyRules(compiled, compiled.rules), Phase.DELETE, given, world)
    return next((deciding(one.steps) for one in recorder.taken()), ())


LAST_RUN = "lastExecutionTime"
"""The field of the status of a policy with the time of its last run."""


def next_run(obj: KubernetesObject) -> datetime | None:
    """Return when a policy is next due, after its last run, or its creation if it has none."""
    since = text_field(obj.get("status"), LAST_RUN)
    since = since or text_field(metadata(obj), "creationTimestamp")
    with suppress(ValueError):
        schedule = text_field(obj.get("spec"), "schedule")
        return next(iter(next_times(schedule, datetime.fromisoformat(since), 1)), None)
    return None


def is_scheduled(key: ObjectKey) -> bool:
    """Return whether an object is a policy that deletes objects on a schedule."""
    older = key.kind in CLEANUP_POLICIES.kinds and key.api_version.startswith("kyverno.io/")
    return older or (is_cel_policy(key) and not is_webhook_policy(key))


def selects_kind(policy: Policy, api_version: str, kind: str, kinds: KindTable) -> bool:
    """Return whether a policy deletes objects of a kind."""
    group, version = split_api_version(api_version)
    if policy.kind in CEL_KINDS:
        resources = ({group, "*"}, {version, "*"}, {plural(group, kind, kinds), "*", "*/*"})
        named = (zip(one, resources, strict=True) for one in resources_of(policy))
        return any(all(part in some for part, some in pairs) for pairs in named)
    texts = (text for rule in policy.rules for one in rule.tree.match.filters for text in one.kinds)
    own = (group, version, kind)
    return any(all(map(matches, parse_kind_selector(text), own)) for text in texts)


def restart_cleanup_controller(kyverno: Kyverno) -> None:
    """Stop the cleanup controller, and start it again some time later.

    The last execution of a policy is in its status, so a missed run is made up for.
    """

    def relist() -> None:
        for each in kyverno.cleaning:
            each()

    restart(kyverno.sim, "cleanup", frozenset({_CLEANUP_ACTOR, _TTL_ACTOR}), relist)


def expiry_of(obj: KubernetesObject, now: datetime) -> datetime | None:
    """Return when an object expires, None if it has no TTL label.

    `now` replaces a missing creationTimestamp. Raises TtlError for an invalid label.
    """
    text = labels(obj).get(TTL_LABEL)
    if text is None:
        return None
    lifetime = parse_lifetime(text)
    if isinstance(lifetime, datetime):
        return lifetime
    created = text_field(metadata(obj), "creationTimestamp")
    born = datetime.fromisoformat(created) if created else now
    return born + timedelta(microseconds=lifetime / 1000)


class TimeToLiveWebhook(Webhook):
    """Warns about invalid TTL labels.

    Source of the rules: upstream cmd/cleanup-controller/handlers/admission/resource,
    pkg/validation.
    """

    def validate(self, review: Review) -> WebhookResponse:
        """Return a warning if the TTL label of an object is invalid; the request is admitted."""
        obj = written(review)
        if obj is not None:
            try:
                expiry_of(obj, START)
            except TtlError as error:
                text = f"{TTL_LABEL} label value cannot be parsed as any recognizable format"
                return WebhookResponse(warnings=(f"{text} ({error})",))
        return ALLOWED


# Source of the rules: upstream pkg/controllers/ttl (manager.go, controller.go). The manager checks
# every minute which kinds it may watch and delete, and watches those.

_TTL_ACTOR = "ttl"
_INTERVAL = 60.0


class TtlController:
    """Deletes objects when their TTL expires."""

    def __init__(self, kyverno: Kyverno) -> None:
        self._sim = kyverno.sim
        self._followed: set[tuple[str, str]] = set()
        """Group and kind of the watched objects."""
        self._left: dict[ObjectKey, None] = {}
        """Labelled objects whose kinds were not watched when they were written."""
        kyverno.sim.store.watch(self._observe)
        kyverno.cleaning.append(self._take_all)

    def _observe(self, change: StoreChange) -> None:
        if change.new is not None:
            self._take(change.new)

    def _take(self, obj: KubernetesObject) -> None:
        if TTL_LABEL not in labels(obj) or is_terminating(obj):
            return
        key = object_key(obj)
        # Permission to watch a kind is checked at the first labelled object.
        if self._follows(key, again=self._sim.clock.elapsed >= _INTERVAL):
            self._sim.scheduler.after(NOTICE, _TTL_ACTOR, lambda: self._plan(key))
        else:
            if not self._left:
                self._relist_later()
            self._left[key] = None

    def _take_all(self) -> None:
        for obj in tuple(self._sim.store.every()):
            self._take(obj)

    def _follows(self, key: ObjectKey, *, again: bool) -> bool:
        """Return whether a kind is watched; with `again`, check permissions and start watching."""
        named = key.group, key.kind
        if again and named not in self._followed and not missing_verbs(key, self._sim.store):
            self._followed.add(named)
        return named in self._followed

    def _relist_later(self) -> None:
        wait = _INTERVAL - self._sim.clock.elapsed % _INTERVAL
        self._sim.scheduler.after(wait, _TTL_ACTOR, self._relist, timer=True)

    def _relist(self) -> None:
        """Start to watch the kinds that are permitted now, and plan their objects."""
        for key in tuple(self._left):
            if self._follows(key, again=True) or self._sim.store.get(*key) is None:
                del self._left[key]
                self._plan(key)
        if self._left:
            self._relist_later()

    def _plan(self, key: ObjectKey) -> None:
        """Delete an object whose TTL has expired, or schedule its deletion."""
        obj = self._sim.store.get(*key)
        if obj is None or is_terminating(obj):
            return
        now, end = self._sim.clock.now(), None
        with suppress(TtlError):
            end = expiry_of(obj, now)
        if end is None:
            return
        rest = (end - now).total_seconds()
        if rest > 0:
            self._sim.scheduler.after(rest, _TTL_ACTOR, lambda: self._plan(key), timer=True)
        else:
            purpose = Purpose("", message="its TTL has expired")
            given = annotations(obj).get("cleanup.kyverno.io/propagation-policy", "")
            propagation = given if given in {"Foreground", "Orphan"} else "Background"
            self._sim.client(CLEANUP, purpose).delete(key, propagation)


def missing_verbs(key: ObjectKey, store: ObjectStore) -> list[str]:
    """Return the verbs that the controller lacks for a kind."""
    anywhere, verbs = key._replace(namespace="", name=""), ("watch", "list", "delete")
    return [verb for verb in verbs if not may(CLEANUP, verb, anywhere, store)]
