"""Conditions of preconditions and deny rules, compiled once to predicates."""

from kyvsim.engine.conditions.block import (
    ConditionError,
    ConditionsResult,
    compile_conditions,
    compile_exception_conditions,
)
from kyvsim.engine.conditions.operators import OPERATORS, Operator, operators

__all__ = [
    "OPERATORS",
    "ConditionError",
    "ConditionsResult",
    "Operator",
    "compile_conditions",
    "compile_exception_conditions",
    "operators",
]
