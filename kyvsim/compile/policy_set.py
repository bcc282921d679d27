"""The index: which rules can an object of this kind touch at all?"""

from collections.abc import Iterable
from typing import NamedTuple

from kyvsim.compile.compiled import CompiledPolicy, CompiledRule
from kyvsim.model.result import Phase


class Step(NamedTuple):
    """The rules of one policy that one phase runs on an object of some kind."""

    policy: CompiledPolicy
    rules: tuple[CompiledRule, ...]


class PolicySet(NamedTuple):
    """Compiled policies in the order in which they were given, indexed by kind."""

    policies: tuple[CompiledPolicy, ...]
    by_kind: dict[str, dict[Phase, tuple[Step, ...]]]
    otherwise: dict[Phase, tuple[Step, ...]]
    """The steps for every kind that no policy names."""

    def steps(self, phase: Phase, kind: str) -> tuple[Step, ...]:
        """Return what a phase runs on an object of a kind; rules still decide if they match."""
        return self.by_kind.get(kind, self.otherwise)[phase]


def index_policies(policies: Iterable[CompiledPolicy]) -> PolicySet:
    """Return the policies with the steps for each kind worked out."""
    every = tuple(policies)
    kinds = {kind for policy in every for kind in _kinds_of(policy)}
    return PolicySet(every, {kind: _steps(every, kind) for kind in kinds}, _steps(every, ""))


def _kinds_of(policy: CompiledPolicy) -> set[str]:
    named = {kind for rule in policy.rules for kind in rule.kinds or ()}
    named |= {kind for rule in policy.validating_others for kind in rule.kinds or ()}
    return named | set(policy.validating)


def _steps(policies: tuple[CompiledPolicy, ...], kind: str) -> dict[Phase, tuple[Step, ...]]:
    return {
        phase: tuple(
            Step(policy, rules) for policy in policies if (rules := _rules_for(policy, phase, kind))
        )
        for phase in Phase
    }


def _rules_for(policy: CompiledPolicy, phase: Phase, kind: str) -> tuple[CompiledRule, ...]:
    rules = policy.rules
    if phase is Phase.VALIDATE:
        rules = policy.validating.get(kind, policy.validating_others)
    return tuple(
        rule for rule in rules if rule.phase is phase and (rule.kinds is None or kind in rule.kinds)
    )
