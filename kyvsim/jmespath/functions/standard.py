"""The functions of the JMESPath standard as upstream has them.

upstream: kyverno/go-jmespath `functions.go`. `sum` is Kyverno's own and stands with the arithmetic.
"""

import math
from collections.abc import Callable
from typing import Final

from kyvsim.jmespath.errors import QueryError
from kyvsim.jmespath.functions.record import (
    ANY,
    ARRAY,
    BOOLEAN,
    EXPREF,
    NUMBER,
    NUMBERS,
    OBJECT,
    STRING,
    STRINGS,
    Function,
    FunctionExample,
)
from kyvsim.kubernetes.go_text import to_json
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.quantities import parse_float
from kyvsim.model.ports import SHORT, System


def _abs(number: float) -> float:
    return abs(number)


def _avg(numbers: list[float]) -> float:
    """Divide by the count; nothing at all is NaN as in Go."""
    return sum(numbers, 0.0) / len(numbers) if numbers else math.nan


def _ceil(number: float) -> float:
    return float(math.ceil(number)) if math.isfinite(number) else number


def _floor(number: float) -> float:
    return float(math.floor(number)) if math.isfinite(number) else number


def _contains(search: Json, wanted: Json) -> bool:
    if search.__class__ is str:
        return wanted.__class__ is str and wanted in search
    kind = wanted.__class__
    if kind in {dict, list}:  # upstream crashes where it compares two maps or two lists
        if any(item.__class__ is kind for item in search):
            name = "map[string]interface {}" if kind is dict else "[]interface {}"
            raise QueryError(f"runtime error: comparing uncomparable type {name}")
        return False
    return any(item.__class__ is kind and item == wanted for item in search)


def _ends_with(text: str, ending: str) -> bool:
    return text.endswith(ending)


def _starts_with(text: str, start: str) -> bool:
    return text.startswith(start)


def _join(system: System, separator: str, texts: list[str]) -> str:
    length = sum(map(len, texts)) + len(separator) * len(texts)
    if length > SHORT:
        system.meter.spend_text(length)
    return separator.join(texts)


def _keys(mapping: dict[str, Json]) -> list[str]:
    """Return the keys in order; upstream's order is random."""
    return sorted(mapping)


def _values(mapping: dict[str, Json]) -> list[Json]:
    return [mapping[key] for key in sorted(mapping)]


def _length(value: Json) -> float:
    return float(len(value))


def _map(reference: Callable[[Json], Json], items: list[Json]) -> list[Json]:
    return [reference(item) for item in items]


def _merge(*mappings: Json) -> dict[str, Json]:
    """Join maps; where upstream crashes on something else this is an error."""
    merged: dict[str, Json] = {}
    for mapping in mappings:
        if mapping.__class__ is not dict:
            raise QueryError("JMESPath function 'merge': an argument is not of type object")
        merged.update(mapping)
    return merged


def _not_null(*values: Json) -> Json:
    return next((value for value in values if value is not None), None)


def _reverse(value: Json) -> Json:
    return value[::-1]


def _to_array(value: Json) -> list[Json]:
    return value if value.__class__ is list else [value]


def _to_number(value: Json) -> float | None:
    if value.__class__ is float:
        return float(value)
    if value.__class__ is int:
        raise QueryError("unknown type")
    return parse_float(value) if value.__class__ is str else None


def _to_string(system: System, value: Json) -> str:
    if value.__class__ is str:
        return str(value)
    if value.__class__ is dict or value.__class__ is list:
        system.meter.weigh(value)
    try:
        return to_json(value)
    except ValueError as error:
        raise QueryError(str(error)) from None


def _type(value: Json) -> str:
    if value is None:
        return "null"
    for kind, name in (
        (float, "number"),
        (str, "string"),
        (list, "array"),
        (dict, "object"),
        (bool, "boolean"),
    ):
        if value.__class__ is kind:
            return name
    raise QueryError("unknown type")


STANDARD: Final = (
    Function(
        "abs",
        (NUMBER,),
        NUMBER,
        "the number without its sign",
        _abs,
        examples=(FunctionExample("abs(`-2`)", 2.0),),
    ),
    Function(
        "avg",
        (NUMBERS,),
        NUMBER,
        "the mean of the numbers",
        _avg,
        examples=(FunctionExample("avg(`[1, 2]`)", 1.5),),
    ),
    Function(
        "ceil",
        (NUMBER,),
        NUMBER,
        "the next whole number upwards",
        _ceil,
        examples=(FunctionExample("ceil(`1.2`)", 2.0),),
    ),
    Function(
        "contains",
        (ARRAY + STRING, ANY),
        BOOLEAN,
        "tells if the item or text is in there",
        _contains,
        examples=(FunctionExample("contains('kyverno', 'ver')", True),),
    ),
    Function(
        "ends_with",
        (STRING, STRING),
        BOOLEAN,
        "tells if the text ends so",
        _ends_with,
        examples=(FunctionExample("ends_with('a.tar', '.tar')", True),),
    ),
    Function(
        "floor",
        (NUMBER,),
        NUMBER,
        "the next whole number downwards",
        _floor,
        examples=(FunctionExample("floor(`1.8`)", 1.0),),
    ),
    Function(
        "join",
        (STRING, STRINGS),
        STRING,
        "the texts with the separator between them",
        _join,
        needs_system=True,
        examples=(FunctionExample("join('-', ['a', 'b'])", "a-b", {}),),
    ),
    Function(
        "keys",
        (OBJECT,),
        ARRAY,
        "the keys, in order",
        _keys,
        examples=(FunctionExample("keys(@)", ["a", "b"], {"b": 1.0, "a": 2.0}),),
    ),
    Function(
        "length",
        (STRING + ARRAY + OBJECT,),
        NUMBER,
        "how many characters, items or keys",
        _length,
        examples=(FunctionExample("length('abc')", 3.0),),
    ),
    Function(
        "map",
        (EXPREF, ARRAY),
        ARRAY,
        "the expression's value for every item",
        _map,
        examples=(FunctionExample("map(&a, @)", [1.0, None], [{"a": 1.0}, {}]),),
    ),
    Function(
        "merge",
        (OBJECT,),
        OBJECT,
        "one map of all; later ones win",
        _merge,
        variadic=True,
        examples=(FunctionExample("merge(`{}`, @)", {"a": 1.0}, {"a": 1.0}),),
    ),
    Function(
        "not_null",
        (ANY,),
        ANY,
        "the first value that is not null",
        _not_null,
        variadic=True,
        examples=(FunctionExample("not_null(missing, 'z')", "z", {}),),
    ),
    Function(
        "reverse",
        (ARRAY + STRING,),
        ARRAY + STRING,
        "the items or characters turned round",
        _reverse,
        examples=(FunctionExample("reverse('abc')", "cba"),),
    ),
    Function(
        "starts_with",
        (STRING, STRING),
        BOOLEAN,
        "tells if the text starts so",
        _starts_with,
        examples=(FunctionExample("starts_with('kyverno', 'ky')", True),),
    ),
    Function(
        "to_array",
        (ANY,),
        ARRAY,
        "the value in a list, unless it is one",
        _to_array,
        examples=(FunctionExample("to_array('a')", ["a"]),),
    ),
    Function(
        "to_number",
        (ANY,),
        NUMBER,
        "the number that the text shows, or null",
        _to_number,
        examples=(FunctionExample("to_number('1.5')", 1.5),),
    ),
    Function(
        "to_string",
        (ANY,),
        STRING,
        "the text itself, or the JSON text of the value",
        _to_string,
        needs_system=True,
        examples=(FunctionExample("to_string(`[1]`)", "[1]"),),
    ),
    Function(
        "type",
        (ANY,),
        STRING,
        "the name of the value's type",
        _type,
        examples=(FunctionExample("type('a')", "string"),),
    ),
    Function(
        "values",
        (OBJECT,),
        ARRAY,
        "the values in the order of their keys",
        _values,
        examples=(FunctionExample("values(@)", [2.0, 1.0], {"b": 1.0, "a": 2.0}),),
    ),
)
"""The functions, by name."""
