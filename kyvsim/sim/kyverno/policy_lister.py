"""The policies that work in the background, as they are stored: ready or not.

Source of the rules: upstream pkg/policy/policy_controller.go, whose informers do not wait for
admission.
"""

from collections.abc import Callable, Iterable

from kyvsim.compile import CompiledPolicy, CompiledRule
from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import Json, ObjectKey, object_key
from kyvsim.languages.classic.rule_type import RuleContext
from kyvsim.languages.classic.rules.generate import Wishes, compile_wishes
from kyvsim.model.policy import Policy
from kyvsim.sim.kyverno.policy_cache import PolicyCache, policy_key
from kyvsim.sim.latency import NOTICE
from kyvsim.sim.parts import Parts
from kyvsim.sim.server import Change

_ACTOR = "policy-controller"


def generates_or_mutates(policy: Policy) -> bool:
    """Return whether a policy has rules for the background."""
    return any(rule.generates or rule.mutates_existing for rule in policy.rules)


class PolicyLister:
    """Policies of some kinds that work in the background, by key."""

    def __init__(
        self,
        parts: Parts,
        cache: PolicyCache,
        kinds: Iterable[tuple[str, str]],
        works: Callable[[Policy], bool] = generates_or_mutates,
    ) -> None:
        """Take the kinds, by apiVersion, and what says of a policy whether it is one of these."""
        self._parts = parts
        self._kinds = tuple(kinds)
        self._named = {(split_api_version(version)[0], kind) for version, kind in self._kinds}
        self._works = works
        self._cache = cache
        self._policies: dict[str, Policy] = {}
        self._compiled: dict[str, CompiledPolicy] = {}
        self._wishes: dict[str, dict[str, Wishes]] = {}
        """What generate rules want, by policy and rule, for as long as a policy stays compiled."""
        self.changed: list[Callable[[Policy, Policy | None], None]] = []
        """Who is told of a policy that is new or has changed, with what it was before."""
        self.dropped: list[Callable[[Policy], None]] = []
        """Who is told of a policy that is gone."""
        parts.store.watch(self._observe)

    def get(self, key: str) -> CompiledPolicy | None:
        """Return a policy, compiled, or None where it is gone or not sound."""
        policy = self._policies.get(key)
        if policy is None:
            return None
        if key not in self._compiled:
            compiled = self._cache.compiled(policy)
            if compiled is None:
                return None
            self._compiled[key] = compiled
        return self._compiled[key]

    def wishes(self, policy: CompiledPolicy, rule: CompiledRule) -> Wishes:
        """Return what says which objects a generate rule wants."""
        known = self._wishes.setdefault(policy.policy.key, {})
        if rule.rule.name not in known:
            context = RuleContext(policy.policy, rule.rule, self._cache.system)
            known[rule.rule.name] = compile_wishes(context)
        return known[rule.rule.name]

    def _forget(self, key: str) -> None:
        self._compiled.pop(key, None)
        self._wishes.pop(key, None)

    def _forget_all(self) -> None:
        self._compiled.clear()
        self._wishes.clear()

    def every(self) -> list[CompiledPolicy]:
        """Return all policies, compiled, by key."""
        found = (self.get(key) for key in sorted(self._policies))
        return [one for one in found if one is not None]

    def relist(self) -> None:
        """Forget all policies, and take up those that are stored as if they were new."""
        self._policies.clear()
        self._forget_all()
        for api_version, kind in self._kinds:
            for obj in self._parts.store.list(api_version, kind, ""):
                self._take(object_key(obj))

    def _observe(self, change: Change) -> None:
        key = change.key
        after = self._parts.scheduler.after
        if key.kind == "PolicyException":
            after(NOTICE, _ACTOR, self._forget_all)
        elif (split_api_version(key.api_version)[0], key.kind) in self._named:
            if change.new is None:
                after(NOTICE, _ACTOR, lambda: self._drop(policy_key(change.old)))
            elif change.old is None or change.old.get("spec") != change.new.get("spec"):
                after(NOTICE, _ACTOR, lambda: self._take(key))

    def _take(self, key: ObjectKey) -> None:
        obj = self._parts.store.get(*key)
        policy = self._read(obj) if obj is not None else None
        if policy is None:
            return
        before = self._policies.get(policy.key)
        self._policies[policy.key] = policy
        self._forget(policy.key)
        for listener in self.changed:
            listener(policy, before)

    def _read(self, obj: Json) -> Policy | None:
        """Return a policy if it works in the background, now or until now."""
        policy, _ = self._parts.readers.policy(obj)
        if policy is None:
            return None
        return policy if self._works(policy) or policy.key in self._policies else None

    def _drop(self, key: str) -> None:
        self._forget(key)
        policy = self._policies.pop(key, None)
        if policy is not None:
            for listener in self.dropped:
                listener(policy)
