"""Validation patterns with anchors, compiled once to closures."""

from kyvsim.engine.pattern.build import compile_any_pattern, compile_pattern
from kyvsim.engine.pattern.checks import FailureKind, PatternFailure, compile_scalar

__all__ = [
    "FailureKind",
    "PatternFailure",
    "compile_any_pattern",
    "compile_pattern",
    "compile_scalar",
]
