"""Scalars of patterns: one pattern value to one predicate.

upstream: pkg/engine/pattern/pattern.go.
"""

from collections.abc import Callable
from typing import TypeAlias

from kyvsim.kube.go_number import parse_float, parse_int, to_int64
from kyvsim.kube.objects import Json
from kyvsim.kube.text_pattern import compile_text_pattern

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
        return _whole_number(pattern)
    if kind is float:
        return _number(pattern)
    if kind is dict:
        return lambda value: value.__class__ is dict
    return _is_nothing if pattern is None else lambda _: False


def _is_nothing(value: Json) -> bool:
    """Return whether a value is null or its type's zero; maps and lists never are."""
    return value.__class__ is not dict and value.__class__ is not list and not value


def _whole_number(pattern: int) -> Predicate:
    def fits(value: Json) -> bool:
        kind = value.__class__
        if kind is float:
            return value.is_integer() and to_int64(value) == pattern
        if kind is str:
            return parse_int(value) == pattern
        return kind is int and bool(value == pattern)

    return fits


def _number(pattern: float) -> Predicate:
    whole = to_int64(pattern) if pattern.is_integer() else None

    def fits(value: Json) -> bool:
        kind = value.__class__
        if kind is float:
            return bool(value == pattern)
        if kind is str:
            return parse_float(value) == pattern
        return kind is int and bool(value == whole)

    return fits
