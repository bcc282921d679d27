"""Objects and JSON patches that expressions write: `Object.spec{…}`, `JSONPatch{…}`.

An object may have any field. Whether the name of its type is the way to the field at which it
stands is looked at when it is used, see `type_mismatches`.

Source of the rules: upstream k8s.io/apiserver pkg/cel/mutation, pkg/cel/library/jsonpatch.go.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from kyvsim.cel.environment import Library, StructType, function, way
from kyvsim.cel.errors import CelError
from kyvsim.cel.types import DYN, STRING, CelType, struct
from kyvsim.cel.values import MadeList, MadeMap, UInt

OBJECT = struct("Object")
JSON_PATCH = struct("JSONPatch")
_NO_TYPE = CelType("none", "")
_TEXTS = ("op", "path", "from")
_GO_TYPES: Mapping[type, str] = MappingProxyType(
    {bool: "bool", int: "int64", UInt: "uint64", float: "float64", bytes: "[]uint8"}
)


class ObjectValue(dict[str, Any]):
    """An object as a value of expressions: its fields, and the name of its type."""

    def __init__(self, type_name: str, fields: dict[str, Any]) -> None:
        super().__init__(fields)
        self.type_name = type_name

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return struct(self.type_name)


class JsonPatchOperation(dict[str, Any]):
    """One operation of a JSON patch as a value of expressions; it may lack a `value`."""

    cel_type = JSON_PATCH


def type_mismatches(value: Any, wanted: str) -> Iterator[str]:
    """Yield what is wrong with the names of types inside a value at the way `wanted`.

    Lists and maps between two objects have no part in the way.
    """
    if isinstance(value, ObjectValue):
        if value.type_name != wanted:
            yield (
                f'unexpected type name "{value.type_name}", expected "{wanted}", which matches '
                "field name path from root Object type"
            )
        for name, field in value.items():
            yield from type_mismatches(field, f"{wanted}.{name}")
    elif value.__class__ is MadeList:
        for one in value:
            yield from type_mismatches(one, wanted)
    elif value.__class__ is MadeMap:
        for one in value.values():
            yield from type_mismatches(one, wanted)


def _object_type(name: str) -> StructType | None:
    if name == "Object" or name.startswith("Object."):
        return StructType(lambda _: DYN, lambda fields: ObjectValue(name, fields))
    return _PATCH_TYPE if name == "JSONPatch" else None


def _patch_field(name: str) -> CelType:
    if name in _TEXTS:
        return STRING
    return DYN if name == "value" else _NO_TYPE


def _patch(fields: dict[str, Any]) -> JsonPatchOperation:
    for name, value in fields.items():
        if name in _TEXTS and value.__class__ is not str:
            found = _GO_TYPES.get(value.__class__, value.__class__.__name__)
            raise CelError(f"unexpected type {found} for JSONPatchType '{name}' field")
        if name not in _TEXTS and name != "value":
            raise CelError(f"unexpected JSONPatchType field: {name}")
    return JsonPatchOperation({**dict.fromkeys(_TEXTS, ""), **fields})


_PATCH_TYPE = StructType(_patch_field, _patch)

OBJECTS = Library("objects", (), struct_of=_object_type)
"""The types that can be written."""

ESCAPES = Library(
    "jsonpatch",
    (
        function(
            "jsonpatch.escapeKey",
            way("(string) -> string", lambda key: key.replace("~", "~0").replace("/", "~1")),
        ),
    ),
)
