"""Blocks of conditions: `any`, `all`, and the older plain list."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple

from kyvsim.kubernetes.objects import Json
from kyvsim.migrate.conditions.operators import (
    READ_TEXTS,
    all_in,
    all_not_in,
    any_in,
    any_not_in,
    compared,
    equals,
    may_be_wild,
    not_equals,
    not_in,
    takes_wildcards,
)
from kyvsim.migrate.desk import Desk
from kyvsim.migrate.expressions import FALSE, TRUE, Test, chosen, every, some
from kyvsim.migrate.known_types import is_list, is_number, list_of
from kyvsim.migrate.queries.constants import constant
from kyvsim.migrate.queries.scope import Scope, no_twin
from kyvsim.migrate.queries.texts import text_value
from kyvsim.migrate.refusal import NotConvertible
from kyvsim.migrate.values import Value
from kyvsim.model.migration import Condition

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
        "NotIn": not_in,
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

_ORDERING: Final = frozenset(name for name in OPERATORS if "Than" in name)
_AMOUNTS: Final = Condition(
    "amounts read at run time",
    "both are numbers or quantities: durations and versions end in an error, which denies",
)
_MEMBERSHIP: Final = frozenset(name for name in OPERATORS if name.endswith("In"))
_OF_ALL: Final = frozenset({"In", "AllIn", "AllNotIn"})
"""Operators that hold of an empty list, but not of null."""


class Asked(NamedTuple):
    """What a block asks, or a part of it."""

    test: Test
    fails: bool
    """Whether it may end in an error, with which the block ends."""


class _Reading(NamedTuple):
    """How the conditions of a block are read."""

    scope: Scope
    lenient: bool
    """Whether conditions do not hold where something is missing, rather than end in an error."""
    denies: bool
    """Whether what holds and what ends in an error come to the same: a denial."""


def conditions_test(
    block: Json, scope: Scope, *, lenient: bool = False, denies: bool = False
) -> Test:
    """Return the test that a block's conditions hold.

    A missing key is an error; where that is `lenient`, the conditions do not hold then. `denies`
    says that an error counts as if they held. Raises NotConvertible with the path from the block.
    """
    return _asked(block, _Reading(scope, lenient, denies)).test


def conditions_asked(block: Json, scope: Scope) -> Asked:
    """Return the same as `conditions_test`, with whether it may end in an error."""
    return _asked(block, _Reading(scope, lenient=False, denies=False))


def _asked(block: Json, reading: _Reading) -> Asked:
    if isinstance(block, list):
        return _in_turn([_any_or_all(one, index, reading) for index, one in enumerate(block)])
    return _of_block(block or {}, reading)


def _any_or_all(one: Json, index: int, reading: _Reading) -> Asked:
    if "key" in one:
        return _condition(one, reading, index)
    try:
        return _of_block(one, reading)
    except NotConvertible as refusal:
        raise refusal.below(index) from None


def _of_block(block: Json, reading: _Reading) -> Asked:
    parts = []
    if block.get("any"):
        found = [_condition(c, reading, "any", n) for n, c in enumerate(block["any"])]
        parts.append(_first_of(found, reading))
    if block.get("all"):
        found = [_condition(c, reading, "all", n) for n, c in enumerate(block["all"])]
        parts.append(_in_turn(found))
    return _in_turn(parts)


def _in_turn(parts: Sequence[Asked]) -> Asked:
    """Return that all parts hold, asked one after the other.

    `&&` is false where any side is, even if another one ends in an error: behind one that may, the
    rest has to wait.
    """
    found = every(one.test for one in parts[-1:])
    side_by_side: list[Test] = []
    for one in reversed(parts[:-1]):
        if one.fails:
            found = chosen(one.test, every([*reversed(side_by_side), found]), FALSE)
            side_by_side = []
        else:  # joined together, not one by one: each time all would be looked at again
            side_by_side.append(one.test)
    found = every([*reversed(side_by_side), found])
    return Asked(found, any(one.fails for one in parts))


def _first_of(parts: Sequence[Asked], reading: _Reading) -> Asked:
    """Return that one of some parts holds; what denies holds with an error, too."""
    found = some(one.test for one in parts[-1:])
    side_by_side: list[Test] = []
    for one in reversed(parts[:-1]):
        if one.fails and not reading.denies:
            found = chosen(one.test, TRUE, some([*reversed(side_by_side), found]))
            side_by_side = []
        else:
            side_by_side.append(one.test)
    found = some([*reversed(side_by_side), found])
    return Asked(found, any(one.fails for one in parts))


def _condition(one: Json, reading: _Reading, *steps: str | int) -> Asked:
    scope = reading.scope
    try:
        key = value_of(one.get("key"), scope)
        value = value_of(one.get("value"), scope)
        name = one.get("operator") or ""
        operator = OPERATORS.get(name)
        if operator is None:
            what = f"the operator `{name}`" if name else "a condition without an operator"
            raise no_twin(what, "use one of the usual operators")
        if reading.lenient:
            needs = (*key.needed(), *value.needed())
            return Asked(every([*needs, operator(key.given(), value.given())]), fails=False)
        sides = [side for side in (key, value) if not _may_be_empty(side)]
        fails = any(side.needed() and not side.nullable for side in sides)
        nullable = [side.is_there() for side in sides if side.nullable]
        if not key.constant and not value.constant:
            _note_read(name, key, value, scope.desk)
        is_exact = takes_wildcards(value) and not key.noun
        if name in _MEMBERSHIP and not is_exact and (may_be_wild(key) or may_be_wild(value)):
            scope.desk.note(READ_TEXTS)
        held = operator(_insisted(key), _insisted(value))
        return Asked(every([*nullable, *_present(name, key, value), held]), fails)
    except NotConvertible as refusal:
        raise refusal.below(*steps) from None


def _note_read(operator: str, key: Value, value: Value, desk: Desk) -> None:
    """Write down what has to hold of two sides that are both read at run time."""
    if operator in _ORDERING and not (is_number(key.types) and is_number(value.types)):
        desk.note(_AMOUNTS)
    elif operator in _ORDERING or takes_wildcards(value):
        return
    elif value.is_looked_up and is_list(value.types):
        desk.note(READ_TEXTS)


def _may_be_empty(value: Value) -> bool:
    """Return whether a value is a list that is empty where what it is made of is missing."""
    return bool(value.soft) or (value.nullable and is_list(value.types))


def _insisted(value: Value) -> Value:
    """Return a value that ends in an error where it is missing, as it does in a rule."""
    return value if _may_be_empty(value) else value.given()


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
