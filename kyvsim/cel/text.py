"""Values as error messages show them, the way Go prints them.

Source of the rules: upstream cel-go common/types (format, ConvertToType).
"""

from types import MappingProxyType
from typing import Any

from kyvsim.cel.types import CelType
from kyvsim.cel.values import (
    Duration,
    JoinedList,
    MadeList,
    MadeMap,
    Optional,
    TextList,
    Timestamp,
    UInt,
    type_name,
)
from kyvsim.kubernetes.go_text import format_float
from kyvsim.kubernetes.go_time import Time
from kyvsim.kubernetes.quantities import format_duration


def show_double(number: float) -> str:
    """Return a double as Go's `%g` writes it."""
    return format_float(number, "g")


def show_timestamp(value: Timestamp) -> str:
    """Return a point in time as RFC 3339 with its fraction of a second."""
    time = str(Time(value.nanoseconds, value.offset))
    fraction = f"{value.nanoseconds % 1_000_000_000:09d}".rstrip("0")
    return f"{time[:19]}.{fraction}{time[19:]}" if fraction else time


def show_seconds(value: Duration) -> str:
    """Return a duration in seconds, as `1.5s`."""
    whole, rest = divmod(abs(value.nanoseconds), 1_000_000_000)
    seconds = whole + rest / 1e9
    return f"{format_float(-seconds if value.nanoseconds < 0 else seconds, 'f')}s"


_GO_TYPES: MappingProxyType[type, str] = MappingProxyType(
    {
        str: "types.String",
        float: "types.Double",
        int: "types.Int",
        UInt: "types.Uint",
        bool: "types.Bool",
        bytes: "types.Bytes",
        type(None): "types.Null",
        Duration: "types.Duration",
        Timestamp: "types.Timestamp",
        Optional: "*types.Optional",
        CelType: "*types.Type",
        list: "[]interface {}",
        dict: "map[string]interface {}",
        MadeList: "*types.baseList",
        JoinedList: "*types.concatList",
        TextList: "*types.baseList",
        MadeMap: "*types.baseMap",
    }
)


def go_type(value: Any) -> str:
    """Return the name that a value's type has in upstream's code, which some messages show."""
    found = _GO_TYPES.get(value.__class__) or getattr(value, "go_type", "")
    return found or f"cel.{type_name(value).rpartition('.')[2]}"


def show_value(value: Any) -> str:
    """Return a value as Go's `%v` prints it."""
    kind = value.__class__
    if kind is str:
        return str(value)
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is float:
        return show_double(value)
    if isinstance(value, list):
        return f"[{', '.join(map(show_value, value))}]"
    if isinstance(value, dict):
        parts = (f"{show_value(key)}: {show_value(one)}" for key, one in value.items())
        return f"{{{', '.join(parts)}}}"
    if kind is Duration:
        return format_duration(value.nanoseconds)
    if kind is Timestamp:
        return show_timestamp(value)
    if kind is bytes:
        return str(value.decode("utf-8", "replace"))
    return str(value)
