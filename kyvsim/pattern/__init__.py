"""Validation patterns with anchors, compiled once to closures."""

from kyvsim.pattern.build import compile_any_pattern, compile_pattern
from kyvsim.pattern.failure_path import FailureKind, PatternFailure
from kyvsim.pattern.scalars import compile_scalar
from kyvsim.pattern.shape import alternative_shapes, pattern_shape

__all__ = [
    "FailureKind",
    "PatternFailure",
    "alternative_shapes",
    "compile_any_pattern",
    "compile_pattern",
    "compile_scalar",
    "pattern_shape",
]
