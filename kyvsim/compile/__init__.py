"""Compiled policies, of whatever language: what the engine runs, and the index by kind."""

from kyvsim.compile.compiled import CompiledPolicy, CompiledRule, Properties
from kyvsim.compile.options import CompileOptions, Model
from kyvsim.compile.policy_set import PolicySet, Turn, index_policies

__all__ = [
    "CompileOptions",
    "CompiledPolicy",
    "CompiledRule",
    "Model",
    "PolicySet",
    "Properties",
    "Turn",
    "index_policies",
]
