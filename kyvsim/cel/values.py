"""Values of expressions that Python has no type for, and what type a value is of.

`int` is CEL's int, `float` its double; `str`, `bytes`, `bool`, `None`, `list` and `dict` are what
they look like. Libraries add classes with a `cel_type`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from kyvsim.cel import types
from kyvsim.cel.types import CelType


class UInt(int):
    """An unsigned number; what is computed from it is an `int` until it is made a UInt again."""

    __slots__ = ()


class Duration(NamedTuple):
    """A length of time."""

    nanoseconds: int


class Timestamp(NamedTuple):
    """A point in time: nanoseconds since 1970, and the zone's offset in seconds."""

    nanoseconds: int
    offset: int = 0


class Optional(NamedTuple):
    """A value that may be missing."""

    present: bool
    value: Any = None


NONE: Final = Optional(present=False)


class MadeList(list[Any]):
    """A list that an expression made, where what it was given is a plain `list`.

    Kyverno's functions see the difference. As a key of a map it is itself only, as in Go.
    """

    __slots__ = ()

    __hash__ = object.__hash__  # type: ignore[assignment]  # a list has none


class JoinedList(list[Any]):
    """A list that `+` made of two, and as a key what a MadeList is."""

    __slots__ = ()

    __hash__ = object.__hash__  # type: ignore[assignment]  # a list has none


class TextList(list[str]):
    """A list of texts that a function made: as a value of objects Go has another type for it."""

    __slots__ = ()


class MadeMap(dict[Any, Any]):
    """A map that an expression made, where what it was given is a plain `dict`."""

    __slots__ = ()

    __hash__ = object.__hash__  # type: ignore[assignment]  # a dict has none


class Message(dict[str, Any]):
    """A value with declared fields: every field is there, those that nobody set as defaults."""

    __slots__ = ("cel_type", "hidden", "is_literal", "is_native", "present")

    def __init__(self, kind: CelType, fields: Mapping[str, Any], present: frozenset[str]) -> None:
        super().__init__(fields)
        self.cel_type = kind
        self.present = present
        """The fields that are set."""
        self.is_native = False
        """Whether it is a structure of Go, whose fields nobody can ask for as optional ones."""
        self.is_literal = False
        """Whether an expression wrote it out, where a function would have made it."""
        self.hidden: Any = None
        """What functions see of it, and no expression."""


def plain(value: Any) -> Any:
    """Return a value with plain lists and maps in place of those that expressions made."""
    if isinstance(value, MadeMap):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (MadeList, JoinedList)):
        return [plain(one) for one in value]
    return value


_TYPES: MappingProxyType[type, CelType] = MappingProxyType(
    {
        str: types.STRING,
        bool: types.BOOL,
        int: types.INT,
        float: types.DOUBLE,
        UInt: types.UINT,
        bytes: types.BYTES,
        type(None): types.NULL,
        Duration: types.DURATION,
        Timestamp: types.TIMESTAMP,
        list: CelType("list", "list"),
        dict: CelType("map", "map"),
        MadeList: CelType("list", "list"),
        JoinedList: CelType("list", "list"),
        TextList: CelType("list", "list"),
        MadeMap: CelType("map", "map"),
        Optional: types.opaque("optional_type"),
        CelType: types.TYPE,
    }
)


def runtime_type(value: Any) -> CelType:
    """Return the type of a value, without parameters."""
    found = _TYPES.get(value.__class__)
    if found is not None:
        return found
    declared = getattr(value, "cel_type", None)
    return declared if isinstance(declared, CelType) else _TYPES[dict]


def type_name(value: Any) -> str:
    """Return the name of a value's type as messages show it."""
    return runtime_type(value).name


def class_of(kind: CelType) -> type | None:
    """Return the Python class of the values of a type, or None where there is no single one."""
    return next(
        (
            cls
            for cls, known in _TYPES.items()
            if known.kind == kind.kind and known.name == kind.name
        ),
        None,
    )
