"""Two lists of objects as one map: keys out of the first, values out of the second.

Source of the rules: upstream kyverno/sdk extensions/cel/libs/transform.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from kyvsim.cel.environment import Library, function, way
from kyvsim.cel.errors import CelError
from kyvsim.cel.values import Duration, MadeList, Timestamp, UInt, go_type

_NATIVE_TYPES: MappingProxyType[type, str] = MappingProxyType(
    {
        str: "string",
        int: "int64",
        UInt: "uint64",
        float: "float64",
        bool: "bool",
        bytes: "[]uint8",
        MadeList: "[]interface {}",
        type(None): "structpb.NullValue",
        Duration: "time.Duration",
        Timestamp: "time.Time",
    }
)


def _list_to_map(
    keys: list[Any], values: list[Any], key_field: str, value_field: str
) -> dict[str, Any]:
    if len(keys) != len(values):
        raise CelError(
            "listObjToMap must take lists of equal length. "
            f"list1: {len(keys)}, list2: {len(values)}"
        )
    made: dict[str, Any] = {}
    for key_object, value_object in zip(keys, values, strict=True):
        key = _fields(key_object).get(key_field)
        if key.__class__ is not str:
            raise CelError(
                "the passed key name cannot be handled as a string in the key object list"
            )
        made[key] = _values(value_object).get(value_field)
    return made


def _values(value: Any) -> Mapping[Any, Any]:
    if isinstance(value, dict) and any(key.__class__ is not str for key in value):
        raise CelError("object cannot be handled as a map string to any in the value object list")
    return _fields(value)


def _fields(value: Any) -> Mapping[Any, Any]:
    if not isinstance(value, dict):
        raise CelError(
            f"internal error: interface conversion: interface {{}} is {_native_type(value)}, not "
            "map[interface {}]interface {}"
        )
    for key in value:
        if key.__class__ is not str:
            raise CelError(f"failed to convert key to a string, {_native_type(key)}")
    return value


def _native_type(value: Any) -> str:
    return _NATIVE_TYPES.get(value.__class__) or go_type(value)


TRANSFORM = Library(
    "transform",
    tuple(
        function(name, way("(list<dyn>, list<dyn>, string, string) -> map<dyn, dyn>", _list_to_map))
        for name in ("listObjToMap", "transform.listObjToMap")
    ),
)
