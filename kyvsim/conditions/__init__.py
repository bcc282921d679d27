"""Conditions of preconditions and deny rules, compiled once to predicates."""

from kyvsim.conditions.block import (
    ConditionError,
    ConditionsResult,
    compile_conditions,
    compile_exception_conditions,
)
from kyvsim.conditions.operators import operators, specialise

__all__ = [
    "ConditionError",
    "ConditionsResult",
    "compile_conditions",
    "compile_exception_conditions",
    "operators",
    "specialise",
]
