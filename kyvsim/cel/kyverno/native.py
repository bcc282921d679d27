"""Values of expressions as the plain values that Kyverno's functions take.

Source of the messages: upstream cel-go common/types (ConvertToNative).
"""

from types import MappingProxyType
from typing import Any

from kyvsim.cel.errors import CelError
from kyvsim.cel.values import (
    Duration,
    JoinedList,
    MadeList,
    MadeMap,
    Timestamp,
    UInt,
    type_name,
)

_NAMES: MappingProxyType[type, str] = MappingProxyType(
    {
        bool: "bool",
        bytes: "Bytes",
        float: "Double",
        list: "list",
        dict: "map",
        MadeList: "list",
        JoinedList: "list",
        MadeMap: "map",
        type(None): "'null_type'",
        Timestamp: "'Timestamp'",
        Duration: "'Duration'",
    }
)


def native_text(value: Any) -> str:
    """Return a text; raises CelError for a value of another type."""
    if value.__class__ is str:
        return str(value)
    if value.__class__ in {int, UInt}:
        raise CelError(f"unsupported type conversion from '{type_name(value)}' to string")
    name = _NAMES.get(value.__class__, f"'{type_name(value)}'")
    raise CelError(f"type conversion error from {name} to 'string'")
