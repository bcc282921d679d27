"""Compiled policies of all languages, and their index by kind."""

from kyvsim.engine.compile.compiled import (
    CompiledPolicy,
    CompiledRule,
    CompileOptions,
    Model,
)
from kyvsim.engine.compile.policy_set import (
    FastResult,
    KindPlans,
    PolicyRules,
    PolicySet,
    UnresolvedRules,
    index_policies,
)

__all__ = [
    "CompileOptions",
    "CompiledPolicy",
    "CompiledRule",
    "FastResult",
    "KindPlans",
    "Model",
    "PolicyRules",
    "PolicySet",
    "UnresolvedRules",
    "index_policies",
]
