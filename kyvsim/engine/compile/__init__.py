"""Compiled policies, of whatever language: what the engine runs, and the index by kind."""

from kyvsim.engine.compile.compiled import (
    CompiledPolicy,
    CompiledRule,
    CompileOptions,
    Model,
    Properties,
)
from kyvsim.engine.compile.policy_set import (
    KindTurns,
    OpenTurn,
    PolicySet,
    Prospect,
    Recalled,
    Turn,
    index_policies,
)

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
