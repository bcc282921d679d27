"""The Common Expression Language: compile an expression once, evaluate it on any number of objects.

An `Environment` contains the variables, functions and macros of an expression. This package
does not depend on policies or rules.
"""

from kyvsim.cel.environment import (
    CALL_LIMIT,
    Environment,
    FunctionDecl,
    Library,
    Overload,
    environment,
)
from kyvsim.cel.errors import CelBudgetError, CelError, CompileError
from kyvsim.cel.program import Program, compile_expression

__all__ = [
    "CALL_LIMIT",
    "CelBudgetError",
    "CelError",
    "CompileError",
    "Environment",
    "FunctionDecl",
    "Library",
    "Overload",
    "Program",
    "compile_expression",
    "environment",
]
