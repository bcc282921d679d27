"""Values without a Python type, the type of a value, and values as Go prints them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from kyvsim.cel import types
from kyvsim.cel.types import CelType
from kyvsim.kubernetes.go_text import format_float
from kyvsim.kubernetes.go_time import Time
from kyvsim.kubernetes.quantities import format_duration

# Values of expressions without a Python type, and the types of all values.
#
# `int` is CEL's int, `float` its double; `str`, `bytes`, `bool`, `None`, `list` and `dict` are
# the obvious types. Libraries add classes with a `cel_type`, and with `only_own_kind` if `==`
# fails for values of other types.


class UInt(int):
    """An unsigned number; results of arithmetic are `int` until they are converted."""

    __slots__ = ()


class Duration(NamedTuple):
    """A duration."""

    nanoseconds: int


class Timestamp(NamedTuple):
    """A timestamp: nanoseconds since 1970, and the zone's offset in seconds."""

    nanoseconds: int
    offset: int = 0


class Optional(NamedTuple):
    """A value that may be missing."""

    present: bool
    value: object = None


NONE: Final = Optional(present=False)


class MadeList(list[object]):
    """A list created by an expression; given lists are plain.

    Kyverno's functions distinguish them. As a key of a map it is equal only to itself, as in Go.
    """

    __slots__ = ()

    __hash__ = object.__hash__  # type: ignore[assignment]  # a list has none


class JoinedList(list[object]):
    """A list that `+` created; as a key it is like a MadeList."""

    __slots__ = ()

    __hash__ = object.__hash__  # type: ignore[assignment]  # a list has none


class TextList(list[str]):
    """A list of strings created by a function: in objects it has another Go type."""

    __slots__ = ()


class MadeMap(dict[object, object]):
    """A map created by an expression; given maps are plain."""

    __slots__ = ()

    __hash__ = object.__hash__  # type: ignore[assignment]  # a dict has none


class Message(dict[str, Any]):
    """A value with declared fields: every field exists, unset ones with their default."""

    __slots__ = ("cel_type", "hidden", "is_literal", "is_native", "present")

    def __init__(self, kind: CelType, fields: Mapping[str, Any], present: frozenset[str]) -> None:
        super().__init__(fields)
        self.cel_type = kind
        self.present = present
        """The fields that are set."""
        self.is_native = False
        """Whether it is a Go struct, whose fields do not support optional selection."""
        self.is_literal = False
        """Whether an expression constructed it, rather than a function."""
        self.hidden: Mapping[str, object] = MappingProxyType({})
        """Fields for functions that expressions cannot access."""


def plain(value: object) -> object:
    """Return a value with plain lists and maps instead of created ones."""
    if isinstance(value, MadeMap):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (MadeList, JoinedList)):
        return [plain(one) for one in value]
    return value


_LIST, _MAP = CelType("list", "list"), CelType("map", "map")
_TYPES: Mapping[type, tuple[CelType, str]] = {
    str: (types.STRING, "types.String"),
    bool: (types.BOOL, "types.Bool"),
    int: (types.INT, "types.Int"),
    float: (types.DOUBLE, "types.Double"),
    UInt: (types.UINT, "types.Uint"),
    bytes: (types.BYTES, "types.Bytes"),
    type(None): (types.NULL, "types.Null"),
    Duration: (types.DURATION, "types.Duration"),
    Timestamp: (types.TIMESTAMP, "types.Timestamp"),
    list: (_LIST, "[]interface {}"),
    dict: (_MAP, "map[string]interface {}"),
    MadeList: (_LIST, "*types.baseList"),
    JoinedList: (_LIST, "*types.concatList"),
    TextList: (_LIST, "*types.baseList"),
    MadeMap: (_MAP, "*types.baseMap"),
    Optional: (types.opaque("optional_type"), "*types.Optional"),
    CelType: (types.TYPE, "*types.Type"),
}
"""The types of values of a class: in expressions, and in upstream's code."""


def runtime_type(value: object) -> CelType:
    """Return the type of a value, without parameters."""
    found = _TYPES.get(value.__class__)
    if found is not None:
        return found[0]
    declared = getattr(value, "cel_type", None)
    return declared if isinstance(declared, CelType) else _MAP


def type_name(value: object) -> str:
    """Return the name of a value's type as in messages."""
    return runtime_type(value).name


def class_of(kind: CelType) -> type | None:
    """Return the Python class of the values of a type, or None if there is not exactly one."""
    # The parameters of a type make no difference.
    return next((cls for cls, (known, _) in _TYPES.items() if known[:2] == kind[:2]), None)


# Values in error messages, as Go prints them.
#
# Source of the rules: upstream cel-go common/types (format, ConvertToType).


def show_double(number: float) -> str:
    """Return a double as Go's `%g` prints it."""
    return format_float(number, "g")


def show_timestamp(value: Timestamp) -> str:
    """Return a timestamp as RFC 3339 with fractional seconds."""
    time = str(Time(value.nanoseconds, value.offset))
    fraction = f"{value.nanoseconds % 1_000_000_000:09d}".rstrip("0")
    return f"{time[:19]}.{fraction}{time[19:]}" if fraction else time


def show_seconds(value: Duration) -> str:
    """Return a duration in seconds, as `1.5s`."""
    whole, rest = divmod(abs(value.nanoseconds), 1_000_000_000)
    seconds = whole + rest / 1e9
    return f"{format_float(-seconds if value.nanoseconds < 0 else seconds, 'f')}s"


def go_type(value: object) -> str:
    """Return the name of a value's type in upstream's code, which some messages show."""
    found = _TYPES.get(value.__class__)
    name: str = found[1] if found is not None else getattr(value, "go_type", "")
    return name or f"cel.{type_name(value).rpartition('.')[2]}"


def show_value(value: object) -> str:
    """Return a value as Go's `%v` prints it."""
    if value is None:
        return "null"
    if value.__class__ is bool:
        return "true" if value else "false"
    if value.__class__ is float:
        return show_double(value)
    if isinstance(value, list):
        return f"[{', '.join(map(show_value, value))}]"
    if isinstance(value, dict):
        parts = (f"{show_value(key)}: {show_value(one)}" for key, one in value.items())
        return f"{{{', '.join(parts)}}}"
    if value.__class__ is Duration:
        return format_duration(value.nanoseconds)
    if value.__class__ is Timestamp:
        return show_timestamp(value)
    if value.__class__ is bytes:
        return value.decode("utf-8", "replace")
    return str(value)
