"""Types with declared fields, and their values, created from fields or from JSON.

An unset field has its type's default, also inside of nested messages.

upstream: cel-go common/types/pb, ext/native.go; google.golang.org/protobuf/encoding/protojson
"""

import base64
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.cel import types
from kyvsim.cel.conversion import text_to_timestamp
from kyvsim.cel.environment import StructType
from kyvsim.cel.errors import CelError
from kyvsim.cel.types import CelType, struct
from kyvsim.cel.values import Message, Timestamp, UInt
from kyvsim.kubernetes.objects import Path


class MessageError(ValueError):
    """The data is not a message of the expected type."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(reason)
        self.path = path
        self.reason = reason


class MessageTypes(NamedTuple):
    """Related types, by their names."""

    fields: Mapping[str, Mapping[str, CelType]]
    native: bool = False
    """Whether they are Go structs."""
    enums: Mapping[tuple[str, str], tuple[str, ...]] = MappingProxyType({})
    """The JSON names of a field's enum numbers."""

    def make(self, name: str, given: Mapping[str, object]) -> Message:
        """Return a value of the type `name` with these fields set."""
        fields = {
            field: given[field] if field in given else self._default(kind)
            for field, kind in self.fields[name].items()
        }
        present = frozenset(
            field for field, value in given.items() if isinstance(value, Message) or value
        )
        found = Message(struct(name), fields, present)
        found.is_native = self.native
        return found

    def _default(self, kind: CelType) -> object:
        if kind.kind == "struct":
            return self.make(kind.name, {})
        if kind.kind == "list":
            return []
        if kind.kind == "map":
            return {}
        return _SCALARS[kind.kind].default if kind.kind in _SCALARS else None

    @property
    def classes(self) -> tuple[tuple[type, CelType], ...]:
        """The Python class of their values, for each type."""
        return tuple((Message, struct(name)) for name in self.fields)

    def written(self, name: str) -> StructType | None:
        """Return how an expression constructs a value of a type, or None for other types."""
        fields = self.fields.get(name)
        if fields is None:
            return None
        return StructType(
            lambda field: fields.get(field, types.ERROR), lambda given: self._literal(name, given)
        )

    def _literal(self, name: str, given: Mapping[str, object]) -> Message:
        found = self.make(name, given)
        found.is_literal = True
        return found

    def read(self, name: str, data: object, path: Path = ()) -> Message:
        """Return the value of JSON data; raises MessageError.

        Names are those of the fields, or the same in camelCase.
        """
        if data.__class__ is not dict:
            raise MessageError(path, "this must be a map")
        fields = self.fields[name]
        spelled = {_camel(field): field for field in fields}
        given: dict[str, object] = {}
        for key, value in data.items():
            field = key if key in fields else spelled.get(key)
            if field is None:
                raise MessageError((*path, key), f"unknown field `{key}`")
            if value is not None:
                names = self.enums.get((name, field), ())
                given[field] = self._read(fields[field], value, (*path, key), names)
        return self.make(name, given)

    def _read(
        self, kind: CelType, value: object, path: Path, names: tuple[str, ...] = ()
    ) -> object:
        if names and value in names:
            return names.index(value)
        if kind.kind == "struct":
            return self.read(kind.name, value, path)
        if kind.kind == "list":
            if value.__class__ is not list:
                raise MessageError(path, "this must be a list")
            return [
                self._read(kind.parameters[0], one, (*path, at)) for at, one in enumerate(value)
            ]
        if kind.kind == "map":
            if value.__class__ is not dict:
                raise MessageError(path, "this must be a map")
            inner = kind.parameters[1]
            if inner == types.DYN:
                return dict(value)
            return {key: self._read(inner, one, (*path, key)) for key, one in value.items()}
        scalar = _SCALARS.get(kind.kind)
        if scalar is None:
            raise MessageError(path, "values of this type are not supported")
        try:
            return scalar.read(value)
        except (ValueError, TypeError, CelError):
            raise MessageError(path, f"this must be {scalar.shown}") from None


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _text(value: object) -> str:
    if value.__class__ is not str:
        raise TypeError
    return value


def _flag(value: object) -> bool:
    if value.__class__ is not bool:
        raise TypeError
    return value


def _whole(value: object) -> int:
    found: int | None = None
    if value.__class__ is str:
        found = int(value) if re.fullmatch(r"-?\d{1,19}", value) else None
    elif value.__class__ is int:
        found = value
    elif value.__class__ is float and value.is_integer():
        found = int(value)
    if found is None:
        raise TypeError
    if not -(1 << 63) <= found < 1 << 63:
        raise ValueError
    return found


def _unsigned(value: object) -> UInt:
    found = _whole(value)
    if not 0 <= found < 1 << 32:
        raise ValueError
    return UInt(found)


def _octets(value: object) -> bytes:
    text = _text(value).replace("-", "+").replace("_", "/").rstrip("=")
    return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)


class _Scalar(NamedTuple):
    default: object
    read: Callable[[object], object]
    shown: str
    """The name of a value in messages."""


_SCALARS: Mapping[str, _Scalar] = {
    "string": _Scalar("", _text, "a string"),
    "int": _Scalar(0, _whole, "a whole number"),
    "uint": _Scalar(UInt(0), _unsigned, "a whole number from 0 to 4294967295"),
    "bool": _Scalar(False, _flag, "true or false"),
    "bytes": _Scalar(b"", _octets, "base64"),
    "timestamp": _Scalar(
        Timestamp(0),
        lambda value: text_to_timestamp(_text(value)),
        "a time such as 2026-01-31T12:00:00Z",
    ),
}
