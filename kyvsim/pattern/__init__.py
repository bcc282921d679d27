"""Validation patterns with anchors, compiled once to closures."""

from kyvsim.pattern.build import compile_any_pattern, compile_pattern
from kyvsim.pattern.checks import compile_scalar
from kyvsim.pattern.failure_path import FailureKind, PatternFailure

__all__ = [
    "FailureKind",
    "PatternFailure",
    "compile_any_pattern",
    "compile_pattern",
    "compile_scalar",
]
