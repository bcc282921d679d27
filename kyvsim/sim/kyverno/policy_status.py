"""A policy's way to readiness: its status, and its place in the cache.

Source of the rules: upstream pkg/controllers/webhook (status), pkg/controllers/policycache.
"""

from collections.abc import Callable
from types import MappingProxyType

from kyvsim.compile import CompiledPolicy
from kyvsim.kube.objects import Json, ObjectKey, metadata, object_key
from kyvsim.model.policy import Policy
from kyvsim.model.result import Phase
from kyvsim.sim.kyverno.policy_cache import POLICY_KINDS, PolicyCache, policy_key
from kyvsim.sim.kyverno.users import ADMISSION
from kyvsim.sim.latency import NOTICE, POLICY_READY
from kyvsim.sim.parts import Parts
from kyvsim.sim.server import Change

_KINDS = frozenset(POLICY_KINDS)
_ACTOR = "admission-controller"


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
        key = object_key(change.subject)
        scheduler = self._parts.scheduler
        if key.kind == "PolicyException":
            scheduler.after(NOTICE, _ACTOR, self._cache.forget_compiled)
        elif (key.api_version, key.kind) in _KINDS or _is_policy(key):
            if change.new is None:
                scheduler.after(NOTICE, _ACTOR, lambda: self._drop(change.old))
            elif change.old is None or _spec(change.old) != _spec(change.new):
                scheduler.after(POLICY_READY, _ACTOR, lambda: self._reconcile(key))

    def _reconcile(self, key: ObjectKey) -> None:
        obj = self._parts.store.get(*key)
        if obj is None:
            return
        policy, _ = self._parts.readers.policy(obj)
        compiled = self._cache.compiled(policy) if policy else None
        if policy is None or compiled is None:
            self._write(obj, _status(None))
            return
        before = self._cache.get(policy.key)
        self._cache.put(policy)
        self._write(obj, _status(compiled))
        for listener in self.changed:
            listener(policy, before.policy if before else None)

    def _drop(self, obj: Json) -> None:
        compiled = self._cache.get(policy_key(obj))
        self._cache.drop(policy_key(obj))
        if compiled is not None:
            for listener in self.dropped:
                listener(compiled.policy)

    def _write(self, obj: Json, status: Json) -> None:
        status = _timed(status, obj.get("status"), self._parts.clock.stamp())
        if obj.get("status") != status:
            self._parts.client(ADMISSION).update({**obj, "status": status}, "status")


def _timed(status: Json, before: Json, now: str) -> Json:
    """Return a status whose condition says since when it is as it is."""
    (condition,) = status["conditions"]
    for one in (before or {}).get("conditions") or ():
        if one.get("status") == condition["status"]:
            now = one.get("lastTransitionTime") or now
    return {**status, "conditions": [{**condition, "lastTransitionTime": now}]}


def _is_policy(key: ObjectKey) -> bool:
    return key.api_version.startswith("kyverno.io/") and key.kind in {"ClusterPolicy", "Policy"}


def _spec(obj: Json) -> Json:
    return obj.get("spec"), metadata(obj).get("annotations")


def _status(compiled: CompiledPolicy | None) -> Json:
    """Return the status of a policy that acts, or of one that cannot."""
    if compiled is None:
        condition = {"type": "Ready", "status": "False", "reason": "Failed", "message": "Not Ready"}
        return {"conditions": [condition]}
    condition = {"type": "Ready", "status": "True", "reason": "Succeeded", "message": "Ready"}
    written = compiled.policy.rules
    names = {rule.name for rule in written}
    every = [*compiled.rules, *(one for some in compiled.validating.values() for one in some)]
    derived = {one.rule.name: one.rule for one in every if one.rule.name not in names}
    counts = {phase: sum(_counts(one.data, phase) for one in written) for phase in _SECTIONS}
    return {
        "autogen": {"rules": [dict(rule.data) for rule in derived.values()]} if derived else {},
        "conditions": [condition],
        "rulecount": {_SECTIONS[phase]: count for phase, count in counts.items()},
        "validatingadmissionpolicy": {"generated": False, "message": ""},
    }


_SECTIONS = MappingProxyType(
    {
        Phase.GENERATE: "generate",
        Phase.MUTATE: "mutate",
        Phase.VALIDATE: "validate",
        Phase.VERIFY_IMAGES: "verifyimages",
    }
)


def _counts(rule: Json, phase: Phase) -> bool:
    section = "verifyImages" if phase is Phase.VERIFY_IMAGES else _SECTIONS[phase]
    return bool(rule.get(section))
