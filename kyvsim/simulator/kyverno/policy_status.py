"""A policy's way to readiness: its status, and its place in the cache."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.engine.context.cluster_api import allows
from kyvsim.kubernetes.discovery import kind_of_plural
from kyvsim.kubernetes.objects import Json, ObjectKey, metadata, object_key, text_field
from kyvsim.languages.cel import resources_of
from kyvsim.languages.cel.compile import variants_of
from kyvsim.languages.cel.facts import generates, matched_resources, verifies_images
from kyvsim.languages.classic.admission import derived_rules
from kyvsim.model.policy import Policy
from kyvsim.simulator.api_server import Change, Store
from kyvsim.simulator.kyverno.configuration import ADMISSION, REPORTS
from kyvsim.simulator.kyverno.native_policies import plan_of, with_twin_of, with_why_not
from kyvsim.simulator.kyverno.policies import (
    POLICY_KINDS,
    PolicyCache,
    is_asked_policy,
    place_of,
    policy_key,
)
from kyvsim.simulator.latency import NOTICE, POLICY_CHANGED, POLICY_READY
from kyvsim.simulator.parts import Parts

# What the status of a policy in CEL says: whether it acts, may be reported on, and its variants.
#
# Source of the rules: upstream pkg/controllers/policystatus (controller.go, vpol.go).

_REPORTING = "RBACPermissionsGranted"
_VERBS = ("get", "list", "watch")
_WITHOUT_SCANS = "Background scanning disabled; reporting permissions not required."


def cel_status(policy: Policy, store: Store, now: str, before: Json) -> Json:
    """Return the status of a policy that acts; a condition keeps its time while it stays.

    What the API server evaluates in its place is for whoever makes that to say.
    """
    conditions = [one.written(now, before) for one in _conditions(policy, store)]
    ready = all(one["status"] == "True" for one in conditions)
    stated = {"conditionStatus": {"conditions": conditions, "message": "", "ready": ready}}
    if generates(policy.kind):
        return stated
    configs = {
        one.name: {"targets": list(_targets(one.spec)), "spec": _stored(one.spec)}
        for one in variants_of(policy)
    }
    derived = {"autogen": {"configs": configs} if configs else {}, **stated}
    # Nothing is made of a policy on images that the API server could evaluate.
    return derived if verifies_images(policy.kind) else {**derived, "generated": False}


def _missing(policy: Policy, store: Store) -> Iterator[str]:
    for (group, version, resource), verb in product(resources_of(policy), _VERBS):
        asked = {"verb": verb, "group": group, "resource": resource}
        if not allows(asked, REPORTS, store):
            yield f"{verb} {group}/{version}, Resource={resource}: "


class _Condition(NamedTuple):
    kind: str
    holds: bool
    message: str

    def written(self, now: str, before: Json) -> Json:
        """Return it as a status has it, with the time since when it is so."""
        status = "True" if self.holds else "False"
        for one in _known(before):
            if text_field(one, "type") == self.kind and text_field(one, "status") == status:
                now = text_field(one, "lastTransitionTime") or now
        return {
            "lastTransitionTime": now,
            "message": self.message,
            "reason": "Succeeded" if self.holds else "Failed",
            "status": status,
            "type": self.kind,
        }


def _conditions(policy: Policy, store: Store) -> Iterator[_Condition]:
    if policy.facts.admission:
        yield _Condition("WebhookConfigured", True, "Webhook configured.")
    if not policy.facts.background:
        yield _Condition(_REPORTING, True, _WITHOUT_SCANS)
        return
    missing = "; ".join(_missing(policy, store))
    said = "Policy is ready for reporting."
    if missing:
        said = f"Policy is not ready for reporting, missing permissions: {missing}."
    yield _Condition(_REPORTING, not missing, said)


def _known(before: Json) -> Iterable[Json]:
    return ((before or {}).get("conditionStatus") or {}).get("conditions") or ()


def _targets(spec: Mapping[str, Json]) -> Iterator[Json]:
    """Yield the kinds that a variant is for, in the order of group, version and resource."""
    for group, version, resource in sorted(matched_resources(spec)):
        kind = kind_of_plural(group, resource)
        named = {"group": group} if group else {}
        yield {**named, "version": version, "resource": resource, "kind": kind}


def _stored(spec: Mapping[str, Json]) -> Json:
    return {name: value for name, value in spec.items() if value is not None}


# A policy's way to readiness: its status, and its place in the cache.
#
# Source of the rules: upstream pkg/controllers/webhook (status), pkg/controllers/policycache.

_KINDS = frozenset(POLICY_KINDS)
_ACTOR = "admission-controller"
_COUNTS = MappingProxyType(
    {
        "generate": "generate",
        "mutate": "mutate",
        "validate": "validate",
        "verifyimages": "verifyImages",
    }
)
"""Names of the counts, and the fields of the rules that they count."""


class PolicyStatusController:
    """Lets policies act some time after they were written, and says so in their status."""

    def __init__(self, parts: Parts, cache: PolicyCache) -> None:
        self._parts = parts
        self._cache = cache
        self.changed: list[Callable[[Policy, Policy | None], None]] = []
        """Who is told of a policy that acts anew, with what it was before."""
        self.dropped: list[Callable[[Policy], None]] = []
        """Who is told of a policy that is gone."""
        parts.store.watch(self._observe)

    def _observe(self, change: Change) -> None:
        key = change.key
        scheduler = self._parts.scheduler
        if key.kind == "PolicyException":
            scheduler.after(NOTICE, _ACTOR, self._cache.forget_compiled)
        elif (key.api_version, key.kind) in _KINDS or _is_policy(key) or is_asked_policy(key):
            if change.new is None:
                scheduler.after(NOTICE, _ACTOR, lambda: self._drop(change.old))
            elif change.old is None or _spec(change.old) != _spec(change.new):
                acts = self._cache.get(_place(change.subject)) is not None
                delay = POLICY_CHANGED if acts else POLICY_READY
                scheduler.after(delay, _ACTOR, lambda: self._reconcile(key))

    def _reconcile(self, key: ObjectKey) -> None:
        obj = self._parts.store.get(*key)
        if obj is None:
            return
        policy, _ = self._parts.readers.policy(obj)
        compiled = self._cache.compiled(policy) if policy else None
        now = self._parts.clock.stamp()
        before = self._cache.get(_place(obj))
        if policy is not None and compiled is not None:
            self._cache.put(policy, compiled)
        if policy is not None and is_asked_policy(key):
            status = cel_status(policy, self._parts.store, now, obj.get("status"))
            status = with_twin_of(status, obj.get("status"))
            self._tell(obj, with_why_not(status, plan_of(policy, self._parts)))
        else:
            sound = policy if compiled is not None else None
            plan = plan_of(sound, self._parts) if sound is not None else None
            self._write(obj, with_why_not(_status(sound, obj.get("status"), now), plan))
        if policy is None or compiled is None:
            return
        for listener in self.changed:
            listener(policy, before.policy if before else None)

    def _drop(self, obj: Json) -> None:
        compiled = self._cache.get(_place(obj))
        self._cache.drop(_place(obj))
        if compiled is not None:
            for listener in self.dropped:
                listener(compiled.policy)

    def _write(self, obj: Json, status: Json) -> None:
        self._tell(obj, _timed(status, obj.get("status"), self._parts.clock.stamp()))

    def _tell(self, obj: Json, status: Json) -> None:
        if obj.get("status") != status:
            self._parts.client(ADMISSION).update({**obj, "status": status}, "status")


def _timed(status: Json, before: Json, now: str) -> Json:
    """Return a status whose condition says since when it is as it is."""
    (condition,) = status["conditions"]
    for one in (before or {}).get("conditions") or ():
        if one.get("status") == condition["status"]:
            now = one.get("lastTransitionTime") or now
    return {**status, "conditions": [{**condition, "lastTransitionTime": now}]}


def _place(obj: Json) -> str:
    return place_of(object_key(obj).kind, policy_key(obj))


def _is_policy(key: ObjectKey) -> bool:
    return key.api_version.startswith("kyverno.io/") and key.kind in {"ClusterPolicy", "Policy"}


def _spec(obj: Json) -> Json:
    return obj.get("spec"), metadata(obj).get("annotations")


def _status(policy: Policy | None, before: Json, now: str) -> Json:
    """Return the status of a policy that acts, or of one that cannot (None)."""
    condition = _condition(before, now, ready=policy is not None)
    if policy is None:
        return {**(before or {}), "conditions": [condition]}
    rules = derived_rules(policy)
    counts = {
        name: sum(rule.facts.section == section for rule in policy.rules)
        for name, section in _COUNTS.items()
    }
    made = (before or {}).get("validatingadmissionpolicy")
    return {
        "autogen": {"rules": rules} if rules else {},
        "conditions": [condition],
        "rulecount": counts,
        "validatingadmissionpolicy": made or {"generated": False, "message": ""},
    }


def _condition(before: Json, now: str, *, ready: bool) -> Json:
    """Return the one condition; its time is that of its last change."""
    status = "True" if ready else "False"
    known = (before or {}).get("conditions") or [{}]
    unchanged = known[0].get("status") == status
    return {
        "lastTransitionTime": known[0].get("lastTransitionTime", now) if unchanged else now,
        "message": "Ready" if ready else "Not Ready",
        "reason": "Succeeded" if ready else "Failed",
        "status": status,
        "type": "Ready",
    }
