"""Lists as sets.

Source of the rules: upstream cel-go ext/sets.go.
"""

from typing import Any

from kyvsim.cel.environment import Library, function, way
from kyvsim.cel.operators import contains


def _contains(values: list[Any], part: list[Any]) -> bool:
    return all(contains(one, values) for one in part)


def _equivalent(left: list[Any], right: list[Any]) -> bool:
    return _contains(left, right) and _contains(right, left)


def _intersects(left: list[Any], right: list[Any]) -> bool:
    return any(contains(one, right) for one in left)


SETS = Library(
    "sets",
    (
        function("sets.contains", way("(list<T>, list<T>) -> bool", _contains)),
        function("sets.equivalent", way("(list<T>, list<T>) -> bool", _equivalent)),
        function("sets.intersects", way("(list<T>, list<T>) -> bool", _intersects)),
    ),
)
