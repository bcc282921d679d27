"""When a value counts as true, and tests as values."""

from kyvsim.kube.objects import Json
from kyvsim.migrate.expressions import (
    FALSE,
    TRUE,
    Plain,
    Relation,
    Test,
    every,
    level_of,
    one_line,
    opposite,
)
from kyvsim.migrate.known_types import BOOL, is_bool, is_list, is_map, is_number, is_text
from kyvsim.migrate.values import Value


def as_value(test: Test) -> Value:
    """Return a test as a value that is true or false."""
    return Value(one_line(test), BOOL, level_of(test), test=test)


def truth_of(value: Value) -> Test:
    """Return the test that a value counts as true: it is there and not empty."""
    if value.test is not None:
        return value.test
    if value.constant:
        return TRUE if value.constant[0] or _is_zero(value.constant[0]) else FALSE
    if is_bool(value.types):
        return Plain(value.or_else(False), value.level)
    if is_text(value.types):
        return Relation(value.or_else(""), "!=", "''")
    if is_list(value.types) or is_map(value.types):
        return Relation(f"size({value.or_else(value.empty)})", ">", "0")
    if is_number(value.types):
        return value.is_there()
    empty = "[null, false, '', [], {}]"
    given = Relation(value.text, "in", empty)
    return every([value.is_there(), opposite(given)])


def _is_zero(value: Json) -> bool:
    return value.__class__ in {int, float}
