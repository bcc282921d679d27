"""Conditions of preconditions and deny rules, compiled once to predicates."""

from kyvsim.conditions.block import (
    ConditionError,
    ConditionsResult,
    compile_conditions,
    compile_exception_conditions,
)
from kyvsim.conditions.operators import OPERATORS, Operator, operators
from kyvsim.conditions.shape import (
    asks_only,
    confirming_shape,
    elements_shape,
    is_seen_whole,
    refuting_shape,
)

__all__ = [
    "OPERATORS",
    "ConditionError",
    "ConditionsResult",
    "Operator",
    "asks_only",
    "compile_conditions",
    "compile_exception_conditions",
    "confirming_shape",
    "elements_shape",
    "is_seen_whole",
    "operators",
    "refuting_shape",
]
