"""A policy's turn in a stage."""

from typing import NamedTuple, TypeAlias

from kyvsim.compile.compiled import CompiledPolicy, CompiledRule
from kyvsim.compile.recall import Recall
from kyvsim.model.policy import Policy
from kyvsim.model.result import PolicyPasses, RuleResult


class Turn(NamedTuple):
    """A policy's turn in a stage: its rules that the stage runs on an object of some kind."""

    policy: CompiledPolicy
    rules: tuple[CompiledRule, ...]


class OpenTurn(NamedTuple):
    """A turn of which is not known how it ends."""

    turn: Turn
    settled: bool = False
    """Whether all its rules are known to apply, so that nothing but their bodies is to be asked."""
    recall: Recall | None = None
    """Knows how it ended before; None where more than bodies can make a difference."""


class Recalled(NamedTuple):
    """A turn that ended before as it must end now."""

    policy: Policy
    results: tuple[RuleResult, ...]


Prospect: TypeAlias = tuple[PolicyPasses, ...] | Recalled | OpenTurn
"""Policies one after the other that are shown to pass, or a turn that has to be evaluated."""
