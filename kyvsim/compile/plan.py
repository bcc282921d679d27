"""One plan for all objects of a kind: what is shown of them in one walk, for the rules of a stage.

Most rules pass most objects, with words that never change. Their proofs are joined: the walk looks
once at what several of them ask for. Where it shows nothing a rule is evaluated as ever, so a plan
makes no verdict of its own.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from kyvsim.compile.compiled import CompiledRule
from kyvsim.compile.outcome import Proof
from kyvsim.compile.turn import Turn
from kyvsim.context import JSONContext
from kyvsim.kube.objects import Json
from kyvsim.match import MatchFacts
from kyvsim.model.result import Passes, RuleResult, RuleStatus
from kyvsim.proof import Walk, compile_walk

_REMEMBERED: Final = 256
"""How many combinations of what is shown each turn remembers the results of."""


class _Chance(NamedTuple):
    """One way in which a rule may be shown to end."""

    bit: int
    result: RuleResult
    exact: bool


class TurnPlan(NamedTuple):
    """How the rules of one policy may be shown to end."""

    rules: tuple[tuple[_Chance, ...], ...]
    mask: int
    """All bits of the rules."""
    known: dict[int, Passes | None]
    """Results by the bits that are not shown; None where the rules have to be evaluated."""

    def results(self, missing: int) -> Passes | None:
        """Return the results if all are shown, where so many bits are not."""
        key = missing & self.mask
        if key in self.known:
            return self.known[key]
        ends = [_end(chances, key) for chances in self.rules]
        shown = [one for one in ends if one is not None]
        found = Passes(shown) if len(shown) == len(ends) else None
        if len(self.known) < _REMEMBERED:
            self.known[key] = found
        return found


def _end(chances: tuple[_Chance, ...], missing: int) -> RuleResult | None:
    for bit, result, exact in chances:
        if not missing & bit:
            return result
        if not exact:
            return None
    return None


class Plan:
    """What is known of the turns of one stage for all objects of one kind that are created."""

    __slots__ = ("_walk", "turns")

    def __init__(self, turns: Sequence[Turn], facts: MatchFacts, scope: JSONContext) -> None:
        proofs: list[Proof] = []
        self.turns = tuple(_plan_turn(turn, facts, scope, proofs) for turn in turns)
        """How each may be shown to end; None where its rules have to be evaluated."""
        self._walk: Walk | None = None
        if proofs:
            self._walk = compile_walk([proof.shape for proof in proofs])

    def results(self, obj: Json) -> list[Passes | None]:
        """Return the results of each turn; None where its rules have to be evaluated."""
        if self._walk is None:
            return [None] * len(self.turns)
        missing = self._walk(obj)
        return [None if turn is None else turn.results(missing) for turn in self.turns]


def _plan_turn(
    turn: Turn, facts: MatchFacts, scope: JSONContext, proofs: list[Proof]
) -> TurnPlan | None:
    """Return the plan of a turn, with its proofs added; None where it has to be evaluated."""
    rules: list[tuple[_Chance, ...]] = []
    added: list[Proof] = []
    for rule in turn.rules:
        found = _proofs_of(rule, facts, scope)
        if found is None:
            continue
        if not found:
            return None
        first = len(proofs) + len(added)
        rules.append(
            tuple(_chance(rule, proof, first + place) for place, proof in enumerate(found))
        )
        added += found
    if not rules or (turn.policy.policy.applies_one_rule and len(rules) > 1):
        return None
    proofs += added
    mask = sum(chance.bit for chances in rules for chance in chances)
    return TurnPlan(tuple(rules), mask, {})


def _chance(rule: CompiledRule, proof: Proof, place: int) -> _Chance:
    outcome = proof.outcome
    result = RuleResult(rule.rule, rule.phase, outcome.status, outcome.message)
    return _Chance(1 << place, result, proof.exact)


def _proofs_of(
    rule: CompiledRule, facts: MatchFacts, scope: JSONContext
) -> tuple[Proof, ...] | None:
    """Return the proofs that count for a rule; None where it says nothing of such objects."""
    if rule.proofs is None or rule.exceptions or rule.concerns or rule.unmatched:
        return ()
    if not rule.matches(facts):
        return None
    proofs, after_preconditions = rule.proofs()
    if after_preconditions and not (rule.preconditions and rule.preconditions(scope).met):
        return ()
    return proofs if all(one.outcome.status is RuleStatus.PASS for one in proofs) else ()
