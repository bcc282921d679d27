"""One plan for all objects of a kind: what is shown of them in one walk, for the rules of a stage.

Most rules pass most objects, with words that never change. Their proofs are joined: the walk looks
once at what several of them ask for. Where it shows nothing a rule is evaluated as ever, so a plan
makes no verdict of its own.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final, TypeAlias

from kyvsim.compile.compiled import CompiledRule, Proofs
from kyvsim.compile.outcome import Proof
from kyvsim.compile.turn import OpenTurn, Turn
from kyvsim.context import JSONContext
from kyvsim.kube.objects import Json
from kyvsim.light.named_tuple import NamedTuple
from kyvsim.match import MatchFacts
from kyvsim.model.result import PolicyPasses, RuleResult, RuleStatus
from kyvsim.proof import Walk, compile_walk

if TYPE_CHECKING:
    from kyvsim.compile.recall import Recall

_REMEMBERED: Final = 1024
"""How many combinations of what is shown a plan remembers the prospects of."""

Prospect: TypeAlias = tuple[PolicyPasses, ...] | OpenTurn
"""Policies one after the other that are shown to pass, or a turn that has to be evaluated."""


class _Chance(NamedTuple):
    """One way in which a rule may be shown to end."""

    bit: int
    result: RuleResult
    exact: bool


class TurnPlan(NamedTuple):
    """How the rules of one policy may be shown to end."""

    open: OpenTurn
    """The rules that can match such objects."""
    chances: tuple[tuple[_Chance, ...], ...]
    """Those of each rule; none where nothing shows how the turn ends."""
    bits: int
    """All bits of theirs."""
    likely: PolicyPasses | None
    """The results where none of these is missing."""

    def passes(self, missing: int) -> PolicyPasses | None:
        """Return the results if all are shown, where so many bits are not."""
        if not missing & self.bits:
            return self.likely
        return _passes(self.open.turn, self.chances, missing)


def _passes(
    turn: Turn, chances: Sequence[tuple[_Chance, ...]], missing: int
) -> PolicyPasses | None:
    shown: list[RuleResult] = []
    for of_rule in chances:
        result = _end(of_rule, missing)
        if result is None:
            return None
        shown.append(result)
    return (turn.policy.policy, tuple(shown)) if shown else None


def _end(chances: tuple[_Chance, ...], missing: int) -> RuleResult | None:
    for bit, result, exact in chances:
        if not missing & bit:
            return result
        if not exact:
            return None
    return None


class Plan:
    """What is known of the turns of one stage for all objects of one kind that are created."""

    __slots__ = ("_walk", "_where_missing", "plans")

    def __init__(self, turns: Sequence[Turn], facts: MatchFacts, scope: JSONContext) -> None:
        proofs: list[Proof] = []
        plans = [_plan_turn(turn, facts, scope, proofs) for turn in turns]
        self.plans = tuple(plan for plan in plans if plan.open.turn.rules)
        """Of the turns that concern such objects."""
        self._walk: Walk = compile_walk([proof.shape for proof in proofs])
        self._where_missing = lru_cache(_REMEMBERED)(partial(_prospects, self.plans))

    def prospects(self, obj: Json) -> tuple[Prospect, ...]:
        """Return what is known of the turns before any rule is evaluated, in their order."""
        return self._where_missing(self._walk(obj))


def _prospects(plans: Iterable[TurnPlan], missing: int) -> tuple[Prospect, ...]:
    """Return the prospects of turns where so many bits are not shown."""
    found: list[Prospect] = []
    shown: list[PolicyPasses] = []
    for plan in plans:
        passes = plan.passes(missing)
        if passes is not None:
            shown.append(passes)
            continue
        if shown:
            found.append(tuple(shown))
            shown = []
        found.append(plan.open)
    return (*found, tuple(shown)) if shown else tuple(found)


def _plan_turn(turn: Turn, facts: MatchFacts, scope: JSONContext, proofs: list[Proof]) -> TurnPlan:
    """Return the plan of a turn, with its proofs added where they are of use."""
    rules = tuple(rule for rule in turn.rules if not _is_simple(rule) or rule.matches(facts))
    turn = turn._replace(rules=rules)
    found = [_known_of(rule, scope) if _is_simple(rule) else None for rule in rules]
    settled = all(one is not None and one.applies for one in found)
    every = [one.proofs for one in found if one is not None and one.proofs]
    is_first_last = turn.policy.policy.applies_one_rule and len(rules) > 1
    if len(every) < len(rules) or is_first_last:
        return _turn_plan(OpenTurn(turn, settled), ())
    chances: list[tuple[_Chance, ...]] = []
    for rule, of_rule in zip(rules, every, strict=True):
        first = len(proofs)
        chances.append(tuple(_chance(rule, one, first + n) for n, one in enumerate(of_rule)))
        proofs += of_rule
    recall = _recall(every) if settled else None
    return _turn_plan(OpenTurn(turn, settled, recall), tuple(chances))


def _turn_plan(opened: OpenTurn, chances: tuple[tuple[_Chance, ...], ...]) -> TurnPlan:
    bits = 0
    for of_rule in chances:
        for one in of_rule:
            bits |= one.bit
    return TurnPlan(opened, chances, bits, _passes(opened.turn, chances, 0))


def _recall(proofs: Iterable[tuple[Proof, ...]]) -> "Recall | None":
    """Return what recalls results where the rules look at nothing but what proofs look at."""
    every = [one for of_rule in proofs for one in of_rule]
    if not all(one.is_all for one in every):
        return None
    from kyvsim.compile.recall import Recall  # noqa: PLC0415 — for many objects only
    from kyvsim.proof.look import compile_look  # noqa: PLC0415 — as above

    return Recall(compile_look([one.shape for one in every]))


def _chance(rule: CompiledRule, proof: Proof, place: int) -> _Chance:
    outcome = proof.outcome
    result = RuleResult(rule.rule, rule.phase, outcome.status, outcome.message)
    return _Chance(1 << place, result, proof.exact)


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
