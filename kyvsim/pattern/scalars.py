"""Scalars of patterns: one pattern value to one predicate.

upstream: pkg/engine/pattern/pattern.go.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from kyvsim.kube.numbers import float_equals, int_equals
from kyvsim.kube.objects import Json
from kyvsim.kube.wildcard import compile_text_pattern

Predicate: TypeAlias = Callable[[Json], bool]


def compile_scalar(pattern: Json) -> Predicate:
    """Return a predicate that says whether one value (no list) fits `pattern`.

    A map as pattern fits any map; a list fits nothing.
    """
    kind = pattern.__class__
    if kind is str:
        return compile_text_pattern(pattern)
    if kind is bool:
        return lambda value: value is pattern
    if kind is int:
        return partial(int_equals, pattern)
    if kind is float:
        return partial(float_equals, pattern)
    if kind is dict:
        return lambda value: value.__class__ is dict
    return _is_nothing if pattern is None else lambda _: False


def _is_nothing(value: Json) -> bool:
    """Return whether a value is null or its type's zero; maps and lists never are."""
    return value.__class__ is not dict and value.__class__ is not list and not value
