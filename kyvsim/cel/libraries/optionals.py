"""Optional values.

Source of the rules: upstream cel-go cel/library.go, common/types/optional.go.
"""

from typing import Any

from kyvsim.cel.environment import FunctionDecl, Library, function, way
from kyvsim.cel.errors import CelError
from kyvsim.cel.macros import OR_VALUE
from kyvsim.cel.operators import index_if_present
from kyvsim.cel.values import NONE, Duration, MadeList, Optional, Timestamp, show_value


def _of(value: Any) -> Optional:
    return Optional(present=True, value=value)


def _of_non_zero(value: Any) -> Optional:
    return NONE if _is_zero(value) else _of(value)


def _is_zero(value: Any) -> bool:
    if value.__class__ is Optional:
        return not value.present
    if value.__class__ is Duration:
        return not value.nanoseconds
    if value.__class__ is Timestamp:
        return False
    return not value


def _value(found: Optional) -> Any:
    if not found.present:
        raise CelError("optional.none() dereference")
    return found.value


def _first(values: list[Any]) -> Optional:
    return _of(values[0]) if values else NONE


def _last(values: list[Any]) -> Optional:
    return _of(values[-1]) if values else NONE


def _unwrap(values: list[Any]) -> list[Any]:
    for one in values:
        if one.__class__ is not Optional:
            raise CelError(f"value {show_value(one)} is not optional")
    return MadeList([one.value for one in values if one.present])


def _never(*_: Any) -> Any:  # pragma: no cover — closures take these
    raise AssertionError


OPTIONALS = Library(
    "optionals",
    (
        function("optional.of", way("(V) -> optional<V>", _of)),
        function("optional.ofNonZeroValue", way("(V) -> optional<V>", _of_non_zero)),
        function("optional.none", way("() -> optional<V>", lambda: NONE)),
        function("value", way("optional<V>.() -> V", _value)),
        function("hasValue", way("optional<V>.() -> bool", lambda found: found.present)),
        function("or", way("optional<V>.(optional<V>) -> optional<V>", _never)),
        function("orValue", way("optional<V>.(V) -> V", _never)),
        FunctionDecl(
            "_[?_]",
            (
                way("(list<V>, int) -> optional<V>", index_if_present),
                way("(optional<list<V>>, int) -> optional<V>", index_if_present),
                way("(map<K, V>, K) -> optional<V>", index_if_present),
                way("(optional<map<K, V>>, K) -> optional<V>", index_if_present),
            ),
        ),
        function("first", way("list<V>.() -> optional<V>", _first)),
        function("last", way("list<V>.() -> optional<V>", _last)),
        function("optional.unwrap", way("(list<optional<V>>) -> list<V>", _unwrap)),
        function("unwrapOpt", way("list<optional<V>>.() -> list<V>", _unwrap)),
    ),
    macros="optional",
)

LENIENT_OR_VALUE = Library(
    "lenient_or_value",
    (function(OR_VALUE, way("(dyn, dyn) -> dyn", _never)),),
    macros="lenient_or_value",
)
"""`orValue` on what is not optional. upstream: pkg/cel/compiler/env.go"""
