"""Functions on lists, and lists as sets."""

from collections.abc import Callable
from functools import cmp_to_key

from kyvsim.cel.costs import MAX_RANGE, check_size
from kyvsim.cel.environment import FunctionDecl, Library, function, method
from kyvsim.cel.errors import CelError, no_such_overload
from kyvsim.cel.operators import COMPARABLE, add, compare, contains, equals
from kyvsim.cel.values import Duration, MadeList, MadeMap, Timestamp, UInt, go_type, type_name

# Functions on lists.
#
# Source of the rules: upstream cel-go ext/lists.go, version 3, and k8s.io/apiserver
# pkg/cel/library/lists.go.

_ORDERED = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_ADDABLE = frozenset({str, int, UInt, float, bytes, Duration, Timestamp})


def _slice(values: list[object], start: int, end: int) -> list[object]:
    problem = ""
    if start < 0 or end < 0:
        problem = "negative indexes not supported"
    elif start > end:
        problem = "start index must be less than or equal to end index"
    elif len(values) < end:
        problem = f"list is length {len(values)}"
    if problem:
        raise CelError(f"cannot slice({start}, {end}), {problem}")
    return MadeList(values[start:end])


def _flatten(values: object, *levels: int) -> list[object]:
    if not isinstance(values, list) or any(one.__class__ is not int for one in levels):
        given = ", ".join(map(type_name, levels))
        kind = "map(dyn, dyn)" if type_name(values) == "map" else type_name(values)
        raise CelError(f"no such overload: {kind}.flatten({given})")
    return _flattened(values, *levels)


def _flattened(values: list[object], depth: int = 1) -> list[object]:
    if depth < 0:
        raise CelError("level must be non-negative")
    made = MadeList()
    for one in values:
        if isinstance(one, list) and depth:
            made.extend(_flattened(one, depth - 1))
        else:
            made.append(one)
    return made


def _range(count: int) -> MadeList:
    if count < 0:
        raise CelError(f"lists.range: size must be non-negative, got {count}")
    if count > MAX_RANGE:
        raise CelError(f"lists.range: size {count} exceeds maximum allowed ({MAX_RANGE})")
    return MadeList(range(count))


def _distinct(values: object) -> list[object]:
    if not isinstance(values, list):  # upstream does not check types here, and panics on others
        lacking = "Contains" if values.__class__ in _ADDABLE else "Add"
        shown = go_type(MadeMap() if isinstance(values, dict) else values)
        raise CelError(
            f"internal error: interface conversion: {shown} is not "
            f"traits.Lister: missing method {lacking}"
        )
    if all(one.__class__ in {str, bool, int} for one in values):
        return MadeList({(one.__class__, one): one for one in values}.values())
    check_size(len(values) ** 2)
    made = MadeList()
    for one in values:
        if not any(equals(one, known) for known in made):
            made.append(one)
    return made


def _sort(values: object) -> list[object]:
    if not isinstance(values, list):
        raise no_such_overload() if values.__class__ is str else CelError("no such overload: sort")
    return _sort_by(values, values)


def _sort_by(values: object, keys: object) -> list[object]:
    if not isinstance(values, list) or not isinstance(keys, list):
        raise CelError("no such overload: @sortByAssociatedKeys")
    if not values:
        return []
    kind = keys[0].__class__
    if kind not in COMPARABLE:
        raise CelError("list elements must be comparable")
    if any(key.__class__ is not kind for key in keys):
        raise CelError("list elements must have the same type")

    def by_key(one: int, other: int) -> int:
        return _order(keys[one], keys[other])

    order = sorted(range(len(keys)), key=cmp_to_key(by_key))
    return MadeList([values[place] for place in order])


def _is_sorted(values: list[object]) -> bool:
    for place, one in enumerate(values):
        _check_order(one)
        if place and _order(values[place - 1], one) > 0:
            return False
    return True


def _sum_from(zero: object) -> Callable[[list[object]], object]:
    def total(values: list[object]) -> object:
        found = zero
        for one in values:
            found = add(found, one)
        return found

    return total


def _check_order(value: object) -> None:
    if value.__class__ not in COMPARABLE:
        raise no_such_overload()


def _order(left: object, right: object) -> int:
    """Return the order of two values; values of different types keep their order."""
    try:
        return compare(left, right)
    except CelError:
        return 0


def _extreme(name: str, sign: int) -> Callable[[list[object]], object]:
    def extreme(values: list[object]) -> object:
        if not values:
            raise CelError(f"{name} called on empty list")
        found = values[0]
        for one in values:
            _check_order(one)
            if _order(found, one) * sign < 0:
                found = one
        return found

    return extreme


def _index_of(values: list[object], item: object) -> int:
    return next((place for place, one in enumerate(values) if equals(one, item)), -1)


def _last_index_of(values: list[object], item: object) -> int:
    places = reversed(range(len(values)))
    return next((place for place in places if equals(values[place], item)), -1)


def _for_ordered(
    name: str, result: str, run: Callable[[list[object]], object]
) -> tuple[FunctionDecl, ...]:
    return tuple(
        method(f"list<{kind}>.{name}() -> {result.format(kind)}", run) for kind in _ORDERED
    )


LISTS = Library(
    "lists",
    (
        method("list<T>.slice(int, int) -> list<T>", _slice),
        method("list<list<T>>.flatten() -> list<T>", _flatten)._replace(guarded=False),
        method("list<dyn>.flatten(int) -> list<dyn>", _flatten)._replace(guarded=False),
        *(one._replace(guarded=False) for one in _for_ordered("sort", "list<{}>", _sort)),
        *(
            method(f"list<T>.@sortByAssociatedKeys(list<{kind}>) -> list<T>", _sort_by)._replace(
                guarded=False
            )
            for kind in _ORDERED
        ),
        function("lists.range(int) -> list<int>", _range),
        method("list<T>.reverse() -> list<T>", lambda values: MadeList(values[::-1])),
        method("list<T>.distinct() -> list<T>", _distinct)._replace(guarded=False),
    ),
    macros="sort_by",
)

KUBERNETES_LISTS = Library(
    "kubernetes lists",
    (
        *_for_ordered("isSorted", "bool", _is_sorted),
        method("list<int>.sum() -> int", _sum_from(0)),
        method("list<uint>.sum() -> uint", _sum_from(UInt(0))),
        method("list<double>.sum() -> double", _sum_from(0.0)),
        method("list<duration>.sum() -> duration", _sum_from(Duration(0))),
        *_for_ordered("max", "{}", _extreme("max", 1)),
        *_for_ordered("min", "{}", _extreme("min", -1)),
        method("list<A>.indexOf(A) -> int", _index_of),
        method("list<A>.lastIndexOf(A) -> int", _last_index_of),
    ),
)

TWO_VARIABLES = Library("two-variable comprehensions", (), macros="two_variables")
"""Loops over index and value, or key and value. upstream: cel-go ext/comprehensions.go"""

# Set operations on lists.
#
# Source of the rules: upstream cel-go ext/sets.go.


def _contains(values: list[object], part: list[object]) -> bool:
    return all(contains(one, values) for one in part)


SETS = Library(
    "sets",
    (
        function("sets.contains(list<T>, list<T>) -> bool", _contains),
        function(
            "sets.equivalent(list<T>, list<T>) -> bool",
            lambda a, b: _contains(a, b) and _contains(b, a),
        ),
        function(
            "sets.intersects(list<T>, list<T>) -> bool",
            lambda a, b: any(contains(one, b) for one in a),
        ),
    ),
)
