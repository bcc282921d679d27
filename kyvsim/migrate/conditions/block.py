"""Blocks of conditions: `any`, `all`, and the older plain list."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from kyvsim.kube.objects import Json
from kyvsim.migrate.conditions.equality import equals, not_equals
from kyvsim.migrate.conditions.membership import all_in, all_not_in, any_in, any_not_in
from kyvsim.migrate.conditions.ordering import compared
from kyvsim.migrate.expressions import TRUE, Test, every, some
from kyvsim.migrate.known_types import list_of
from kyvsim.migrate.queries.constants import constant
from kyvsim.migrate.queries.scope import Scope, no_twin
from kyvsim.migrate.queries.texts import text_value
from kyvsim.migrate.refusal import NotConvertible
from kyvsim.migrate.values import Value

_Operator = Callable[[Value, Value], Test]

OPERATORS: Final[Mapping[str, _Operator]] = MappingProxyType(
    {
        "Equal": equals,
        "Equals": equals,
        "NotEqual": not_equals,
        "NotEquals": not_equals,
        "In": all_in,
        "AnyIn": any_in,
        "AllIn": all_in,
        "NotIn": any_not_in,
        "AnyNotIn": any_not_in,
        "AllNotIn": all_not_in,
        "GreaterThan": partial(compared, ">"),
        "GreaterThanOrEquals": partial(compared, ">="),
        "LessThan": partial(compared, "<"),
        "LessThanOrEquals": partial(compared, "<="),
        "DurationGreaterThan": partial(compared, ">"),
        "DurationGreaterThanOrEquals": partial(compared, ">="),
        "DurationLessThan": partial(compared, "<"),
        "DurationLessThanOrEquals": partial(compared, "<="),
    }
)

_OF_ALL: Final = frozenset({"In", "AllIn", "AllNotIn"})
"""Operators that hold of an empty list, but not of null."""


def conditions_test(block: Json, scope: Scope, *, lenient: bool = False) -> Test:
    """Return the test that a block's conditions hold.

    A missing key is an error; where that is `lenient`, the conditions do not hold then. Raises
    NotConvertible with the path from the block.
    """
    if isinstance(block, list):
        return every(_any_or_all(one, index, scope, lenient) for index, one in enumerate(block))
    return _of_block(block or {}, scope, lenient)


def _any_or_all(one: Json, index: int, scope: Scope, lenient: bool) -> Test:
    if "key" in one:
        return _condition(one, scope, lenient, index)
    try:
        return _of_block(one, scope, lenient)
    except NotConvertible as refusal:
        raise refusal.below(index) from None


def _of_block(block: Json, scope: Scope, lenient: bool) -> Test:
    parts = []
    if block.get("any"):
        tests = (_condition(c, scope, lenient, "any", n) for n, c in enumerate(block["any"]))
        parts.append(some(tests))
    if block.get("all"):
        tests = (_condition(c, scope, lenient, "all", n) for n, c in enumerate(block["all"]))
        parts.append(every(tests))
    return every(parts) if parts else TRUE


def _condition(one: Json, scope: Scope, lenient: bool, *steps: str | int) -> Test:
    try:
        key = value_of(one.get("key"), scope)
        value = value_of(one.get("value"), scope)
        operator = OPERATORS.get(one["operator"])
        if operator is None:
            raise no_twin(f"the operator {one['operator']}", "use one of the usual operators")
        if lenient:
            needs = (*key.needed(), *value.needed())
            return every([*needs, operator(key.given(), value.given())])
        return every([*_present(one["operator"], key, value), operator(key, value)])
    except NotConvertible as refusal:
        raise refusal.below(*steps) from None


def _present(operator: str, key: Value, value: Value) -> tuple[Test, ...]:
    """Return what has to be there for an operator to hold: what is made of nothing is null."""
    found = value.needs if value.soft else ()
    return (*key.needs, *found) if key.soft and operator in _OF_ALL else found


def value_of(data: Json, scope: Scope) -> Value:
    """Return the key or value of a condition, with its variables."""
    if isinstance(data, str):
        return text_value(data, scope)
    if isinstance(data, list) and any(isinstance(one, str) and "{{" in one for one in data):
        parts = [value_of(one, scope) for one in data]
        first = parts[0]
        texts = ", ".join(one.text for one in parts)
        return Value(f"[{texts}]", list_of(first.types))
    if isinstance(data, dict) and "{{" in str(data):
        raise no_twin("a map with variables as a value")
    return constant(data)
