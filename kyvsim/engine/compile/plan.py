"""Plans: one traversal of an object determines how the rules of a stage end for it.

A plan is created once there are many objects of a kind.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Final, NamedTuple, TypeAlias

from kyvsim.engine.compile.compiled import CompiledRule, Proof, Proofs
from kyvsim.engine.compile.policy_set import FastResult, PolicyRules, ResultCache, UnresolvedRules
from kyvsim.engine.context import JSONContext
from kyvsim.engine.match import MatchFacts
from kyvsim.engine.prefilter import BitMask, compile_walk
from kyvsim.kubernetes.objects import KubernetesObject
from kyvsim.model.result import (
    PassingPolicies,
    Phase,
    PolicyPasses,
    PolicyResponse,
    RuleResult,
    RuleStatus,
)

# Most rules pass most objects, with constant messages. Their proofs are combined, so that the
# traversal reads each field once. If it proves nothing, a rule is evaluated as usual: plans never
# change results.

_REMEMBERED: Final = 1024
"""The number of combinations of bits whose fast results a plan caches."""

_PossibleOutcome: TypeAlias = tuple[BitMask, RuleResult, bool]
"""The bits that prove an outcome, the result, and whether other bits refute it."""
_ProvenRules: TypeAlias = tuple[PolicyRules, bool, tuple[tuple[Proof, ...], ...]]
"""The rules of a policy, whether all of them apply, and the proofs of each, () if useless."""


class RulePlan(NamedTuple):
    """The possible outcomes of the rules of one policy that a plan can prove."""

    open: UnresolvedRules
    """The rules that can match these objects."""
    chances: tuple[tuple[_PossibleOutcome, ...], ...]
    """The outcomes of each rule; empty if nothing can be proved."""
    single: int
    """The bits that refute the only possible outcomes of the rules; 0 if some rules have several
    outcomes, or lists must have an element."""
    likely: PolicyPasses
    """The results if the first possible outcome of each rule is proved."""

    def passes(self, found: int) -> PolicyPasses | None:
        """Return the results if all are proved, given the found bits."""
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
    """The plan of one stage's rules for all created objects of one kind."""

    __slots__ = ("_all", "_lacking", "_phase", "_trace", "_where_found", "plans")

    def __init__(
        self,
        phase: Phase,
        stage_rules: Sequence[PolicyRules],
        facts: MatchFacts,
        scope: JSONContext,
    ) -> None:
        shown = [_proven_rules(policy_rules, facts, scope) for policy_rules in stage_rules]
        shown = [one for one in shown if one[0].rules]
        self._trace, every = compile_walk(
            [proof.shape for *_, proofs in shown for of_rule in proofs for proof in of_rule]
        )
        marks = iter(every)
        self.plans = tuple(_rule_plan(*one, marks) for one in shown)
        """Plans of the policies with rules for these objects."""
        self._phase = phase
        self._lacking = 0
        for mark in every:
            self._lacking |= mark.lacking | mark.counted
        self._where_found = lru_cache(_REMEMBERED)(partial(_fast_results, self.plans))
        self._all = tuple(plan.open for plan in self.plans)

    def fast_results(self, obj: KubernetesObject) -> Sequence[FastResult]:
        """Return the known results, in the order of the policies."""
        trace = self._trace(obj)
        if trace is None:
            return self._all
        found = 0
        for bits in trace:
            found |= bits
        known: list[FastResult] = []
        for one in self._where_found(found & self._lacking):
            if not isinstance(one, UnresolvedRules):
                known.append(PassingPolicies(one, self._phase, obj))
                continue
            policy_rules, _, cache = one
            results = cache.results(obj, trace) if cache else None
            if results is None:
                known.append(one)
            elif results:
                known.append(PolicyResponse(policy_rules.policy.policy, self._phase, obj, results))
        return known


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


def _proven_rules(policy_rules: PolicyRules, facts: MatchFacts, scope: JSONContext) -> _ProvenRules:
    rules = tuple(
        rule for rule in policy_rules.rules if not _is_simple(rule) or rule.matches(facts)
    )
    policy_rules = policy_rules._replace(rules=rules)
    found = [_known_of(rule, scope) if _is_simple(rule) else (False, ()) for rule in rules]
    settled = all(applies for applies, _ in found)
    every = tuple(proofs for _, proofs in found if proofs)
    is_first_last = policy_rules.policy.policy.applies_one_rule and len(rules) > 1
    return policy_rules, settled, () if len(every) < len(rules) or is_first_last else every


def _rule_plan(
    policy_rules: PolicyRules,
    settled: bool,
    proofs: tuple[tuple[Proof, ...], ...],
    marks: Iterator[BitMask],
) -> RulePlan:
    chances = tuple(
        tuple(
            (
                next(marks),
                RuleResult(rule.rule, rule.phase, proof.outcome.status, proof.outcome.message),
                proof.exact,
            )
            for proof in of_rule
        )
        for rule, of_rule in zip(policy_rules.rules, proofs, strict=False)
    )
    is_whole = all(one.is_all for of_rule in proofs for one in of_rule)
    marks_of = [mark for of_rule in chances for mark, *_ in of_rule] if is_whole else ()
    cache = ResultCache(marks_of) if settled else None
    likely = tuple(result for (_, result, _), *_ in chances)
    opened = UnresolvedRules(policy_rules, settled, cache)
    passes = PolicyPasses(policy_rules.policy.policy, likely)
    return RulePlan(opened, chances, _single(chances), passes)


def _single(chances: Iterable[tuple[_PossibleOutcome, ...]]) -> int:
    bits = 0
    for of_rule in chances:
        mark = of_rule[0][0]
        if len(of_rule) > 1 or mark.counted:
            return 0
        bits |= mark.lacking
    return bits


def _is_simple(rule: CompiledRule) -> bool:
    """Return whether nothing but kind, preconditions and body affects the result."""
    return not (rule.proofs is None or rule.exceptions or rule.concerns or rule.unmatched)


def _known_of(rule: CompiledRule, scope: JSONContext) -> tuple[bool, tuple[Proof, ...]]:
    """Return whether a rule applies to every such object, and its useful proofs."""
    proofs, after_preconditions = rule.proofs() if rule.proofs else Proofs((), False)
    if after_preconditions and not (rule.preconditions and rule.preconditions(scope).met):
        return False, ()
    applies = after_preconditions or rule.preconditions is None
    all_pass = all(proof.outcome.status is RuleStatus.PASS for proof in proofs)
    return applies, proofs if all_pass else ()
