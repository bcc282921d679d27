"""One plan for all objects of a kind: what is shown of them in one walk, for the rules of a stage.

Most rules pass most objects, with words that never change. Their proofs are joined: the walk looks
once at what several of them ask for. Where it shows nothing a rule is evaluated as ever, so a plan
makes no verdict of its own.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Final, NamedTuple

from kyvsim.compile.compiled import CompiledRule, Proofs
from kyvsim.compile.outcome import Proof
from kyvsim.compile.recall import Recall
from kyvsim.compile.turn import OpenTurn, Prospect, Recalled, Turn
from kyvsim.context import JSONContext
from kyvsim.kube.objects import Json
from kyvsim.match import MatchFacts
from kyvsim.model.result import PolicyPasses, RuleResult, RuleStatus
from kyvsim.proof import Mark, Trace, compile_walk

_REMEMBERED: Final = 1024
"""How many combinations of what is found a plan remembers the prospects of."""


class _Chance(NamedTuple):
    """One way in which a rule may be shown to end."""

    mark: Mark
    """What shows it."""
    result: RuleResult
    exact: bool


class TurnPlan(NamedTuple):
    """How the rules of one policy may be shown to end."""

    open: OpenTurn
    """The rules that can match such objects."""
    chances: tuple[tuple[_Chance, ...], ...]
    """Those of each rule; none where nothing shows how the turn ends."""
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
            result = _end(chances, found)
            if result is None:
                return None
            shown.append(result)
        return (self.likely[0], tuple(shown)) if shown else None


def _end(chances: tuple[_Chance, ...], found: int) -> RuleResult | None:
    for mark, result, exact in chances:
        if mark.is_shown(found):
            return result
        if not exact:
            return None
    return None


class Plan:
    """What is known of the turns of one stage for all objects of one kind that are created."""

    __slots__ = ("_all", "_told", "_trace", "_where_found", "plans")

    def __init__(self, turns: Sequence[Turn], facts: MatchFacts, scope: JSONContext) -> None:
        shown = [_shown_turn(turn, facts, scope) for turn in turns]
        shown = [one for one in shown if one.turn.rules]
        walk = compile_walk([proof.shape for one in shown for of in one.proofs for proof in of])
        marks = iter(walk.marks)
        self.plans = tuple(_turn_plan(one, marks) for one in shown)
        """Of the turns that concern such objects."""
        self._trace = walk.trace
        self._told = 0
        for one in walk.marks:
            self._told |= one.lacking | one.counted
        self._where_found = lru_cache(_REMEMBERED)(partial(_prospects, self.plans))
        self._all = tuple(plan.open for plan in self.plans)

    def prospects(self, obj: Json) -> Sequence[Prospect]:
        """Return what is known of the turns before any rule is evaluated, in their order."""
        trace = self._trace(obj)
        if trace is None:
            return self._all
        found = 0
        for bits in trace:
            found |= bits
        return [
            _recalled(one, obj, trace) if isinstance(one, OpenTurn) else one
            for one in self._where_found(found & self._told)
        ]


def _recalled(opened: OpenTurn, obj: Json, trace: Trace) -> Recalled | OpenTurn:
    turn, _, recall = opened
    results = recall.results(obj, trace) if recall else None
    return opened if results is None else Recalled(turn.policy.policy, results)


def _prospects(
    plans: Iterable[TurnPlan], found: int
) -> tuple[tuple[PolicyPasses, ...] | OpenTurn, ...]:
    """Return the prospects of turns where such bits were found."""
    prospects: list[tuple[PolicyPasses, ...] | OpenTurn] = []
    shown: list[PolicyPasses] = []
    for plan in plans:
        passes = plan.passes(found)
        if passes is not None:
            shown.append(passes)
            continue
        if shown:
            prospects.append(tuple(shown))
            shown = []
        prospects.append(plan.open)
    return (*prospects, tuple(shown)) if shown else tuple(prospects)


class _ShownTurn(NamedTuple):
    """A turn with what may show how it ends."""

    turn: Turn
    settled: bool
    proofs: tuple[tuple[Proof, ...], ...] = ()
    """Those of each rule; none where they would be of no use."""


def _shown_turn(turn: Turn, facts: MatchFacts, scope: JSONContext) -> _ShownTurn:
    rules = tuple(rule for rule in turn.rules if not _is_simple(rule) or rule.matches(facts))
    turn = turn._replace(rules=rules)
    found = [_known_of(rule, scope) if _is_simple(rule) else None for rule in rules]
    settled = all(one is not None and one.applies for one in found)
    every = tuple(one.proofs for one in found if one is not None and one.proofs)
    is_first_last = turn.policy.policy.applies_one_rule and len(rules) > 1
    if len(every) < len(rules) or is_first_last:
        return _ShownTurn(turn, settled)
    return _ShownTurn(turn, settled, every)


def _turn_plan(shown: _ShownTurn, marks: Iterator[Mark]) -> TurnPlan:
    """Return the plan of a turn, whose proofs have the next of the marks."""
    turn, settled, proofs = shown
    chances = tuple(
        tuple(_chance(rule, proof, next(marks)) for proof in of_rule)
        for rule, of_rule in zip(turn.rules, proofs, strict=False)
    )
    is_whole = all(one.is_all for of_rule in proofs for one in of_rule)
    marks_of = [one.mark for of_rule in chances for one in of_rule] if is_whole else ()
    recall = Recall(marks_of) if settled else None
    likely = tuple(of_rule[0].result for of_rule in chances)
    opened = OpenTurn(turn, settled, recall)
    return TurnPlan(opened, chances, _single(chances), (turn.policy.policy, likely))


def _single(chances: Iterable[tuple[_Chance, ...]]) -> int:
    bits = 0
    for of_rule in chances:
        if len(of_rule) > 1 or of_rule[0].mark.counted:
            return 0
        bits |= of_rule[0].mark.lacking
    return bits


def _chance(rule: CompiledRule, proof: Proof, mark: Mark) -> _Chance:
    outcome = proof.outcome
    result = RuleResult(rule.rule, rule.phase, outcome.status, outcome.message)
    return _Chance(mark, result, proof.exact)


class _Known(NamedTuple):
    """What is known of a rule that matches such objects."""

    applies: bool
    """Whether it applies to each of them."""
    proofs: tuple[Proof, ...]


def _is_simple(rule: CompiledRule) -> bool:
    """Return whether nothing but kind, preconditions and body make a difference."""
    return not (rule.proofs is None or rule.exceptions or rule.concerns or rule.unmatched)


def _known_of(rule: CompiledRule, scope: JSONContext) -> _Known:
    proofs, after_preconditions = rule.proofs() if rule.proofs else Proofs((), False)
    if after_preconditions and not (rule.preconditions and rule.preconditions(scope).met):
        return _Known(False, ())
    applies = after_preconditions or rule.preconditions is None
    return _Known(applies, proofs if all(map(_is_pass, proofs)) else ())


def _is_pass(proof: Proof) -> bool:
    return proof.outcome.status is RuleStatus.PASS
