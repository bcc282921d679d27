"""What calls cost beside the one step that each takes: it grows with what they are given and make.

Source of the figures: upstream cel-go interpreter/runtimecost.go, k8s.io/apiserver
pkg/cel/library/cost.go. Where upstream counts nothing although much is made, a hundredth of its
size is counted, and nothing longer than `MAX_SIZE` is made: upstream would ask for the memory.
"""

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from types import MappingProxyType
from typing import Any

from kyvsim.cel.errors import BudgetError

MAX_SIZE = 10_000_000
"""The characters of a text, or elements of a list, that an expression may make at once."""

_Before = Callable[[Sequence[Any]], int]
_After = Callable[[Sequence[Any], Any], int]


def size_of(value: Any) -> int:
    """Return the size of a value as costs count it; 1 for what has none."""
    return len(value) if isinstance(value, (str, bytes, list, dict)) else 1


def bulk_of(value: Any) -> int:
    """Return about the length of the text that shows a value; raises BudgetError beyond any use."""
    waiting, found = [value], 0
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting.extend(one)
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
        found += len(one) if isinstance(one, (str, bytes)) else 4
        if found > MAX_SIZE:
            raise BudgetError
    return found


def check_size(size: int) -> None:
    """Raise BudgetError for what is too long to be made."""
    if size > MAX_SIZE:
        raise BudgetError


def _traversed(times: float) -> _Before:
    return lambda given: ceil(size_of(given[0]) * times)


def _matched(given: Sequence[Any]) -> int:
    text, pattern = size_of(given[0]), size_of(given[1])
    return ceil((1 + text) * 0.1) * ceil(pattern * 0.25)


def _contained(given: Sequence[Any]) -> int:
    return ceil(size_of(given[0]) * 0.1) * ceil(size_of(given[1]) * 0.1)


def _joined(given: Sequence[Any]) -> int:
    parts = given[0] if isinstance(given[0], list) else ()
    between = size_of(given[1]) if len(given) > 1 else 0
    length = sum(map(size_of, parts)) + between * len(parts)
    check_size(length)
    return ceil(length * 0.2)


def _replaced(given: Sequence[Any]) -> int:
    text, old, new = given[:3]
    if text.__class__ is old.__class__ is new.__class__ is str:
        check_size(len(text) + text.count(old) * max(len(new) - len(old), 0))
    return ceil(size_of(text) * 0.2)


def _added(given: Sequence[Any]) -> int:
    size = sum(map(size_of, given))
    check_size(size)
    return ceil(size * 0.1) if isinstance(given[0], (str, bytes)) else size // 100


def _compared(given: Sequence[Any]) -> int:
    return size_of(given[0]) * size_of(given[1])


def _counted(given: Sequence[Any]) -> int:
    return given[0] // 10 if given[0].__class__ is int and given[0] > 0 else 0


def _shown(given: Sequence[Any]) -> int:
    return sum(map(bulk_of, given)) // 100


def _made(_: Sequence[Any], result: Any) -> int:
    return size_of(result) // 100


_TRAVERSAL = _traversed(0.1)
BEFORE: Mapping[str, _Before] = MappingProxyType(
    {
        "_+_": _added,
        "replace": _replaced,
        "join": _joined,
        "split": _traversed(0.2),
        "lowerAscii": _TRAVERSAL,
        "upperAscii": _TRAVERSAL,
        "trim": _TRAVERSAL,
        "bytes": _TRAVERSAL,
        "string": _TRAVERSAL,
        "matches": _matched,
        "contains": _contained,
        "find": _matched,
        "findAll": _matched,
        "regex.replace": _matched,
        "regex.extract": _matched,
        "regex.extractAll": _matched,
        "sets.contains": _compared,
        "sets.equivalent": _compared,
        "sets.intersects": _compared,
        "sum": _traversed(1),
        "max": _traversed(1),
        "min": _traversed(1),
        "isSorted": _traversed(1),
        "indexOf": _traversed(1),
        "lastIndexOf": _traversed(1),
        "sort": _traversed(0.1),
        "@sortByAssociatedKeys": _traversed(0.1),
        "distinct": _traversed(0.1),
        "lists.range": _counted,
        "format": _shown,
        "marshal": _shown,
        "hash.sha256": _TRAVERSAL,
    }
)
"""What is known of a call before it runs, by the function's name."""
AFTER: Mapping[str, _After] = MappingProxyType(
    dict.fromkeys(("flatten", "slice", "reverse", "regex.replace", "regex.extractAll"), _made)
)
"""What shows in the result."""
