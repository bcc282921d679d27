"""Functions on lists and maps, and functions that sort items."""

from collections.abc import Callable
from operator import gt, lt
from typing import Any, Final, TypeAlias

from kyvsim.jmespath.functions import QueryError, function
from kyvsim.kubernetes.go_text import format_float
from kyvsim.kubernetes.quantities import deep_equal

# Functions on lists and maps.
#
# upstream: pkg/engine/jmespath/functions.go.

_INT_RANGE = float(1 << 63)


def lookup(container: dict[str, object] | list[object], key: str | float) -> object:
    """Return the value at a key or index, None if there is none."""
    argument = "JMESPath function 'lookup': argument #2"
    if isinstance(container, dict):
        if not isinstance(key, str):
            raise QueryError(f"{argument} is not of type String")
        return container.get(key)
    if not isinstance(key, float):
        raise QueryError(f"{argument} is not of type Number")
    shown = format_float(key, "g")
    if not key.is_integer():
        raise QueryError(f"{argument}: expected an integer number but got: {shown}")
    if abs(key) >= _INT_RANGE:
        raise QueryError(f"{argument}: number is outside the range of integer numbers: {shown}")
    return container[int(key)] if 0 <= key < len(container) else None


def items(
    container: dict[str, object] | list[object], key_name: str, value_name: str
) -> list[dict[str, object]]:
    """Return one object for each element; maps in the order of their keys."""
    if isinstance(container, dict):
        return [{key_name: key, value_name: container[key]} for key in sorted(container)]
    return [{key_name: float(at), value_name: value} for at, value in enumerate(container)]


def object_from_lists(keys: list[object], values: list[object]) -> dict[str, object]:
    """Return a map of keys to values; missing values are None, surplus values are dropped."""
    padding = [None] * (len(keys) - len(values))
    return dict(zip(map(_key, keys), [*values, *padding], strict=False))


def _key(value: object) -> str:
    if value.__class__ is str:
        return value
    if value.__class__ is float:
        return format_float(value, "f", bits=32)
    if value.__class__ is bool:
        return "true" if value else "false"
    problem = "argument #1 is not of type StringArray"
    raise QueryError(f"JMESPath function 'object_from_lists': {problem}")


def label_match(expected: dict[str, object], labels: dict[str, object]) -> bool:
    """Return whether `labels` contains all of `expected`."""
    return all(key in labels and deep_equal(labels[key], value) for key, value in expected.items())


CONTAINERS = (
    function(
        "lookup(object|array, string|number) any",
        "the value at a key of a map or an index of a list, or null if missing",
        lookup,
        ("lookup(@, 'a')", 1, {"a": 1}),
        ("lookup(@, `1`)", "y", ["x", "y"]),
    ),
    function(
        "items(object|array, string, string) array",
        "one object for each entry of a map or list, with its key and value under the given names",
        items,
        ("items(@, 'k', 'v')", [{"k": "a", "v": 1}], {"a": 1}),
    ),
    function(
        "object_from_lists(array, array) object",
        "a map built from a list of keys and a list of values",
        object_from_lists,
        ("object_from_lists(k, v)", {"a": "x", "b": None}, {"k": ["a", "b"], "v": ["x"]}),
    ),
    function(
        "label_match(object, object) boolean",
        "whether the second map contains every entry of the first",
        label_match,
        ("label_match(a, b)", True, {"a": {"x": "1"}, "b": {"x": "1", "y": "2"}}),
    ),
)


# Functions that sort items, or find the first or the last in order.
#
# upstream: kyverno/go-jmespath `functions.go`.

_Ordered: TypeAlias = float | str
_Reference: TypeAlias = Callable[[object], Any]
"""An expression for an item; its values should be numbers or strings."""
_Better: TypeAlias = Callable[[Any, Any], bool]
"""Compares two numbers or two strings."""


def _extreme(better: _Better) -> Callable[[list[_Ordered]], _Ordered | None]:
    """Return `max` or `min` of a list of numbers or strings; null for an empty list."""

    def find(items: list[_Ordered]) -> _Ordered | None:
        best = items[0] if items else None
        for item in items[1:]:
            if better(item, best):
                best = item
        return best

    return find


def _extreme_by(better: _Better) -> Callable[[list[object], _Reference], object]:
    """Return `max_by` or `min_by`; a list of one item is not evaluated."""

    def find(items: list[object], reference: _Reference) -> object:
        if len(items) < 2:
            return items[0] if items else None
        best, value = items[0], reference(items[0])
        kind = _key_kind(value)
        for item in items[1:]:
            current = reference(item)
            if current.__class__ is not kind:
                name = "number" if kind is float else "string"
                raise QueryError(f"invalid type, must be {name}")
            if better(current, value):
                best, value = item, current
        return best

    return find


def _key_kind(value: object) -> type:
    kind = value.__class__
    if kind is not float and kind is not str:
        raise QueryError("invalid type, must be number of string")
    return kind


def _sort_by(items: list[object], reference: _Reference) -> list[object]:
    if len(items) < 2:
        return items
    keys = [reference(item) for item in items]
    kind = _key_kind(keys[0])
    if any(key.__class__ is not kind for key in keys):
        raise QueryError("error in sort_by comparison")
    order = sorted(range(len(items)), key=keys.__getitem__)
    return [items[place] for place in order]


ORDERING: Final = (
    function(
        "max(array[number]|array[string]) number|string",
        "the largest item",
        _extreme(gt),
        ("max(`[1, 3, 2]`)", 3.0),
    ),
    function(
        "max_by(array, expref) any",
        "the item with the largest value of an expression",
        _extreme_by(gt),
        ("max_by(@, &a)", {"a": 2.0}, [{"a": 1.0}, {"a": 2.0}]),
    ),
    function(
        "min(array[number]|array[string]) number|string",
        "the smallest item",
        _extreme(lt),
        ("min(`[3, 1, 2]`)", 1.0),
    ),
    function(
        "min_by(array, expref) any",
        "the item with the smallest value of an expression",
        _extreme_by(lt),
        ("min_by(@, &a)", {"a": 1.0}, [{"a": 1.0}, {"a": 2.0}]),
    ),
    function(
        "sort(array[string]|array[number]) array",
        "the items in ascending order",
        sorted,
        ("sort(`[2, 1]`)", [1.0, 2.0]),
    ),
    function(
        "sort_by(array, expref) array",
        "the items in ascending order of an expression",
        _sort_by,
        ("sort_by(@, &a)[0].a", 1.0, [{"a": 2.0}, {"a": 1.0}]),
    ),
)
