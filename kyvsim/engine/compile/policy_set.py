"""The index of compiled policies: which rules can an object touch, and what is known of it before.

A plan shows in one walk how the rules of a stage end for an object of a kind.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Final, NamedTuple, TypeAlias

from kyvsim.engine.compile.compiled import CompiledPolicy, CompiledRule, Proof, Proofs
from kyvsim.engine.context import JSONContext
from kyvsim.engine.match import MatchFacts
from kyvsim.engine.prefilter import BitMask, Trace, compile_walk
from kyvsim.kubernetes.objects import Json
from kyvsim.model.policy import Policy
from kyvsim.model.ports import Meter
from kyvsim.model.result import Phase, PolicyPasses, RuleResult, RuleStatus, Stage

# Results of the rules of a policy, cached by what a walk has found of the object.
#
# This is sound for rules that read nothing but what their shapes read, however they end.


_KEPT: Final = 1024


class ResultCache:
    """Cached results of a policy's rules; without marks that cover all that they read, none."""

    __slots__ = ("_by_message", "_known", "_pending", "_relevant", "_unsure")

    def __init__(self, marks: Iterable[BitMask]) -> None:
        self._relevant = self._unsure = 0
        for one in marks:
            self._relevant |= one.places | one.unsure
            self._unsure |= one.unsure
        self._known: dict[tuple[int, ...], tuple[RuleResult, ...]] = {}
        self._by_message: dict[tuple[str, ...], tuple[RuleResult, ...]] = {}
        self._pending: tuple[Json, tuple[int, ...]] | None = None

    def results(self, obj: Json, trace: Trace) -> tuple[RuleResult, ...] | None:
        """Return the results for an object of which this was found; None where none are known."""
        relevant, self._pending = self._relevant, None
        if not relevant:
            return None
        key = tuple([own for found in trace if (own := found & relevant)])
        known = self._known.get(key)
        if known is None and not any(own & self._unsure for own in key):
            self._pending = obj, key
        return known

    def keep(self, obj: Json, results: tuple[RuleResult, ...]) -> tuple[RuleResult, ...]:
        """Take the results for the object that was asked for last, where they were not known.

        Returns them, or those that are equal to them and were kept before: equal results
        share one object.
        """
        if len(self._by_message) >= _KEPT or len(self._known) >= _KEPT:
            self._known.clear()
            self._by_message.clear()
        said = self._by_message.setdefault(tuple([one.message for one in results]), results)
        kept = said if said == results else results
        if self._pending is not None and self._pending[0] is obj:
            self._known[self._pending[1]] = kept
        return kept


# The rules of a policy in a stage, and what is known of their results.


class PolicyRules(NamedTuple):
    """A policy with those of its rules that a stage runs on an object of some kind."""

    policy: CompiledPolicy
    rules: tuple[CompiledRule, ...]


class UnresolvedRules(NamedTuple):
    """Rules whose results are not known before they are evaluated."""

    policy_rules: PolicyRules
    settled: bool = False
    """Whether all of them are known to apply, so that only their bodies are evaluated."""
    cache: ResultCache | None = None
    """Their earlier results; None where more than bodies can make a difference."""


class CachedResult(NamedTuple):
    """Rules whose results are known from an object that does not differ in what they read."""

    policy: Policy
    results: tuple[RuleResult, ...]


FastResult: TypeAlias = tuple[PolicyPasses, ...] | CachedResult | UnresolvedRules
"""Consecutive policies that are shown to pass, cached results, or rules to evaluate."""


# A plan for all objects of a kind: one walk finds which rules of a stage certainly pass.
#
# Most rules pass most objects, with messages that never change. Their proofs are joined, so that
# the walk reads each field once. Where it shows nothing a rule is evaluated as usual: plans decide
# nothing by itself.


_REMEMBERED: Final = 1024
"""How many combinations of what is found a plan caches the fast results of."""


class _PossibleOutcome(NamedTuple):
    mark: BitMask
    """What shows it."""
    result: RuleResult
    exact: bool


class RulePlan(NamedTuple):
    """How the rules of one policy may be shown to end."""

    open: UnresolvedRules
    """The rules that can match such objects."""
    chances: tuple[tuple[_PossibleOutcome, ...], ...]
    """Those of each rule; none where nothing shows how the rules end."""
    single: int
    """The bits that say that the only chances of the rules are not shown; 0 where some have more,
    or lists with an element are counted."""
    likely: PolicyPasses
    """The results where the first chance of each rule is shown."""

    def passes(self, found: int) -> PolicyPasses | None:
        """Return the results if all are shown, where such bits were found."""
        if self.single:
            return None if found & self.single else self.likely
        shown: list[RuleResult] = []
        for chances in self.chances:
            for mark, result, exact in chances:
                if mark.is_shown(found):
                    shown.append(result)
                    break
                if not exact:
                    return None
            else:
                return None
        return PolicyPasses(self.likely.policy, tuple(shown)) if shown else None


class StagePlan:
    """What is known of the rules of one stage for all objects of one kind that are created."""

    __slots__ = ("_all", "_told", "_trace", "_where_found", "plans")

    def __init__(
        self, stage_rules: Sequence[PolicyRules], facts: MatchFacts, scope: JSONContext
    ) -> None:
        shown = [_proven_rules(policy_rules, facts, scope) for policy_rules in stage_rules]
        shown = [one for one in shown if one.policy_rules.rules]
        walk = compile_walk([proof.shape for one in shown for of in one.proofs for proof in of])
        marks = iter(walk.marks)
        self.plans = tuple(_rule_plan(one, marks) for one in shown)
        """Of the policies with rules for such objects."""
        self._trace = walk.trace
        self._told = 0
        for one in walk.marks:
            self._told |= one.lacking | one.counted
        self._where_found = lru_cache(_REMEMBERED)(partial(_fast_results, self.plans))
        self._all = tuple(plan.open for plan in self.plans)

    def fast_results(self, obj: Json) -> Sequence[FastResult]:
        """Return what is known before any rule is evaluated, in the order of the policies."""
        trace = self._trace(obj)
        if trace is None:
            return self._all
        found = 0
        for bits in trace:
            found |= bits
        return [
            _cached(one, obj, trace) if isinstance(one, UnresolvedRules) else one
            for one in self._where_found(found & self._told)
        ]


def _cached(opened: UnresolvedRules, obj: Json, trace: Trace) -> CachedResult | UnresolvedRules:
    policy_rules, _, cache = opened
    results = cache.results(obj, trace) if cache else None
    return opened if results is None else CachedResult(policy_rules.policy.policy, results)


def _fast_results(
    plans: Iterable[RulePlan], found: int
) -> tuple[tuple[PolicyPasses, ...] | UnresolvedRules, ...]:
    fast_results: list[tuple[PolicyPasses, ...] | UnresolvedRules] = []
    shown: list[PolicyPasses] = []
    for plan in plans:
        passes = plan.passes(found)
        if passes is not None:
            shown.append(passes)
            continue
        if shown:
            fast_results.append(tuple(shown))
            shown = []
        fast_results.append(plan.open)
    return (*fast_results, tuple(shown)) if shown else tuple(fast_results)


class _ProvenRules(NamedTuple):
    policy_rules: PolicyRules
    settled: bool
    proofs: tuple[tuple[Proof, ...], ...] = ()
    """Those of each rule; none where they would be of no use."""


def _proven_rules(policy_rules: PolicyRules, facts: MatchFacts, scope: JSONContext) -> _ProvenRules:
    rules = tuple(
        rule for rule in policy_rules.rules if not _is_simple(rule) or rule.matches(facts)
    )
    policy_rules = policy_rules._replace(rules=rules)
    found = [_known_of(rule, scope) if _is_simple(rule) else (False, ()) for rule in rules]
    settled = all(applies for applies, _ in found)
    every = tuple(proofs for _, proofs in found if proofs)
    is_first_last = policy_rules.policy.policy.applies_one_rule and len(rules) > 1
    if len(every) < len(rules) or is_first_last:
        return _ProvenRules(policy_rules, settled)
    return _ProvenRules(policy_rules, settled, every)


def _rule_plan(shown: _ProvenRules, marks: Iterator[BitMask]) -> RulePlan:
    policy_rules, settled, proofs = shown
    chances = tuple(
        tuple(_possible_outcome(rule, proof, next(marks)) for proof in of_rule)
        for rule, of_rule in zip(policy_rules.rules, proofs, strict=False)
    )
    is_whole = all(one.is_all for of_rule in proofs for one in of_rule)
    marks_of = [one.mark for of_rule in chances for one in of_rule] if is_whole else ()
    cache = ResultCache(marks_of) if settled else None
    likely = tuple(of_rule[0].result for of_rule in chances)
    opened = UnresolvedRules(policy_rules, settled, cache)
    passes = PolicyPasses(policy_rules.policy.policy, likely)
    return RulePlan(opened, chances, _single(chances), passes)


def _single(chances: Iterable[tuple[_PossibleOutcome, ...]]) -> int:
    bits = 0
    for of_rule in chances:
        if len(of_rule) > 1 or of_rule[0].mark.counted:
            return 0
        bits |= of_rule[0].mark.lacking
    return bits


def _possible_outcome(rule: CompiledRule, proof: Proof, mark: BitMask) -> _PossibleOutcome:
    outcome = proof.outcome
    result = RuleResult(rule.rule, rule.phase, outcome.status, outcome.message)
    return _PossibleOutcome(mark, result, proof.exact)


def _is_simple(rule: CompiledRule) -> bool:
    """Return whether nothing but kind, preconditions and body make a difference."""
    return not (rule.proofs is None or rule.exceptions or rule.concerns or rule.unmatched)


def _known_of(rule: CompiledRule, scope: JSONContext) -> tuple[bool, tuple[Proof, ...]]:
    """Return whether a rule applies to each such object, and the proofs that are of use."""
    proofs, after_preconditions = rule.proofs() if rule.proofs else Proofs((), False)
    if after_preconditions and not (rule.preconditions and rule.preconditions(scope).met):
        return False, ()
    applies = after_preconditions or rule.preconditions is None
    all_pass = all(proof.outcome.status is RuleStatus.PASS for proof in proofs)
    return applies, proofs if all_pass else ()


# The index: which rules can an object of this kind touch at all?


_PLANNED_AFTER: Final = 8
"""Build a plan only after this many objects: making one costs as much as evaluating these."""
_MOST_KINDS: Final = 256

_PlanKey: TypeAlias = tuple[Stage, tuple[str, str]]


class KindPlans:
    """The rules for one kind of object, and the plans that are made for them."""

    __slots__ = ("_met", "_plans", "stages")

    def __init__(self, stages: Mapping[Stage, tuple[PolicyRules, ...]]) -> None:
        self.stages = stages
        """The rules of each stage; stages that run nothing are left out."""
        self._met: dict[_PlanKey, int] = {}
        self._plans: dict[_PlanKey, StagePlan] = {}

    def plan(
        self, stage: Stage, kind: tuple[str, str], make: Callable[[], StagePlan | None]
    ) -> StagePlan | None:
        """Return the plan of a stage for objects of an API version and kind, or None.

        It is made once there are enough of them.
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
    """Compiled policies in the order in which they were given, indexed by kind when asked."""

    __slots__ = ("_by_kind", "_meter", "_named", "_otherwise", "policies")

    def __init__(self, policies: tuple[CompiledPolicy, ...], meter: Meter | None = None) -> None:
        self.policies = policies
        self._meter = meter
        self._named = frozenset(kind for policy in policies for kind in _kinds_of(policy))
        self._by_kind: dict[str, KindPlans] = {}
        self._otherwise = KindPlans(_stage_rules(policies, ""))

    @property
    def mutates(self) -> bool:
        """Whether a policy has mutate rules: objects may not be stored as they are given."""
        return any(
            rule.stage.phase is Phase.MUTATE
            for policy in self.policies
            for rule in (*policy.plain, *policy.written)
        )

    def begin_resource(self) -> None:
        """Count the steps of another resource from here on."""
        if self._meter is not None:
            self._meter.begin_resource()

    def stage_rules(self, stage: Stage, kind: str) -> tuple[PolicyRules, ...]:
        """Return what a stage runs on an object of a kind; rules still decide if they match."""
        return self.of_kind(kind).stages.get(stage, ())

    def of_kind(self, kind: str) -> KindPlans:
        """Return the same for all stages."""
        found = self._by_kind.get(kind)
        if found is None:
            if kind not in self._named:
                return self._otherwise
            found = self._by_kind[kind] = KindPlans(_stage_rules(self.policies, kind))
        return found


def index_policies(policies: Iterable[CompiledPolicy], meter: Meter | None = None) -> PolicySet:
    """Return the policies with an index by kind, and what counts their steps."""
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
