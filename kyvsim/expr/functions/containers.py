"""Functions on lists and maps.

upstream: pkg/engine/jmespath/functions.go.
"""

from kyvsim.expr.errors import QueryError
from kyvsim.expr.functions.record import (
    ANY,
    ARRAY,
    BOOLEAN,
    NUMBER,
    OBJECT,
    STRING,
    Example,
    Function,
)
from kyvsim.kube.go_text import format_float
from kyvsim.kube.numbers import deep_equal
from kyvsim.kube.objects import Json

_INT_RANGE = float(1 << 63)


def lookup(container: Json, key: str | float) -> Json:
    """Return the value at a key or index, None where there is none."""
    if container.__class__ is dict:
        if key.__class__ is not str:
            raise QueryError("JMESPath function 'lookup': argument #2 is not of type String")
        return container.get(key)
    if not isinstance(key, float):
        raise QueryError("JMESPath function 'lookup': argument #2 is not of type Number")
    shown = format_float(key, "g")
    if not key.is_integer():
        raise _bad_index(f"expected an integer number but got: {shown}")
    if abs(key) >= _INT_RANGE:
        raise _bad_index(f"number is outside the range of integer numbers: {shown}")
    return container[int(key)] if 0 <= key < len(container) else None


def _bad_index(problem: str) -> QueryError:
    return QueryError(f"JMESPath function 'lookup': argument #2: {problem}")


def items(container: Json, key_name: str, value_name: str) -> list[dict[str, Json]]:
    """Return one object for each element; maps in the order of their keys."""
    if container.__class__ is dict:
        return [{key_name: key, value_name: container[key]} for key in sorted(container)]
    return [{key_name: float(at), value_name: value} for at, value in enumerate(container)]


def object_from_lists(keys: list[Json], values: list[Json]) -> dict[str, Json]:
    """Return a map of keys to values; values that lack are None, those over are dropped."""
    padding = [None] * (len(keys) - len(values))
    return dict(zip(map(_key, keys), [*values, *padding], strict=False))


def _key(value: Json) -> str:
    if value.__class__ is str:
        return str(value)
    if value.__class__ is float:
        return format_float(value, "f", bits=32)
    if value.__class__ is bool:
        return "true" if value else "false"
    problem = "argument #1 is not of type StringArray"
    raise QueryError(f"JMESPath function 'object_from_lists': {problem}")


def label_match(wanted: dict[str, Json], labels: dict[str, Json]) -> bool:
    """Tell whether `labels` has everything that `wanted` has."""
    return all(key in labels and deep_equal(labels[key], value) for key, value in wanted.items())


FUNCTIONS = (
    Function(
        "lookup",
        (OBJECT + ARRAY, STRING + NUMBER),
        ANY,
        "the value at a key of a map or an index of a list; null where there is none",
        lookup,
        examples=(
            Example("lookup(@, 'a')", 1, {"a": 1}),
            Example("lookup(@, `1`)", "y", ["x", "y"]),
        ),
    ),
    Function(
        "items",
        (OBJECT + ARRAY, STRING, STRING),
        ARRAY,
        "one object for each entry of a map or list, its key and value under the names given",
        items,
        examples=(Example("items(@, 'k', 'v')", [{"k": "a", "v": 1}], {"a": 1}),),
    ),
    Function(
        "object_from_lists",
        (ARRAY, ARRAY),
        OBJECT,
        "a map made of a list of keys and a list of values",
        object_from_lists,
        examples=(
            Example(
                "object_from_lists(k, v)", {"a": "x", "b": None}, {"k": ["a", "b"], "v": ["x"]}
            ),
        ),
    ),
    Function(
        "label_match",
        (OBJECT, OBJECT),
        BOOLEAN,
        "whether the second map has every entry of the first",
        label_match,
        examples=(
            Example("label_match(a, b)", True, {"a": {"x": "1"}, "b": {"x": "1", "y": "2"}}),
        ),
    ),
)
