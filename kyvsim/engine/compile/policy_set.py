"""The index of compiled policies: which rules can match an object, and known results."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from kyvsim.engine.compile.compiled import CompiledPolicy, CompiledRule
from kyvsim.kubernetes.objects import KubernetesObject
from kyvsim.model.ports import Meter
from kyvsim.model.result import PassingPolicies, Phase, PolicyResponse, RuleResult, Stage

if TYPE_CHECKING:
    from kyvsim.engine.prefilter import BitMask, Trace

# Results of the rules of a policy, cached by the bits that a traversal found in the object.
#
# This is valid for rules that read only what their shapes read, for every outcome.

_KEPT: Final = 1024


class ResultCache:
    """Caches results of a policy's rules; empty without marks that cover all that they read."""

    __slots__ = ("_by_message", "_known", "_pending", "_relevant", "_unsure")

    def __init__(self, marks: "Iterable[BitMask]") -> None:
        self._relevant = self._unsure = 0
        for one in marks:
            self._relevant |= one.places | one.unsure
            self._unsure |= one.unsure
        self._known: dict[tuple[int, ...], tuple[RuleResult, ...]] = {}
        self._by_message: dict[tuple[str, ...], tuple[RuleResult, ...]] = {}
        self._pending: tuple[KubernetesObject, tuple[int, ...]] | None = None

    def results(self, obj: KubernetesObject, trace: "Trace") -> tuple[RuleResult, ...] | None:
        """Return the results for an object with these bits; None if none are cached."""
        relevant, self._pending = self._relevant, None
        if not relevant:
            return None
        key = tuple([own for found in trace if (own := found & relevant)])
        known = self._known.get(key)
        if known is None and not any(own & self._unsure for own in key):
            self._pending = obj, key
        return known

    def keep(
        self, obj: KubernetesObject | None, results: tuple[RuleResult, ...]
    ) -> tuple[RuleResult, ...]:
        """Cache the results for the object that was looked up last, if they were not cached.

        Returns them, or equal ones that were cached before: equal results share one object.
        """
        if len(self._by_message) >= _KEPT or len(self._known) >= _KEPT:
            self._known.clear()
            self._by_message.clear()
        said = self._by_message.setdefault(tuple([one.message for one in results]), results)
        kept = said if said == results else results
        if self._pending is not None and self._pending[0] is obj:
            self._known[self._pending[1]] = kept
        return kept


# The rules of a policy in a stage, and their known results.


class PolicyRules(NamedTuple):
    """A policy with the rules that a stage runs on an object of some kind."""

    policy: CompiledPolicy
    rules: tuple[CompiledRule, ...]


class UnresolvedRules(NamedTuple):
    """Rules whose results are not known before evaluation."""

    policy_rules: PolicyRules
    settled: bool = False
    """Whether all of them are known to apply, and only their bodies are evaluated."""
    cache: ResultCache | None = None
    """Their earlier results; None if the results do not depend only on bodies."""


FastResult: TypeAlias = PassingPolicies | PolicyResponse | UnresolvedRules
"""Consecutive policies that are proved to pass, cached results, or rules to evaluate."""
Plan: TypeAlias = Callable[[KubernetesObject], Sequence[FastResult]]
"""Returns the known results for an object, in the order of the policies."""


# The index: which rules can match an object of this kind?

_PLANNED_AFTER: Final = 8
"""Build a plan only after this number of objects: it costs as much as evaluating them."""
_MOST_KINDS: Final = 256

_PlanKey: TypeAlias = tuple[Stage, tuple[str, str]]


class KindPlans:
    """The rules for one kind of object, and the plans for them."""

    __slots__ = ("_met", "_plans", "stages")

    def __init__(self, stages: Mapping[Stage, tuple[PolicyRules, ...]]) -> None:
        self.stages = stages
        """The rules of each stage; stages without rules are omitted."""
        self._met: dict[_PlanKey, int] = {}
        self._plans: dict[_PlanKey, Plan] = {}

    def plan(
        self, stage: Stage, kind: tuple[str, str], make: Callable[[], Plan | None]
    ) -> Plan | None:
        """Return the plan of a stage for objects of an API version and kind, or None.

        It is created when there are enough objects.
        """
        key = stage, kind
        plan = self._plans.get(key)
        if plan is not None or len(self._met) >= _MOST_KINDS:
            return plan
        met = self._met[key] = self._met.get(key, 0) + 1
        if met > _PLANNED_AFTER and (plan := make()):
            self._plans[key] = plan
        return plan


class PolicySet:
    """Compiled policies in the given order, indexed by kind on demand."""

    __slots__ = ("_by_kind", "_meter", "_named", "_otherwise", "policies")

    def __init__(self, policies: tuple[CompiledPolicy, ...], meter: Meter | None = None) -> None:
        self.policies = policies
        self._meter = meter
        self._named = frozenset(kind for policy in policies for kind in _kinds_of(policy))
        self._by_kind: dict[str, KindPlans] = {}
        self._otherwise = KindPlans(_stage_rules(policies, ""))

    @property
    def mutates(self) -> bool:
        """Whether a policy has mutate rules: objects may not be stored as given."""
        return any(
            rule.stage.phase is Phase.MUTATE
            for policy in self.policies
            for rule in (*policy.plain, *policy.written)
        )

    def begin_resource(self) -> None:
        """Start counting the steps of another resource."""
        if self._meter is not None:
            self._meter.begin_resource()

    def stage_rules(self, stage: Stage, kind: str) -> tuple[PolicyRules, ...]:
        """Return the rules of a stage for objects of a kind, before match blocks are evaluated."""
        return self.of_kind(kind).stages.get(stage, ())

    def of_kind(self, kind: str) -> KindPlans:
        """Return the rules of all stages for objects of a kind."""
        found = self._by_kind.get(kind)
        if found is None:
            if kind not in self._named:
                return self._otherwise
            found = self._by_kind[kind] = KindPlans(_stage_rules(self.policies, kind))
        return found


def index_policies(policies: Iterable[CompiledPolicy], meter: Meter | None = None) -> PolicySet:
    """Return the policies with an index by kind, and the meter that counts their steps."""
    return PolicySet(tuple(policies), meter)


def _kinds_of(policy: CompiledPolicy) -> set[str]:
    named = {kind for rule in policy.plain for kind in rule.kinds or ()}
    return named if policy.derivation is None else named | policy.derivation.kinds


def _stage_rules(
    policies: tuple[CompiledPolicy, ...], kind: str
) -> dict[Stage, tuple[PolicyRules, ...]]:
    found: dict[Stage, list[PolicyRules]] = {}
    for policy in policies:
        by_stage: dict[Stage, list[CompiledRule]] = {}
        for rule in policy.of_kind(kind):
            by_stage.setdefault(rule.stage, []).append(rule)
        for stage, rules in by_stage.items():
            found.setdefault(stage, []).append(PolicyRules(policy, tuple(rules)))
    return {stage: tuple(stage_rules) for stage, stage_rules in found.items()}
