"""The installed policies: how they become ready, and their compiled forms."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple, TypeVar

from kyvsim.engine.compile import (
    CompiledPolicy,
    CompiledRule,
    CompileOptions,
    PolicySet,
    index_policies,
)
from kyvsim.engine.context.cluster_api import allows
from kyvsim.kubernetes.discovery import kind_of_plural, split_api_version
from kyvsim.kubernetes.objects import (
    Json,
    KubernetesObject,
    ObjectKey,
    metadata,
    object_key,
    text_field,
)
from kyvsim.languages import CEL_POLICIES, CLASSIC_POLICIES, compile_policies
from kyvsim.languages.cel import resources_of, webhook_facts_of
from kyvsim.languages.cel.compile import existing_changes, pinning, variants_of
from kyvsim.languages.cel.facts import (
    WebhookFacts,
    generates,
    matched_resources,
    mutates,
    verifies_images,
)
from kyvsim.languages.cel.mutating_policy import ExistingChange
from kyvsim.languages.classic.admission import derived_rules
from kyvsim.languages.classic.rule_type import RuleContext
from kyvsim.languages.classic.rules.generate import GeneratedSets, compile_generated
from kyvsim.model.policy import CelException, Policy, PolicyException
from kyvsim.model.release import Release
from kyvsim.model.tracing import Tracer
from kyvsim.schema.kinds import CEL_GROUP, RULES_GROUP
from kyvsim.simulator.api_server import ObjectStore, StoreChange
from kyvsim.simulator.configuration import ADMISSION, REPORTS
from kyvsim.simulator.context import NOTICE, WRITE, SimulationContext
from kyvsim.simulator.native_policies import (
    is_left_to_the_server,
    may_be_left,
    plan_of,
    with_plan,
    with_twin_of,
)

# The policies that are active at admission: compiled, and cached only once they are ready.
# Source of the rules: upstream pkg/controllers/policycache/controller.go, pkg/policycache.

POLICY_KINDS = tuple((f"{RULES_GROUP}/v1", kind) for kind in sorted(CLASSIC_POLICIES.kinds))
CEL_KINDS = CEL_POLICIES.kinds
GENERATING_KINDS = tuple((f"{CEL_GROUP}/v1", kind) for kind in sorted(filter(generates, CEL_KINDS)))
MUTATING_KINDS = tuple((f"{CEL_GROUP}/v1", kind) for kind in sorted(filter(mutates, CEL_KINDS)))
_Exception = TypeVar("_Exception", PolicyException, CelException)


class PolicyCache:
    """Compiled policies by key, in the order of keys (upstream's order is random)."""

    def __init__(self, sim: SimulationContext) -> None:
        self._sim = sim
        self.system = sim.system()
        """Clock, random numbers and step meter for compiled rules."""
        self._policies: dict[str, Policy] = {}
        self._compiled: dict[str, CompiledPolicy] = {}
        self._webhook_facts: dict[str, WebhookFacts] = {}
        self._may_be_left: dict[str, bool] = {}
        self._changes: dict[str, tuple[Policy, tuple[ExistingChange, ...]]] = {}
        self._pinning: dict[str, CompiledPolicy] = {}
        self._index: PolicySet | None = None
        self._every: tuple[CompiledPolicy, ...] | None = None

    def put(self, policy: Policy, compiled: CompiledPolicy | None = None) -> None:
        """Make a policy active in place of the one with its key, as `compiled` just now."""
        place = place_of(policy.kind, policy.key)
        if self._policies.get(place) is not policy:
            self._policies[place] = policy
            self._forget(place)
        if compiled is not None:
            self._compiled[place] = compiled

    def drop(self, key: str) -> None:
        """Deactivate a policy."""
        self._policies.pop(key, None)
        self._forget(key)

    def forget_compiled(self) -> None:
        """Compile all policies again, since exceptions have changed."""
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
        """Return an active policy, compiled, or None."""
        return self.compiled(self._policies[key]) if key in self._policies else None

    def every(self) -> Sequence[CompiledPolicy]:
        """Return the active policies, compiled, by key: the same sequence until they change."""
        if self._every is None:
            policies = (self.get(key) for key in sorted(self._policies))
            some = tuple(one for one in policies if one is not None)
            if len(some) < len(self._policies):
                return some  # an invalid policy can become valid when a kind is defined
            self._every = some
        return self._every

    def compiled(self, policy: Policy) -> CompiledPolicy | None:
        """Return a policy compiled with the stored exceptions; None if it is invalid."""
        place = place_of(policy.kind, policy.key)
        acts = self._policies.get(place) is policy
        if acts and place in self._compiled:
            return self._compiled[place]
        compiled = compile_policies([policy], self._options(policy))[0].policies
        if acts and compiled:
            self._compiled[place] = compiled[0]
        return compiled[0] if compiled else None

    def traced(self, policy: Policy, tracer: Tracer) -> CompiledPolicy | None:
        """Return a policy compiled like the active one, with a tracer; None if it is invalid."""
        options = self._options(policy)._replace(tracer=tracer)
        compiled = compile_policies([policy], options)[0].policies
        return compiled[0] if compiled else None

    def existing_changes(self, policy: Policy) -> tuple[ExistingChange, ...]:
        """Return how each variant of a CEL policy changes existing objects."""
        place = place_of(policy.kind, policy.key)
        known = self._changes.get(place)
        if known is None or not known[0].has_same_spec(policy):
            known = policy, existing_changes(policy, self._options(policy))
            self._changes[place] = known
        return known[1]

    def pinning(self, policy: Policy) -> CompiledPolicy:
        """Return the compiled mutation of an active image policy, which pins digests."""
        place = place_of(policy.kind, policy.key)
        if place not in self._pinning:
            self._pinning[place] = pinning(policy, self._options(policy))
        return self._pinning[place]

    def _options(self, policy: Policy) -> CompileOptions:
        sim, readers = self._sim, self._sim.readers
        options = CompileOptions(
            self.system, model=sim.settings.model, admitted=True, tracer=sim.tracer
        )
        if policy.kind not in CEL_KINDS:
            exceptions = self._exceptions(f"{RULES_GROUP}/v2", readers.exception)
            return options._replace(exceptions=exceptions)
        of_cel = self._exceptions(f"{CEL_GROUP}/v1", readers.cel_exception)
        return options._replace(cel_exceptions=of_cel, kinds=sim.store.defined, simulated=True)

    def _exceptions(
        self, api_version: str, read: Callable[[KubernetesObject], tuple[_Exception | None, object]]
    ) -> tuple[_Exception, ...]:
        namespace = self._sim.settings.exceptions_namespace
        place = "" if namespace == "*" else namespace
        stored = self._sim.store.list(api_version, "PolicyException", place) if namespace else ()
        return tuple(one for one, _ in map(read, stored) if one is not None)

    def waiting(self) -> tuple[str, ...]:
        """Return the keys of policies that are stored but not active, in order."""
        store, named = self._sim.store, {kind for _, kind in POLICY_KINDS} | CEL_KINDS
        kinds = [kind for kind in store.kinds() if kind[1] in named]
        keys = (object_key(obj) for kind in kinds for obj in store.list(*kind, ""))
        policies = (key for key in keys if key[:2] in POLICY_KINDS or is_webhook_policy(key))
        by_place = {place_of(key.kind, _key(key)): _key(key) for key in policies}
        return tuple(
            sorted({key for place, key in by_place.items() if place not in self._policies})
        )

    def webhook_facts(self, policy: Policy) -> WebhookFacts:
        """Return the facts for the webhook of a CEL policy."""
        place = place_of(policy.kind, policy.key)
        if place not in self._webhook_facts:
            release, kinds = self._sim.settings.release, self._sim.store.defined
            self._webhook_facts[place] = webhook_facts_of(policy, release, kinds)
        return self._webhook_facts[place]

    def is_left_to_the_server(self, policy: Policy) -> bool:
        """Return whether the API server evaluates a policy instead of Kyverno."""
        place = place_of(policy.kind, policy.key)
        if place not in self._may_be_left:
            self._may_be_left[place] = may_be_left(policy, self._sim.settings.release)
        if not self._may_be_left[place]:
            return False
        known = policy.facts.api_version, policy.kind, policy.namespace, policy.name
        return is_left_to_the_server(self._sim.store.get(*known))

    @property
    def index(self) -> PolicySet:
        """The active policies, indexed by kind."""
        if self._index is None:
            self._index = index_policies(self.every())
        return self._index


def _key(key: ObjectKey) -> str:
    """Return the key of a stored policy: `namespace/name` if it is namespaced."""
    return f"{key.namespace}/{key.name}" if key.namespace else key.name


def is_webhook_policy(key: ObjectKey) -> bool:
    """Return whether an object is a policy that webhooks evaluate, not a scheduled one."""
    return is_cel_policy(key) and not key.kind.endswith("DeletingPolicy")


def is_cel_policy(key: ObjectKey) -> bool:
    """Return whether an object is a CEL policy of a kind that is simulated."""
    return key.kind in CEL_KINDS and key.api_version.startswith(f"{CEL_GROUP}/")


def place_of(kind: str, key: str) -> str:
    """Return the cache key of a policy; names of CEL policies are unique only within their kind."""
    return f"{kind} {key}" if kind in CEL_KINDS else key


# The policies that work in the background, as they are stored: ready or not.
# Source of the rules: upstream pkg/policy/policy_controller.go, whose informers do not wait for
# admission.

_LISTER_ACTOR = "policy-controller"


class PolicyLister:
    """Policies of some kinds that work in the background, by key."""

    def __init__(
        self, sim: SimulationContext, cache: PolicyCache, kinds: tuple[tuple[str, str], ...]
    ) -> None:
        """Watch policies of some kinds, as pairs of apiVersion and kind."""
        self._sim = sim
        self._kinds = kinds
        self._named = {(split_api_version(version)[0], kind) for version, kind in kinds}
        self._cache = cache
        self._policies: dict[str, Policy] = {}
        self._compiled: dict[str, CompiledPolicy] = {}
        self._generated_sets: dict[str, dict[str, GeneratedSets]] = {}
        """The compiled generate rules, by policy and rule, while a policy stays compiled."""
        self.changed: list[Callable[[Policy, Policy | None], None]] = []
        """Called for a policy that is new or has changed, with its former version."""
        self.dropped: list[Callable[[Policy], None]] = []
        sim.store.watch(self._observe)

    def get(self, key: str) -> CompiledPolicy | None:
        """Return a policy, compiled, or None if it is deleted or invalid."""
        policy = self._policies.get(key)
        if policy is None:
            return None
        known = self._compiled.get(key) or self._cache.compiled(policy)
        if known is not None:
            self._compiled[key] = known
        return known

    def generated_sets(self, policy: CompiledPolicy, rule: CompiledRule) -> GeneratedSets:
        """Return the function that computes the objects of a generate rule."""
        known = self._generated_sets.setdefault(policy.policy.key, {})
        if rule.rule.name not in known:
            context = RuleContext(policy.policy, rule.rule, self._cache.system)
            known[rule.rule.name] = compile_generated(context)
        return known[rule.rule.name]

    def _forget(self, key: str) -> None:
        self._compiled.pop(key, None)
        self._generated_sets.pop(key, None)

    def _forget_all(self) -> None:
        self._compiled.clear()
        self._generated_sets.clear()

    def every(self) -> list[CompiledPolicy]:
        """Return all policies, compiled, by key."""
        policies = (self.get(key) for key in sorted(self._policies))
        return [one for one in policies if one is not None]

    def relist(self) -> None:
        """Forget all policies, and add the stored ones as if they were new."""
        self._policies.clear()
        self._forget_all()
        for api_version, kind in self._kinds:
            for obj in self._sim.store.list(api_version, kind, ""):
                self._take(object_key(obj))

    def _observe(self, change: StoreChange) -> None:
        key = change.key
        after = self._sim.scheduler.after
        if key.kind == "PolicyException":
            after(NOTICE, _LISTER_ACTOR, self._forget_all)
        elif (key.group, key.kind) in self._named:
            if change.new is None:
                after(NOTICE, _LISTER_ACTOR, lambda: self._drop(_key(key)))
            elif change.old is None or change.old.get("spec") != change.new.get("spec"):
                after(NOTICE, _LISTER_ACTOR, lambda: self._take(key))

    def _take(self, key: ObjectKey) -> None:
        obj = self._sim.store.get(*key)
        policy = self._sim.readers.policy(obj)[0] if obj is not None else None
        if policy is None:
            return
        # Only policies that work or worked in the background count: all CEL policies do.
        works = any(rule.generates or rule.mutates_existing for rule in policy.rules)
        if not (works or policy.kind in CEL_KINDS or policy.key in self._policies):
            return
        before = self._policies.get(policy.key)
        self._policies[policy.key] = policy
        self._forget(policy.key)
        for listener in self.changed:
            listener(policy, before)

    def _drop(self, key: str) -> None:
        self._forget(key)
        policy = self._policies.pop(key, None)
        if policy is not None:
            for listener in self.dropped:
                listener(policy)


# The status of a CEL policy: its readiness, permissions, and variants.
# Source of the rules: upstream pkg/controllers/policystatus (controller.go, vpol.go).


_ADVICE = (
    " If this is for an autogen'd custom workload CRD, grant it via "
    "reportsController.rbac.clusterRole.extraResources in the Helm values (or an equivalent "
    "ClusterRole labeled rbac.kyverno.io/aggregate-to-reports-controller)."
)


def cel_status(
    policy: Policy, store: ObjectStore, now: str, before: Json, release: Release
) -> Json:
    """Return the status of an active policy; unchanged conditions keep their time.

    The generator of admission policies adds whether the API server evaluates it.
    """
    variants = variants_of(policy, release) if not generates(policy.kind) else ()
    conditions, known = [], ((before or {}).get("conditionStatus") or {}).get("conditions")
    if policy.facts.admission:
        conditions.append(_condition("WebhookConfigured", True, "Webhook configured.", now, known))
    missing, message = "", "Background scanning disabled; reporting permissions not required."
    if policy.facts.background:
        named = list(resources_of(policy))
        if release.checks_rights_for_variants:
            named += (one for variant in variants for one in matched_resources(variant.spec))
        verbs = ("get", "list", "watch")
        missing = "; ".join(
            f"{verb} {group}/{version}, Resource={resource}: "
            for (group, version, resource), verb in product(named, verbs)
            if not allows({"verb": verb, "group": group, "resource": resource}, REPORTS, store)
        )
        message = "Policy is ready for reporting."
    if missing:
        message = f"Policy is not ready for reporting, missing permissions: {missing}."
        if variants and release.checks_rights_for_variants:
            message += _ADVICE
    conditions.append(_condition("RBACPermissionsGranted", not missing, message, now, known))
    ready = all(one["status"] == "True" for one in conditions)
    stated = {"conditionStatus": {"conditions": conditions, "message": "", "ready": ready}}
    if generates(policy.kind):
        return stated
    configs = {
        one.name: {
            # Ordered by group, version and resource.
            "targets": [
                {
                    **({"group": group} if group else {}),
                    "version": version,
                    "resource": resource,
                    "kind": _target_kind(group, version, resource, store),
                }
                for group, version, resource in sorted(matched_resources(one.spec))
            ],
            "spec": {name: value for name, value in one.spec.data.items() if value is not None},
        }
        for one in variants
    }
    derived = {"autogen": {"configs": configs} if configs else {}, **stated}
    # No admission policy is generated from an image policy.
    return derived if verifies_images(policy.kind) else {**derived, "generated": False}


def _target_kind(group: str, version: str, resource: str, store: ObjectStore) -> str:
    """Return the kind of a resource; for one that the cluster does not serve, upstream guesses."""
    known = kind_of_plural(group, resource) or store.kind_of(f"{group}/{version}", resource)
    guess = resource.removesuffix("s")
    return known or f"{guess[:1].upper()}{guess[1:]}"


def _condition(kind: str, holds: bool, message: str, now: str, before: Json) -> Json:
    """Return a condition of a status, with its last transition time."""
    status = "True" if holds else "False"
    for one in before or ():
        if text_field(one, "type") == kind and text_field(one, "status") == status:
            now = text_field(one, "lastTransitionTime") or now
    return {
        "lastTransitionTime": now,
        "message": message,
        "reason": "Succeeded" if holds else "Failed",
        "status": status,
        "type": kind,
    }


# How a policy becomes ready.
#
# The webhook controller writes the webhook configurations for all policies, then the condition
# Ready of ClusterPolicies and Policies; those act once the policy cache has seen the condition. A
# policy in CEL is compiled as soon as it is seen, so that it acts with the configurations, and its
# conditions follow them. A change of a policy that acts counts as soon as it is seen.
#
# Two more reasons for a policy not to be ready need an unhealthy cluster, and are not simulated:
# discovery that fails (an unknown kind is no reason), and an admission controller that does not
# receive its own test requests, which then configures nothing.
#
# Source of the rules: upstream pkg/controllers/webhook/controller.go (reconcile, mergeWebhook,
# updatePolicyStatuses), pkg/controllers/policycache, pkg/controllers/policystatus, and
# pkg/cel/policies/*/engine/reconciler.go.

_STATUS_ACTOR = "admission-controller"
_CLASSIC = frozenset((RULES_GROUP, kind) for _, kind in POLICY_KINDS)
"""Group and kind of ClusterPolicies and Policies, of any version."""


class _SeenPolicy(NamedTuple):
    """A policy as it was stored when a controller saw it."""

    key: ObjectKey
    spec: object
    policy: Policy | None
    is_valid: bool

    @property
    def place(self) -> str:
        """The key in the cache."""
        return place_of(self.key.kind, _key(self.key))


_Step = Callable[[_SeenPolicy, KubernetesObject], None]


class PolicyStatusController:
    """Activates policies in the steps after they were written, and sets their status."""

    def __init__(self, sim: SimulationContext, cache: PolicyCache) -> None:
        self._sim = sim
        self._cache = cache
        self._configured: dict[str, Policy] = {}
        self.configured: list[Callable[[Sequence[Policy]], None]] = []
        """Called with the policies, by key, for which webhooks have to be configured."""
        self.changed: list[Callable[[Policy], None]] = []
        """Called for a policy that is new or has changed, once it acts and has its status."""
        self.dropped: list[Callable[[Policy], None]] = []
        sim.store.watch(self._observe)

    def _observe(self, change: StoreChange) -> None:
        key, after = change.key, self._sim.scheduler.after
        if key.kind == "PolicyException":
            after(NOTICE, _STATUS_ACTOR, self._cache.forget_compiled)
        elif (key.group, key.kind) in _CLASSIC or is_webhook_policy(key):
            if change.new is None:
                after(NOTICE, _STATUS_ACTOR, lambda: self._drop(key))
            elif change.old is None or _spec(change.old) != _spec(change.new):
                after(NOTICE, _STATUS_ACTOR, lambda: self._see(key))

    def _see(self, key: ObjectKey) -> None:
        """Replace a policy that acts already, and begin to configure webhooks."""
        obj = self._sim.store.get(*key)
        if obj is None:
            return
        policy, _ = self._sim.readers.policy(obj)
        compiled = self._cache.compiled(policy) if policy else None
        seen = _SeenPolicy(key, _spec(obj), policy, compiled is not None)
        if policy and compiled and self._cache.get(seen.place) is not None:
            self._cache.put(policy, compiled)
        self._then(WRITE, self._configure, seen)

    def _then(self, delay: float, step: _Step, seen: _SeenPolicy) -> None:
        """Do the next step with a policy, unless it has changed since, which has its own steps."""

        def run() -> None:
            obj = self._sim.store.get(*seen.key)
            if obj is not None and _spec(obj) == seen.spec:
                step(seen, obj)

        self._sim.scheduler.after(delay, _STATUS_ACTOR, run)

    def _configure(self, seen: _SeenPolicy, _: KubernetesObject) -> None:
        """Write the webhook configurations; a policy in CEL acts from now on."""
        if seen.policy and seen.is_valid:
            self._configured[seen.place] = seen.policy
            if is_webhook_policy(seen.key):
                self._cache.put(seen.policy)
        self.write_webhooks()
        self._then(WRITE, self._set_status, seen)

    def write_webhooks(self) -> None:
        """Have the webhook configurations written for the policies that are known now."""
        policies = [self._configured[place] for place in sorted(self._configured)]
        for listener in self.configured:
            listener(policies)

    def _set_status(self, seen: _SeenPolicy, obj: KubernetesObject) -> None:
        policy, old, now = seen.policy, obj.get("status"), self._sim.clock.stamp()
        if policy is not None and is_webhook_policy(seen.key):
            status = with_twin_of(
                cel_status(policy, self._sim.store, now, old, self._sim.settings.release), old
            )
            plan = plan_of(policy, self._sim)
        else:
            sound = policy if seen.is_valid else None
            status = _status(sound, old, now)
            plan = plan_of(sound, self._sim) if sound is not None else None
        # A generated admission policy is reported when it exists.
        if plan is not None and plan.why_not:
            status = with_plan(status, plan)
        if old != status:
            self._sim.client(ADMISSION).update({**obj, "status": status}, "status")
        if seen.is_valid:
            self._then(NOTICE, self._activate, seen)

    def _activate(self, seen: _SeenPolicy, _: KubernetesObject) -> None:
        """Let a policy act whose status is ready."""
        if seen.policy is not None:
            self._cache.put(seen.policy)
            for listener in self.changed:
                listener(seen.policy)

    def _drop(self, key: ObjectKey) -> None:
        place = place_of(key.kind, _key(key))
        compiled = self._cache.get(place)
        self._cache.drop(place)
        self._configured.pop(place, None)
        self.write_webhooks()
        if compiled is not None:
            for listener in self.dropped:
                listener(compiled.policy)


def _spec(obj: KubernetesObject) -> object:
    return obj.get("spec"), metadata(obj).get("annotations")


def _status(policy: Policy | None, before: Json, now: str) -> Json:
    """Return the status of an active policy, or of an invalid one (None)."""
    ready, known = policy is not None, (before or {}).get("conditions")
    condition = _condition("Ready", ready, "Ready" if ready else "Not Ready", now, known)
    if policy is None:
        return {**(before or {}), "conditions": [condition]}
    rules = derived_rules(policy)
    sections = [rule.facts.section for rule in policy.rules]
    names = ("generate", "mutate", "validate", "verifyImages")
    counts = {name.lower(): sections.count(name) for name in names}
    made = (before or {}).get("validatingadmissionpolicy")
    return {
        "autogen": {"rules": rules} if rules else {},
        "conditions": [condition],
        "rulecount": counts,
        "validatingadmissionpolicy": made or {"generated": False, "message": ""},
    }
