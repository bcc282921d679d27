"""A policy's turn in a stage."""

from typing import NamedTuple

from kyvsim.compile.compiled import CompiledPolicy, CompiledRule


class Turn(NamedTuple):
    """A policy's turn in a stage: its rules that the stage runs on an object of some kind."""

    policy: CompiledPolicy
    rules: tuple[CompiledRule, ...]
