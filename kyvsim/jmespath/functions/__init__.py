"""The JMESPath functions: standard functions here, one module for each family of Kyverno's.

Most policies call only standard functions. The modules of the others take as long to load as the
rest of this package, so the first call of one imports them.

A family is a tuple of records. The code of a record is called with the evaluated arguments, after
their types were checked against the record as in upstream (kyverno/go-jmespath
`functions.go`):

* A number is a Python `float`: an `int` (Go's int64) is not a number to the type check.
* A missing field is None, which is valid only for `any`.
* An `expref` argument (`&key`) is a function of an item; a missing field returns None.
* For a variadic record the minimum number of arguments is checked, but not their types.
* A record without arguments accepts and ignores any arguments.
* With `needs_system` the `System` is the first argument of the code.

The code raises `QueryError` with upstream's text for errors; a Python `ArithmeticError`,
`LookupError`, `TypeError` or `ValueError` is a bug. A whole number that upstream returns as a Go
int is an `int`, a float64 is a `float`.
"""

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import import_module
from types import MappingProxyType
from typing import Final, NamedTuple

from kyvsim.kubernetes.go_text import to_json
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.quantities import parse_float
from kyvsim.model.ports import SHORT, System


class QueryError(Exception):
    """An expression that could not be evaluated; `message` is upstream's text."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class FunctionExample(NamedTuple):
    """An expression, its data, and the result; shown in the docs and tested."""

    expression: str
    output: object
    data: object = None


class Function(NamedTuple):
    """A JMESPath function; each argument has one type or several."""

    name: str
    arguments: tuple[tuple[str, ...], ...]
    returns: tuple[str, ...]
    note: str
    code: Callable[..., object]
    variadic: bool = False
    """The last argument may be repeated."""
    needs_system: bool = False
    """The code needs the clock or random numbers: its first argument is the `System`."""
    examples: tuple[FunctionExample, ...] = ()

    def refusal(self, count: int) -> str:
        """Return why a call with this number of arguments always fails, or "".

        upstream: kyverno/go-jmespath `functions.go`, resolveArgs
        """
        least = len(self.arguments)
        if not least or count == least or (self.variadic and count > least):
            return ""
        expected = f"{least} {'argument' if least == 1 else 'arguments'}"
        return f"function `{self.name}` takes {'at least ' * self.variadic}{expected}, not {count}"

    @property
    def signature(self) -> str:
        """The arguments and the result, as printed by `kyvsim jp function`."""
        shown = ["|".join(types) for types in self.arguments]
        types = f"({', '.join(shown)}) {','.join(self.returns)}"
        return self.name + types.replace("boolean", "bool")


def function(
    signature: str,
    note: str,
    code: Callable[..., object],
    *examples: tuple[Json, ...],
    variadic: bool = False,
    needs_system: bool = False,
) -> Function:
    """Return the record of a function with a signature such as `items(object|array, string) array`.

    An example is an expression, its result, and its data, if any.
    """
    name, _, rest = signature.partition("(")
    arguments, _, returns = rest.partition(") ")
    return Function(
        name=name,
        arguments=tuple(tuple(one.split("|")) for one in arguments.split(", ") if one),
        returns=tuple(returns.split("|")),
        note=note,
        code=code,
        variadic=variadic,
        needs_system=needs_system,
        examples=tuple(FunctionExample(*one) for one in examples),
    )


# The standard functions as in upstream.
#
# upstream: kyverno/go-jmespath `functions.go`. `sum` is Kyverno's own: see arithmetic.py.


def _contains(search: str | list[object], item: object) -> bool:
    if isinstance(search, str):
        return item.__class__ is str and item in search
    kind = item.__class__
    if kind in {dict, list}:  # upstream panics when it compares two maps or two lists
        if any(one.__class__ is kind for one in search):
            name = "map[string]interface {}" if kind is dict else "[]interface {}"
            raise QueryError(f"runtime error: comparing uncomparable type {name}")
        return False
    return any(one.__class__ is kind and one == item for one in search)


def _join(system: System, separator: str, texts: list[str]) -> str:
    length = sum(map(len, texts)) + len(separator) * len(texts)
    if length > SHORT:
        system.meter.spend_text(length)
    return separator.join(texts)


def _merge(*mappings: object) -> dict[str, object]:
    """Merge maps; other values, on which upstream panics, are an error."""
    merged: dict[str, object] = {}
    for mapping in mappings:
        if mapping.__class__ is not dict:
            raise QueryError("JMESPath function 'merge': an argument is not of type object")
        merged.update(mapping)
    return merged


def _to_number(value: object) -> float | None:
    if value.__class__ is float:
        return value
    if value.__class__ is int:
        raise QueryError("unknown type")
    return parse_float(value) if value.__class__ is str else None


def _to_string(system: System, value: object) -> str:
    if value.__class__ is str:
        return value
    if value.__class__ is dict or value.__class__ is list:
        system.meter.weigh(value)
    try:
        return to_json(value)
    except ValueError as error:
        raise QueryError(str(error)) from None


_TYPE_NAMES: Final = MappingProxyType(
    {float: "number", str: "string", list: "array", dict: "object", bool: "boolean"}
    | {type(None): "null"}
)


def _type(value: object) -> str:
    name = _TYPE_NAMES.get(value.__class__)
    if name is None:
        raise QueryError("unknown type")
    return name


STANDARD: Final = (
    function("abs(number) number", "the absolute value of a number", abs, ("abs(`-2`)", 2.0)),
    function(
        "avg(array[number]) number",
        "the mean of the numbers",
        lambda numbers: sum(numbers, 0.0) / len(numbers) if numbers else math.nan,  # as in Go
        ("avg(`[1, 2]`)", 1.5),
    ),
    function(
        "ceil(number) number",
        "the number rounded up to a whole number",
        lambda number: float(math.ceil(number)) if math.isfinite(number) else number,
        ("ceil(`1.2`)", 2.0),
    ),
    function(
        "contains(array|string, any) boolean",
        "whether a list contains an item, or a string contains a substring",
        _contains,
        ("contains('kyverno', 'ver')", True),
    ),
    function(
        "ends_with(string, string) boolean",
        "whether a string ends with a suffix",
        str.endswith,
        ("ends_with('a.tar', '.tar')", True),
    ),
    function(
        "floor(number) number",
        "the number rounded down to a whole number",
        lambda number: float(math.floor(number)) if math.isfinite(number) else number,
        ("floor(`1.8`)", 1.0),
    ),
    function(
        "join(string, array[string]) string",
        "the strings joined with a separator",
        _join,
        ("join('-', ['a', 'b'])", "a-b", {}),
        needs_system=True,
    ),
    function(
        "keys(object) array",
        "the keys of a map, sorted",
        sorted,
        ("keys(@)", ["a", "b"], {"b": 1.0, "a": 2.0}),
    ),
    function(
        "length(string|array|object) number",
        "the number of characters, items or keys",
        lambda value: float(len(value)),
        ("length('abc')", 3.0),
    ),
    function(
        "map(expref, array) array",
        "the value of an expression for every item",
        lambda reference, items: [*map(reference, items)],
        ("map(&a, @)", [1.0, None], [{"a": 1.0}, {}]),
    ),
    function(
        "merge(object) object",
        "the maps merged into one; later ones take precedence",
        _merge,
        ("merge(`{}`, @)", {"a": 1.0}, {"a": 1.0}),
        variadic=True,
    ),
    function(
        "not_null(any) any",
        "the first value that is not null",
        lambda *values: next((one for one in values if one is not None), None),
        ("not_null(missing, 'z')", "z", {}),
        variadic=True,
    ),
    function(
        "reverse(array|string) array|string",
        "the items or characters in reverse order",
        lambda value: value[::-1],
        ("reverse('abc')", "cba"),
    ),
    function(
        "starts_with(string, string) boolean",
        "whether a string starts with a prefix",
        str.startswith,
        ("starts_with('kyverno', 'ky')", True),
    ),
    function(
        "to_array(any) array",
        "the value itself if it is a list, otherwise a list with the value",
        lambda value: value if value.__class__ is list else [value],
        ("to_array('a')", ["a"]),
    ),
    function(
        "to_number(any) number",
        "the number that a string contains, or null",
        _to_number,
        ("to_number('1.5')", 1.5),
    ),
    function(
        "to_string(any) string",
        "the string itself, or the value as a JSON string",
        _to_string,
        ("to_string(`[1]`)", "[1]"),
        needs_system=True,
    ),
    function("type(any) string", "the name of the type of a value", _type, ("type('a')", "string")),
    function(
        "values(object) array",
        "the values of a map, sorted by key",
        lambda mapping: [mapping[key] for key in sorted(mapping)],
        ("values(@)", [2.0, 1.0], {"b": 1.0, "a": 2.0}),
    ),
)

FAMILIES: Final[Mapping[str, str]] = {
    "Standard JMESPath functions": "functions.STANDARD",
    "Strings": "functions.strings.FUNCTIONS",
    "Regular expressions": "functions.strings.REGEXES",
    "Arithmetic": "functions.arithmetic.FUNCTIONS",
    "Lists and maps": "functions.containers.CONTAINERS",
    "Encoding and decoding": "functions.strings.ENCODING",
    "Hashes": "functions.strings.HASHES",
    "Sorting": "functions.containers.ORDERING",
    "Time": "functions.timestamps.FUNCTIONS",
    "Images, versions and URLs": "functions.references.FUNCTIONS",
    "Random strings": "functions.strings.RANDOMNESS",
    "Certificates": "functions.strings.CERTIFICATES",
}
"""Every family by its title, with the module and the name of its tuple; names are unique."""
_STANDARD: Final[Mapping[str, Function]] = MappingProxyType({one.name: one for one in STANDARD})


def family(title: str) -> tuple[Function, ...]:
    """Return the functions of a family, importing its module."""
    module, _, name = FAMILIES[title].rpartition(".")
    found: tuple[Function, ...] = getattr(import_module(f"kyvsim.jmespath.{module}"), name)
    return found


@lru_cache(maxsize=1)
def functions() -> Mapping[str, Function]:
    """Return every function by its name."""
    return MappingProxyType({one.name: one for title in FAMILIES for one in family(title)})


def function_named(name: str) -> Function | None:
    """Return the function of a name, or None."""
    return _STANDARD.get(name) or functions().get(name)
