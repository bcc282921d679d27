"""The closures of nodes: those that fetch, project and collect, and those that decide.

Truth and type names are those of upstream's evaluator.
"""

from collections.abc import Callable, Mapping
from itertools import chain, repeat
from operator import ge, gt, le, lt
from types import MappingProxyType
from typing import Final, TypeAlias

from kyvsim.jmespath.functions import QueryError
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.quantities import deep_equal
from kyvsim.model.ports import FEW, Meter

# Truth and type names as upstream's evaluator has them.
#
# upstream: kyverno/go-jmespath `util.go` and `functions.go`.


class MissingValue:
    """The outcome of asking a map for a key it lacks; travels up until something swallows it."""

    __slots__ = ("key",)

    def __init__(self, key: str) -> None:
        self.key = key

    def __bool__(self) -> bool:
        return False


NUMERIC: Final = frozenset({int, float})
"""Classes whose zero is true: upstream's truth is `value or value.__class__ in NUMERIC`."""


def _is_list_of(kind: type) -> Callable[[Json], bool]:
    return lambda value: value.__class__ is list and all(item.__class__ is kind for item in value)


_TYPE_CHECKS: Final[Mapping[str, Callable[[Json], bool]]] = MappingProxyType(
    {
        "number": lambda value: value.__class__ is float,
        "string": lambda value: value.__class__ is str,
        "array": lambda value: value.__class__ is list,
        "object": lambda value: value.__class__ is dict,
        "array[number]": _is_list_of(float),
        "array[string]": _is_list_of(str),
        "expref": callable,
    }
)


def type_check(types: tuple[str, ...]) -> Callable[[Json], bool] | None:
    """Return the test of an argument against a record's types; None where all are welcome."""
    if "any" in types:
        return None
    checks = tuple(check for name, check in _TYPE_CHECKS.items() if name in types)
    if len(checks) == 1:
        return checks[0]
    return lambda value: any(check(value) for check in checks)


# The closures of nodes that fetch: fields and chains of them, projections, collections.
#
# Each comes in the general form and in the special forms that policies use most; a special form
# gives the same answers with fewer calls.


Run: TypeAlias = Callable[[Json], Json]
"""Takes the current value; returns a value or a `MissingValue`; raises `QueryError`."""


def identity(value: Json) -> Json:
    """Return the current value."""
    return value


def field(key: str) -> Run:
    """Return `key` of a map (Missing where it lacks it), None of anything else."""
    missing = MissingValue(key)

    def run(value: Json) -> Json:
        return value.get(key, missing) if value.__class__ is dict else None

    return run


def fields(keys: tuple[str, ...]) -> Run:
    """Return the closure of `a.b.c`: a try at the whole path, the rules only if it fails."""
    return _SHORT_PATHS.get(len(keys), _long_path)(keys)


def _walk(value: Json, keys: tuple[str, ...]) -> Json:
    """Follow the keys with all the rules."""
    for key in keys:
        if value.__class__ is not dict:
            return None
        if key not in value:
            return MissingValue(key)
        value = value[key]
    return value


def _long_path(keys: tuple[str, ...]) -> Run:
    def run(value: Json) -> Json:
        found = value
        try:
            for key in keys:
                found = found[key]
        except (KeyError, TypeError):
            return _walk(value, keys)
        return found

    return run


def _two_fields(keys: tuple[str, ...]) -> Run:
    first, second = keys

    def run(value: Json) -> Json:
        try:
            return value[first][second]
        except (KeyError, TypeError):
            return _walk(value, keys)

    return run


def _three_fields(keys: tuple[str, ...]) -> Run:
    first, second, third = keys

    def run(value: Json) -> Json:
        try:
            return value[first][second][third]
        except (KeyError, TypeError):
            return _walk(value, keys)

    return run


def _four_fields(keys: tuple[str, ...]) -> Run:
    first, second, third, fourth = keys

    def run(value: Json) -> Json:
        try:
            return value[first][second][third][fourth]
        except (KeyError, TypeError):
            return _walk(value, keys)

    return run


_SHORT_PATHS: Final[Mapping[int, Callable[[tuple[str, ...]], Run]]] = MappingProxyType(
    {1: lambda keys: field(keys[0]), 2: _two_fields, 3: _three_fields, 4: _four_fields}
)


def in_turn(parts: tuple[Run, ...]) -> Run:
    """Return the closure of `a.b[0]` in general: a missing field ends it."""

    def run(value: Json) -> Json:
        for part in parts:
            value = part(value)
            if value.__class__ is MissingValue:
                return value
        return value

    return run


def pipe(left: Run, right: Run) -> Run:
    """Return the closure of `a | b`; a missing field on either side is null."""

    def run(value: Json) -> Json:
        found = left(value)
        found = right(None if found.__class__ is MissingValue else found)
        return None if found.__class__ is MissingValue else found

    return run


def index(place: int) -> Run:
    """Return the closure of `[place]`; null outside of the list and for no list."""

    def run(value: Json) -> Json:
        if value.__class__ is not list:
            return None
        try:
            return value[place]
        except IndexError:
            return None

    return run


def cut(start: int | None, stop: int | None, step: int | None) -> Run:
    """Return the closure of `[start:stop:step]`."""
    part = slice(start, stop, step)

    def run(value: Json) -> Json:
        if value.__class__ is not list:
            return None
        if step == 0:
            raise QueryError("Invalid slice, step cannot be 0")
        return value[part]

    return run


def project(left: Run, right: Run, meter: Meter) -> Run:
    """Return the closure of `left[*]right`: null and missing results are dropped."""

    def run(value: Json) -> Json:
        items = left(value)
        if items.__class__ is not list:
            return None
        if len(items) > FEW:
            meter.spend(len(items))
        found = map(right, items)
        return [item for item in found if item is not None and item.__class__ is not MissingValue]

    return run


def project_identity(left: Run) -> Run:
    """Return the closure of `left[*]`."""

    def run(value: Json) -> Json:
        items = left(value)
        if items.__class__ is not list:
            return None
        return [item for item in items if item is not None]

    return run


def project_field(left: Run, key: str) -> Run:
    """Return the closure of `left[*].key`."""

    def run(value: Json) -> Json:
        items = left(value)
        if items.__class__ is not list:
            return None
        return [
            found
            for item in items
            if item.__class__ is dict and (found := item.get(key)) is not None
        ]

    return run


def flatten(left: Run, meter: Meter) -> Run:
    """Return the closure of `left[]` without what follows; a failing left side is null."""

    def run(value: Json) -> Json:
        try:
            items = left(value)
        except QueryError:
            return None
        if items.__class__ is not list:
            return None
        flat: list[Json] = []
        for item in items:
            if item.__class__ is list:
                flat += item
            else:
                flat.append(item)
        if len(flat) > FEW:
            meter.spend(len(flat))
        return flat

    return run


def select(left: Run, right: Run, condition: Run, meter: Meter) -> Run:
    """Return the closure of `left[?condition]right`; a failing left side is null."""

    def run(value: Json) -> Json:
        try:
            items = left(value)
        except QueryError:
            return None
        if items.__class__ is not list:
            return None
        if len(items) > FEW:
            meter.spend(len(items))
        kept = []
        for item in items:
            met = condition(item)
            if met or met.__class__ in NUMERIC:
                found = right(item)
                if found is not None and found.__class__ is not MissingValue:
                    kept.append(found)
        return kept

    return run


def project_values(left: Run, right: Run, meter: Meter) -> Run:
    """Return the closure of `left.*right`; a failing left side is null.

    upstream (a slip there) first runs `right` on as many nulls as the map has values.
    """

    def run(value: Json) -> Json:
        try:
            found = left(value)
        except QueryError:
            return None
        if found.__class__ is not dict:
            return None
        if len(found) > FEW:
            meter.spend(len(found))
        items = chain(repeat(None, len(found)), [found[key] for key in sorted(found)])
        return [
            item
            for item in map(right, items)
            if item is not None and item.__class__ is not MissingValue
        ]

    return run


def listed(parts: tuple[Run, ...]) -> Run:
    """Return the closure of `[a, b]`."""

    def run(value: Json) -> Json:
        if value is None:
            return None
        return [None if (x := part(value)).__class__ is MissingValue else x for part in parts]

    return run


def keyed(parts: tuple[tuple[str, Run], ...]) -> Run:
    """Return the closure of `{x: a}`."""

    def run(value: Json) -> Json:
        if value is None:
            return None
        return {
            key: None if (x := part(value)).__class__ is MissingValue else x for key, part in parts
        }

    return run


# The closures of nodes that decide: equality, order, or, and, not.
#
# The special forms of equality know what a literal on one side can equal.


def equals(left: Run, right: Run, meter: Meter) -> Run:
    """Return the closure of `left == right`; a missing field is null."""

    def run(value: Json) -> Json:
        one, other = left(value), right(value)
        if one.__class__ is other.__class__ and (one.__class__ is dict or one.__class__ is list):
            meter.weigh(other)
        return deep_equal(
            None if one.__class__ is MissingValue else one,
            None if other.__class__ is MissingValue else other,
        )

    return run


def equals_text(left: Run, text: str) -> Run:
    """Return the closure of `left == 'text'`: only a text can equal it."""
    return lambda value: left(value) == text


def equals_flag(left: Run, flag: object) -> Run:
    """Return the closure of ``left == `true` ``; there is one True and one False."""
    return lambda value: left(value) is flag


def equals_null(left: Run) -> Run:
    """Return the closure of ``left == `null` ``; a missing field is null."""

    def run(value: Json) -> Json:
        found = left(value)
        return found is None or found.__class__ is MissingValue

    return run


def equals_number(left: Run, number: float) -> Run:
    """Return the closure of ``left == `1` ``: only a float can equal it."""

    def run(value: Json) -> Json:
        found = left(value)
        return found.__class__ is float and found == number

    return run


_ORDERS: Final = MappingProxyType({"lt": lt, "lte": le, "gt": gt, "gte": ge})


def ordered(name: str, left: Run, right: Run) -> Run:
    """Return the closure of `left < right` and its like: null unless both are floats."""
    order = _ORDERS[name]

    def run(value: Json) -> Json:
        one, other = left(value), right(value)
        if one.__class__ is float and other.__class__ is float:
            return order(one, other)
        return None

    return run


def either(left: Run, right: Run) -> Run:
    """Return the closure of `left || right`."""

    def run(value: Json) -> Json:
        found = left(value)
        if found or found.__class__ in NUMERIC:
            return found
        found = right(value)
        return None if found.__class__ is MissingValue else found

    return run


def both(left: Run, right: Run) -> Run:
    """Return the closure of `left && right`; a missing field on the right travels on."""

    def run(value: Json) -> Json:
        found = left(value)
        if found or found.__class__ in NUMERIC:
            return right(value)
        return None if found.__class__ is MissingValue else found

    return run


def negate(inner: Run) -> Run:
    """Return the closure of `!inner`."""

    def run(value: Json) -> Json:
        found = inner(value)
        return not (found or found.__class__ in NUMERIC)

    return run
