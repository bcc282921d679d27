"""Fixed values."""

from kyvsim.kubernetes.objects import Json
from kyvsim.migrate.expressions import literal
from kyvsim.migrate.known_types import BOOL, MAP, NUMBER, TEXT, UNKNOWN, Types, list_of
from kyvsim.migrate.values import Value


def constant(value: Json) -> Value:
    """Return plain data as a value."""
    return Value(literal(value), _types_of(value), constant=(value,))


def _types_of(value: Json) -> Types:
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int | float):
        return NUMBER
    if isinstance(value, str):
        return TEXT
    if isinstance(value, list):
        return list_of(TEXT if all(isinstance(one, str) for one in value) else UNKNOWN)
    return MAP if isinstance(value, dict) else UNKNOWN
