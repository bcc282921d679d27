"""The index: which rules can an object of this kind touch at all?"""

from collections.abc import Iterable
from typing import NamedTuple

from kyvsim.compile.compiled import CompiledPolicy, CompiledRule
from kyvsim.model.result import Stage


class Turn(NamedTuple):
    """A policy's turn in a stage: its rules that the stage runs on an object of some kind."""

    policy: CompiledPolicy
    rules: tuple[CompiledRule, ...]


class PolicySet(NamedTuple):
    """Compiled policies in the order in which they were given, indexed by kind."""

    policies: tuple[CompiledPolicy, ...]
    by_kind: dict[str, dict[Stage, tuple[Turn, ...]]]
    otherwise: dict[Stage, tuple[Turn, ...]]
    """The turns for every kind that no policy names."""

    def turns(self, stage: Stage, kind: str) -> tuple[Turn, ...]:
        """Return what a stage runs on an object of a kind; rules still decide if they match."""
        return self.of_kind(kind).get(stage, ())

    def of_kind(self, kind: str) -> dict[Stage, tuple[Turn, ...]]:
        """Return the same for all stages; those that run nothing are not there."""
        return self.by_kind.get(kind, self.otherwise)


def index_policies(policies: Iterable[CompiledPolicy]) -> PolicySet:
    """Return the policies with the turns for each kind worked out."""
    every = tuple(policies)
    kinds = {kind for policy in every for kind in _kinds_of(policy)}
    return PolicySet(every, {kind: _turns(every, kind) for kind in kinds}, _turns(every, ""))


def _kinds_of(policy: CompiledPolicy) -> set[str]:
    named = {kind for rule in policy.rules for kind in rule.kinds or ()}
    named |= {kind for rule in policy.validating_others for kind in rule.kinds or ()}
    return named | set(policy.validating)


def _turns(policies: tuple[CompiledPolicy, ...], kind: str) -> dict[Stage, tuple[Turn, ...]]:
    found = {
        stage: tuple(
            Turn(policy, rules) for policy in policies if (rules := _rules_for(policy, stage, kind))
        )
        for stage in Stage
    }
    return {stage: turns for stage, turns in found.items() if turns}


def _rules_for(policy: CompiledPolicy, stage: Stage, kind: str) -> tuple[CompiledRule, ...]:
    rules = policy.rules
    if stage is Stage.VALIDATE:
        rules = policy.validating.get(kind, policy.validating_others)
    return tuple(
        rule for rule in rules if rule.stage is stage and (rule.kinds is None or kind in rule.kinds)
    )
