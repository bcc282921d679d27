"""The policies that act at admission and those that work in the background."""

from collections.abc import Callable, Iterable, Sequence

from kyvsim.engine.compile import (
    CompiledPolicy,
    CompiledRule,
    CompileOptions,
    PolicySet,
    index_policies,
)
from kyvsim.jmespath import System
from kyvsim.kubernetes.discovery import split_api_version
from kyvsim.kubernetes.objects import Json, ObjectKey, object_key
from kyvsim.languages import CEL_POLICIES, CLASSIC_POLICIES, compile_policies
from kyvsim.languages.cel import webhook_facts_of
from kyvsim.languages.cel.compile import existing_changes, pinning
from kyvsim.languages.cel.facts import WebhookFacts, generates, mutates
from kyvsim.languages.cel.mutating_policy import ExistingChange
from kyvsim.languages.classic.rule_type import RuleContext
from kyvsim.languages.classic.rules.generate import (
    GeneratedSets,
    compile_generated,
)
from kyvsim.model.policy import CelException, Policy, PolicyException
from kyvsim.schema.kinds import CEL_GROUP, RULES_GROUP
from kyvsim.simulator.api_server import Change
from kyvsim.simulator.kyverno.native_policies import is_left_to_the_server, may_be_left
from kyvsim.simulator.latency import NOTICE
from kyvsim.simulator.parts import Parts

# The policies that act at admission: compiled, and there only once they are ready.
#
# Source of the rules: upstream pkg/controllers/policycache/controller.go, pkg/policycache.

POLICY_KINDS = tuple((f"{RULES_GROUP}/v1", kind) for kind in sorted(CLASSIC_POLICIES.kinds))
CEL_KINDS = CEL_POLICIES.kinds
"""The kinds of `policies.kyverno.io`."""
GENERATING_KINDS = tuple((f"{CEL_GROUP}/v1", kind) for kind in sorted(filter(generates, CEL_KINDS)))
MUTATING_KINDS = tuple((f"{CEL_GROUP}/v1", kind) for kind in sorted(filter(mutates, CEL_KINDS)))
_EXCEPTION = (f"{RULES_GROUP}/v2", "PolicyException")
_CEL_EXCEPTION = (f"{CEL_GROUP}/v1", "PolicyException")


class PolicyCache:
    """Compiled policies by key; in the order of their keys, for upstream's order is chance."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.system = System(parts.clock, parts.identities, parts.settings.meter())
        """Clock and chance for what else is compiled of policies."""
        self._policies: dict[str, Policy] = {}
        self._compiled: dict[str, CompiledPolicy] = {}
        self._webhook_facts: dict[str, WebhookFacts] = {}
        self._may_be_left: dict[str, bool] = {}
        self._changes: dict[str, tuple[Policy, tuple[ExistingChange, ...]]] = {}
        self._pinning: dict[str, CompiledPolicy] = {}
        self._index: PolicySet | None = None
        self._every: tuple[CompiledPolicy, ...] | None = None

    def put(self, policy: Policy, compiled: CompiledPolicy) -> None:
        """Let a policy that was `compiled` now act from now on, in place of that of its key."""
        place = place_of(policy.kind, policy.key)
        self._policies[place] = policy
        self._forget(place)
        self._compiled[place] = compiled

    def drop(self, key: str) -> None:
        """Let a policy act no more."""
        self._policies.pop(key, None)
        self._forget(key)

    def forget_compiled(self) -> None:
        """Compile everything anew, since exceptions have changed."""
        self._compiled.clear()
        self._pinning.clear()
        self._changes.clear()
        self._index = self._every = None

    def _forget(self, key: str) -> None:
        self._changes.pop(key, None)
        self._compiled.pop(key, None)
        self._pinning.pop(key, None)
        self._webhook_facts.pop(key, None)
        self._may_be_left.pop(key, None)
        self._index = self._every = None

    def get(self, key: str) -> CompiledPolicy | None:
        """Return a policy that acts, compiled, or None."""
        return self.compiled(self._policies[key]) if key in self._policies else None

    def every(self) -> Sequence[CompiledPolicy]:
        """Return the policies that act, compiled, by key: the same sequence until they change."""
        if self._every is None:
            found = (self.get(key) for key in sorted(self._policies))
            some = tuple(one for one in found if one is not None)
            if len(some) < len(self._policies):
                return some  # what is not sound now may be so when a kind is defined
            self._every = some
        return self._every

    def compiled(self, policy: Policy) -> CompiledPolicy | None:
        """Return a policy compiled, with the exceptions there are; None where it is not sound."""
        place = place_of(policy.kind, policy.key)
        if self._policies.get(place) is not policy:
            return self._compile(policy)
        if place not in self._compiled:
            fresh = self._compile(policy)
            if fresh is None:
                return None
            self._compiled[place] = fresh
        return self._compiled[place]

    def existing_changes(self, policy: Policy) -> tuple[ExistingChange, ...]:
        """Return what each variant of a policy in CEL makes of objects that are there."""
        place = place_of(policy.kind, policy.key)
        known = self._changes.get(place)
        if known is None or not known[0].says(policy):
            known = policy, existing_changes(policy, self._options(policy))
            self._changes[place] = known
        return known[1]

    def pinning(self, policy: Policy) -> CompiledPolicy:
        """Return what a policy on images that acts does before it validates them."""
        place = place_of(policy.kind, policy.key)
        if place not in self._pinning:
            self._pinning[place] = pinning(policy, self._options(policy))
        return self._pinning[place]

    def _compile(self, policy: Policy) -> CompiledPolicy | None:
        found, _ = compile_policies([policy], self._options(policy))
        return found.policies[0] if found.policies else None

    def _options(self, policy: Policy) -> CompileOptions:
        model = self._parts.settings.model
        tracer = self._parts.inquirer
        options = CompileOptions(self.system, model=model, admitted=True, tracer=tracer)
        if policy.kind not in CEL_KINDS:
            return options._replace(exceptions=tuple(self._exceptions()))
        kinds = self._parts.store.defined
        return options._replace(cel_exceptions=tuple(self._cel_exceptions()), kinds=kinds)

    def _exceptions(self) -> Iterable[PolicyException]:
        namespace = self._parts.settings.exceptions_namespace
        if not namespace:
            return
        for obj in self._parts.store.list(*_EXCEPTION, "" if namespace == "*" else namespace):
            exception, _ = self._parts.readers.exception(obj)
            if exception is not None:
                yield exception

    def _cel_exceptions(self) -> Iterable[CelException]:
        namespace = self._parts.settings.exceptions_namespace
        if not namespace:
            return
        for obj in self._parts.store.list(*_CEL_EXCEPTION, "" if namespace == "*" else namespace):
            exception, _ = self._parts.readers.cel_exception(obj)
            if exception is not None:
                yield exception

    def waiting(self) -> tuple[str, ...]:
        """Return the keys of policies that are stored and do not act, in order."""
        store, named = self._parts.store, {kind for _, kind in POLICY_KINDS} | CEL_KINDS
        stored = (
            obj for kind in store.kinds() if kind[1] in named for obj in store.list(*kind, "")
        )
        policies = [one for one in stored if _is_asked(object_key(one))]
        places = {place_of(object_key(one).kind, policy_key(one)): one for one in policies}
        return tuple(sorted({policy_key(places[one]) for one in places.keys() - self._policies}))

    def webhook_facts(self, policy: Policy) -> "WebhookFacts":
        """Return what the webhook of a policy in CEL needs to know of it."""
        place = place_of(policy.kind, policy.key)
        if place not in self._webhook_facts:
            self._webhook_facts[place] = webhook_facts_of(policy, self._parts.store.defined)
        return self._webhook_facts[place]

    def is_left_to_the_server(self, policy: Policy) -> bool:
        """Return whether the API server evaluates a policy instead of Kyverno."""
        place = place_of(policy.kind, policy.key)
        if place not in self._may_be_left:
            self._may_be_left[place] = may_be_left(policy)
        if not self._may_be_left[place]:
            return False
        known = policy.facts.api_version, policy.kind, policy.namespace, policy.name
        return is_left_to_the_server(self._parts.store.get(*known))

    @property
    def index(self) -> PolicySet:
        """The policies that act, indexed by kind."""
        if self._index is None:
            self._index = index_policies(self.every())
        return self._index


def policy_key(obj: Json) -> str:
    """Return the key of a policy that is stored: `namespace/name` for a namespaced one."""
    key = object_key(obj)
    return f"{key.namespace}/{key.name}" if key.namespace else key.name


def _is_asked(key: ObjectKey) -> bool:
    return key[:2] in POLICY_KINDS or is_asked_policy(key)


def is_asked_policy(key: ObjectKey) -> bool:
    """Return whether an object is such a policy that webhooks ask, and not a clock."""
    return is_cel_policy(key) and not key.kind.endswith("DeletingPolicy")


def is_cel_policy(key: ObjectKey) -> bool:
    """Return whether an object is a policy in CEL of a kind that is simulated."""
    return key.kind in CEL_KINDS and key.api_version.startswith(f"{CEL_GROUP}/")


def place_of(kind: str, key: str) -> str:
    """Return under what a policy is kept; names of policies in CEL are their own kind's."""
    return f"{kind} {key}" if kind in CEL_KINDS else key


# The policies that work in the background, as they are stored: ready or not.
#
# Source of the rules: upstream pkg/policy/policy_controller.go, whose informers do not wait for
# admission.

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
        self._wishes: dict[str, dict[str, GeneratedSets]] = {}
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

    def wishes(self, policy: CompiledPolicy, rule: CompiledRule) -> GeneratedSets:
        """Return what says which objects a generate rule wants."""
        known = self._wishes.setdefault(policy.policy.key, {})
        if rule.rule.name not in known:
            context = RuleContext(policy.policy, rule.rule, self._cache.system)
            known[rule.rule.name] = compile_generated(context)
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
