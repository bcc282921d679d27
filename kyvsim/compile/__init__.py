"""Compiled policies, of whatever language: what the engine runs, and the index by kind."""

from kyvsim.compile.compiled import CompiledPolicy, CompiledRule, Properties
from kyvsim.compile.options import CompileOptions, Model
from kyvsim.compile.policy_set import KindTurns, PolicySet, index_policies
from kyvsim.compile.turn import OpenTurn, Prospect, Recalled, Turn

__all__ = [
    "CompileOptions",
    "CompiledPolicy",
    "CompiledRule",
    "KindTurns",
    "Model",
    "OpenTurn",
    "PolicySet",
    "Properties",
    "Prospect",
    "Recalled",
    "Turn",
    "index_policies",
]
