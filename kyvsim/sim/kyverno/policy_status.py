"""A policy's way to readiness: its status, and its place in the cache.

Source of the rules: upstream pkg/controllers/webhook (status), pkg/controllers/policycache.
"""

from collections.abc import Callable
from types import MappingProxyType

from kyvsim.kube.objects import Json, ObjectKey, metadata, object_key
from kyvsim.languages.classic.status import derived_rules
from kyvsim.model.policy import Policy
from kyvsim.sim.kyverno.cel_status import cel_status
from kyvsim.sim.kyverno.generated import plan_of, with_twin_of, with_why_not
from kyvsim.sim.kyverno.policy_cache import (
    POLICY_KINDS,
    PolicyCache,
    is_asked_policy,
    place_of,
    policy_key,
)
from kyvsim.sim.kyverno.users import ADMISSION
from kyvsim.sim.latency import NOTICE, POLICY_CHANGED, POLICY_READY
from kyvsim.sim.parts import Parts
from kyvsim.sim.server import Change

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
