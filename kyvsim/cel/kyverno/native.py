"""Values of expressions as the plain values that Kyverno's functions take.

Source of the rules and messages: upstream cel-go common/types (ConvertToNative).
"""

import base64
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from kyvsim.cel.errors import CelError
from kyvsim.cel.libraries.admission import ObjectValue
from kyvsim.cel.program import LazyVariables
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
    show_seconds,
    show_timestamp,
    type_name,
)
from kyvsim.kubernetes.objects import Json

_SAFE = 1 << 53

_NAMES: MappingProxyType[type, str] = MappingProxyType(
    {
        bool: "bool",
        bytes: "Bytes",
        float: "Double",
        list: "list",
        dict: "map",
        MadeList: "list",
        JoinedList: "list",
        TextList: "list",
        MadeMap: "map",
        type(None): "'null_type'",
        Timestamp: "'Timestamp'",
        Duration: "'Duration'",
    }
)


def native_texts(value: Any) -> list[str]:
    """Return a list of texts; raises CelError for a value of another type."""
    if isinstance(value, list):
        return [native_text(one) for one in value]
    if value.__class__ is str:
        raise CelError("unsupported native conversion from string to '[]string'")
    if value.__class__ in {int, UInt}:
        raise CelError(f"unsupported type conversion from '{type_name(value)}' to []string")
    raise CelError(f"type conversion error from {_shown_type(value)} to '[]string'")


def native_text(value: Any) -> str:
    """Return a text; raises CelError for a value of another type."""
    if value.__class__ is str:
        return str(value)
    if value.__class__ in {int, UInt}:
        raise CelError(f"unsupported type conversion from '{type_name(value)}' to string")
    raise CelError(f"type conversion error from {_shown_type(value)} to 'string'")


def _shown_type(value: Any) -> str:
    return _NAMES.get(value.__class__, f"'{type_name(value)}'")


def struct_value(value: Any) -> Json:
    """Return a value as google.protobuf.Struct holds it; raises CelError for what has none.

    Numbers are doubles there; whole numbers that a double cannot hold become texts.
    """
    convert = _CONVERSIONS.get(value.__class__)
    if convert is not None:
        return convert(value)
    if isinstance(value, dict):
        return {native_text(key): struct_value(one) for key, one in value.items()}
    if isinstance(value, list):
        return [struct_value(one) for one in value]
    name = type_name(value).rpartition(".")[2]
    shown = _GO_NAMES.get(name, name)
    raise CelError(f"type conversion error from '{shown}' to '*structpb.Value'")


def _number(value: int) -> Json:
    return float(value) if -_SAFE < value < _SAFE else str(int(value))


def _present(value: Optional) -> Json:
    if not value.present:
        raise CelError("optional.none() dereference")
    return struct_value(value.value)


def _no_data(_: CelType) -> Json:
    raise CelError("type conversion not supported for 'type'")


def _no_variables(value: LazyVariables[Any]) -> Json:
    raise CelError(f'disallowed conversion from "{value.cel_type.name}" to ""')


def _no_inner_object(_: ObjectValue) -> Json:
    raise CelError("an object of a named type stands inside a list or map")


def _same(value: Json) -> Json:
    return value


_CONVERSIONS: Mapping[type, Callable[[Any], Json]] = MappingProxyType(
    {
        str: _same,
        bool: _same,
        float: _same,
        type(None): _same,
        int: _number,
        UInt: _number,
        bytes: lambda value: base64.b64encode(value).decode(),
        Timestamp: show_timestamp,
        Duration: show_seconds,
        Optional: _present,
        CelType: _no_data,
        LazyVariables: _no_variables,
        ObjectValue: _no_inner_object,
    }
)
_GO_NAMES = MappingProxyType({"NamedFormat": "Format", "image": "Image"})
"""Names of Go types that are not the last part of the CEL type's name."""
