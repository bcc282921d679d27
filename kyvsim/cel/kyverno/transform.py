"""Two lists of objects as one map: keys out of the first, values out of the second.

Source of the rules: upstream kyverno/sdk extensions/cel/libs/transform.
"""

from typing import Any

from kyvsim.cel.environment import Library
from kyvsim.cel.errors import CelError
from kyvsim.cel.signature import function, way


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
        made[key] = _fields(value_object).get(value_field)
    return made


def _fields(value: Any) -> dict[str, Any]:
    if value.__class__ is not dict:  # upstream dies on it
        raise CelError("object cannot be handled as a map string to any in the value object list")
    for key in value:
        if key.__class__ is not str:
            raise CelError(f"failed to convert key to a string, {key}")
    fields: dict[str, Any] = value
    return fields


TRANSFORM = Library(
    "transform",
    tuple(
        function(name, way("(list<dyn>, list<dyn>, string, string) -> map<dyn, dyn>", _list_to_map))
        for name in ("listObjToMap", "transform.listObjToMap")
    ),
)
