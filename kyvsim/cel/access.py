"""Fields of objects, elements of lists, and both where they may be missing.

Source of the rules: upstream cel-go interpreter/attributes.go.
"""

from typing import Any

from kyvsim.cel.equality import find_key
from kyvsim.cel.errors import CelError
from kyvsim.cel.text import go_type, show_value
from kyvsim.cel.values import NONE, Message, Optional, UInt, type_name

_QUALIFIERS = frozenset({str, int, UInt, float, bool})
_HELD = object()
"""Stands for an optional value that a map or a list holds, in which nothing is looked for."""


def select(value: Any, field: str) -> Any:
    """Return a field; of an optional value, an optional one."""
    if isinstance(value, dict):
        if field in value:
            return value[field]
        if value.__class__ is Message:
            raise CelError(f"no such field '{field}'")
        raise CelError(f"no such key: {field}")
    if value.__class__ is Optional:
        return select_if_present(value, field)
    refuse_list(value)
    raise CelError(f"no such key: {field}")


def select_if_present(value: Any, field: str) -> Optional:
    """Return a field as an optional value."""
    if value.__class__ is Optional:
        if not value.present:
            return NONE
        value = value.value
    if value.__class__ is Message and value.is_native:  # as upstream, which finds no field so
        raise CelError(f"no such field: {field}")
    if value.__class__ is Message and field not in value.present:
        return NONE
    if isinstance(value, dict) and field in value:
        return Optional(present=True, value=value[field])
    refuse_list(value)
    return NONE


def without_fields(value: Any) -> Any:
    """Return something without fields and elements in place of an optional value."""
    return _HELD if value.__class__ is Optional else value


def refuse_list(value: Any) -> None:
    """Raise CelError where a field is asked of a list, which even a question may not do."""
    if isinstance(value, list):
        raise CelError("unsupported index type 'string' in list")


def has_field(value: Any, field: str) -> bool:
    """Return whether there is a field; whatever has no fields lacks it."""
    if value.__class__ is Optional:
        value = value.value
    refuse_list(value)
    if value.__class__ is Message:
        return field in value.present
    return isinstance(value, dict) and field in value


def index(value: Any, key: Any) -> Any:
    """Return an element by its place or key; of an optional value, an optional one."""
    check_qualifier(key)
    if isinstance(value, list):
        place = list_index(key)
        if 0 <= place < len(value):
            return value[place]
        raise CelError(f"index out of bounds: {show_value(key)}")
    if isinstance(value, dict):
        found = find_key(value, key)
        if found is None:
            raise CelError(f"no such key: {show_value(key)}")
        return found[0]
    if value.__class__ is Optional:
        return index_if_present(value, key)
    raise CelError(f"no such key: {show_value(key)}")


def index_if_present(value: Any, key: Any) -> Optional:
    """Return an element as an optional value."""
    check_qualifier(key)
    if value.__class__ is Optional:
        if not value.present:
            return NONE
        value = value.value
    if isinstance(value, list):
        place = list_index(key)
        if 0 <= place < len(value):
            return Optional(present=True, value=value[place])
        return NONE
    if isinstance(value, dict):
        found = find_key(value, key)
        return NONE if found is None else Optional(present=True, value=found[0])
    return NONE


def check_qualifier(key: Any, *, constant: bool = False) -> None:
    """Raise CelError for what nothing can be asked for, whatever it is asked of."""
    if key.__class__ not in _QUALIFIERS:
        name = "<nil>" if key is None and not constant else go_type(key)
        raise CelError(f"invalid qualifier type: {name}")


def list_index(key: Any) -> int:
    """Return a place in a list; raises CelError for what is no whole number."""
    if key.__class__ in {int, UInt}:
        return int(key)
    if key.__class__ is float:
        if key.is_integer() and abs(key) < 1 << 63:
            return int(key)
        raise CelError(f"unsupported index value {show_value(key)} in list")
    raise CelError(f"unsupported index type '{type_name(key)}' in list")
