"""Types of expressions, as the checker knows them and `type()` returns them.

Source of the names: upstream cel-go common/types/types.go, checker/format.go.
"""

from types import MappingProxyType
from typing import NamedTuple


class CelType(NamedTuple):
    """A type: its kind, its name where the kind does not say it, and its parameters."""

    kind: str
    name: str
    parameters: tuple["CelType", ...] = ()

    def __str__(self) -> str:
        """Return the type as messages about declared types show it."""
        name = f"<{self.name}>" if self.kind == "parameter" else self.name
        if not self.parameters:
            return name
        return f"{name}({', '.join(map(str, self.parameters))})"


DYN = CelType("dyn", "dyn")
ANY = CelType("dyn", "any")
"""A value that brings its type along; it is used as `dyn` is, and shown otherwise."""
ERROR = CelType("error", "!error!")
NULL = CelType("null", "null_type")
BOOL = CelType("bool", "bool")
INT = CelType("int", "int")
UINT = CelType("uint", "uint")
DOUBLE = CelType("double", "double")
STRING = CelType("string", "string")
BYTES = CelType("bytes", "bytes")
DURATION = CelType("duration", "google.protobuf.Duration")
TIMESTAMP = CelType("timestamp", "google.protobuf.Timestamp")
TYPE = CelType("type", "type")

_SHORT_NAMES = MappingProxyType({"null": "null", "duration": "duration", "timestamp": "timestamp"})


def list_of(element: CelType) -> CelType:
    """Return the type of lists of `element`."""
    return CelType("list", "list", (element,))


def map_of(key: CelType, value: CelType) -> CelType:
    """Return the type of maps from `key` to `value`."""
    return CelType("map", "map", (key, value))


def type_of(inner: CelType) -> CelType:
    """Return the type of the type `inner`."""
    return CelType("type", "type", (inner,))


def optional_of(inner: CelType) -> CelType:
    """Return the type of optional values of `inner`."""
    return CelType("opaque", "optional_type", (inner,))


def opaque(name: str) -> CelType:
    """Return a type that only a library's functions know how to use."""
    return CelType("opaque", name)


def struct(name: str) -> CelType:
    """Return a type with declared fields."""
    return CelType("struct", name)


def parameter(name: str) -> CelType:
    """Return a type variable."""
    return CelType("parameter", name)


def unwrap_optional(found: CelType) -> tuple[CelType, bool]:
    """Return the type inside an optional type, and whether it was one."""
    if found.kind == "opaque" and found.name == "optional_type":
        return found.parameters[0], True
    return found, False


def show(found: CelType) -> str:
    """Return the type as messages about expressions show it."""
    name = _SHORT_NAMES.get(found.kind, found.name)
    if not found.parameters:
        return name
    return f"{name}({', '.join(map(show, found.parameters))})"
