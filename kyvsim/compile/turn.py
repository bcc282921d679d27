"""A policy's turn in a stage."""

from kyvsim.compile.compiled import CompiledPolicy, CompiledRule
from kyvsim.light.named_tuple import NamedTuple


class Turn(NamedTuple):
    """A policy's turn in a stage: its rules that the stage runs on an object of some kind."""

    policy: CompiledPolicy
    rules: tuple[CompiledRule, ...]
