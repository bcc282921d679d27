"""Values as JSON texts and back.

Source of the rules: upstream kyverno/sdk extensions/cel/libs/json, over Go's encoding/json: keys
are sorted, a whole double has no point, and a null is the number of its enum, 0. What is inside a
list or map that an expression made is converted first, which maps do not survive; what was given,
such as `object`, is written as it is.
"""

import base64
from collections.abc import Mapping
from typing import Any, NamedTuple

from kyvsim.cel.environment import Library, function, way
from kyvsim.cel.errors import CelError
from kyvsim.cel.kyverno.native import native_text
from kyvsim.cel.kyverno.users import ServiceAccount
from kyvsim.cel.libraries.formats import Format
from kyvsim.cel.libraries.urls import Url
from kyvsim.cel.types import CelType, opaque
from kyvsim.cel.values import (
    Duration,
    JoinedList,
    MadeList,
    MadeMap,
    Optional,
    TextList,
    Timestamp,
    UInt,
    plain,
    show_timestamp,
    type_name,
)
from kyvsim.kubernetes.go_json import JsonError, parse_json
from kyvsim.kubernetes.go_text import to_json

_TYPE = opaque("json.Json")


class JsonCodec(NamedTuple):
    """The value of the variable `json`."""

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return _TYPE


def _unmarshal(_: JsonCodec, text: Any) -> Any:
    try:
        return parse_json(native_text(text))
    except JsonError as error:
        raise CelError(str(error)) from None


def _marshal(_: JsonCodec, value: Any) -> str:
    return show_json(value)


def show_json(value: Any) -> str:
    """Return what `json.marshal` makes of a value; raises CelError for what it refuses."""
    return _written(_marshalled(value))


def readable_json(value: Any) -> str:
    """Return a value as JSON for people, with nulls and maps wherever they stand."""
    return _written(_value(plain(value)))


def _written(value: Any) -> str:
    try:
        return to_json(value)
    except ValueError as error:
        raise CelError(str(error)) from None


def _marshalled(value: Any) -> Any:
    """Return a value as upstream hands it to the writer of JSON."""
    if value.__class__ is MadeMap:
        return {native_text(key): _converted(one) for key, one in value.items()}
    if value.__class__ is MadeList:
        return [_converted(one) for one in value]
    return _bare(value)


def _converted(value: Any) -> Any:
    """Return a part of what an expression made, converted to a native value.

    Maps become such that the writer refuses, wherever they are from.
    """
    kind = value.__class__
    if value is None:
        return 0
    if isinstance(value, dict) and not isinstance(value, ServiceAccount):
        for one in value.values():
            _converted(one)
        raise CelError("json: unsupported type: map[interface {}]interface {}")
    if kind is MadeList:
        return [_converted(one) for one in value]
    if kind is Optional:
        if not value.present:
            raise CelError("optional.none() dereference")
        return _converted(value.value)
    if kind is CelType:
        raise CelError("type conversion not supported for 'type'")
    if kind is Format:
        raise CelError("type conversion error from 'Format' to 'interface {}'")
    return _bare(value)


def _bare(value: Any) -> Any:
    """Return what is inside a value."""
    kind = value.__class__
    if value is None:
        return 0
    if kind is Optional:
        return _bare(value.value) if value.present else None
    if kind is JoinedList:
        return [_bare(one) for one in value]
    if kind is MadeList:
        return [{"Adapter": {}} if _holds_others(one) else _bare(one) for one in value]
    if kind is MadeMap:
        raise CelError("json: unsupported type: map[ref.Val]ref.Val")
    if kind is CelType:
        return value.name
    if kind is Format:
        raise CelError("json: unsupported type: func(string) []string")
    return _value(value)


def _holds_others(value: Any) -> bool:
    return isinstance(value, (list, dict)) and not isinstance(value, ServiceAccount)


def _value(value: Any) -> Any:
    """Return a value of JSON's types."""
    kind = value.__class__
    if isinstance(value, ServiceAccount):
        return value.as_json()
    if isinstance(value, dict):
        return {native_text(key): _value(one) for key, one in value.items()}
    if kind is list or kind is TextList:
        return [_value(one) for one in value]
    if kind is Optional:
        return _value(value.value) if value.present else None
    if kind is bytes:
        return base64.b64encode(value).decode()
    if kind is Timestamp:
        return show_timestamp(value)
    if kind is Duration:
        return value.nanoseconds
    if kind is UInt:
        return int(value)
    if kind is CelType:
        return value.name
    return value if kind in {str, bool, int, float, type(None)} else _own(value)


class _InOrder(NamedTuple):
    """A structure whose fields are written in their own order."""

    fields: Mapping[str, Any]

    def __str__(self) -> str:
        """Return it as JSON."""
        pairs = (f"{to_json(key)}:{to_json(value)}" for key, value in self.fields.items())
        return f"{{{','.join(pairs)}}}"


def _own(value: Any) -> Any:
    if value.__class__ is Url:
        return _InOrder(value.parts.as_json())
    if isinstance(value, tuple) and value.__class__.__str__ is object.__str__:
        return f"({type_name(value)})"  # what only functions look into
    return str(value)


JSON = Library(
    "json",
    (
        function("unmarshal", way(f"{_TYPE.name}.(dyn) -> dyn", _unmarshal)),
        function("marshal", way(f"{_TYPE.name}.(dyn) -> string", _marshal)),
    ),
    types=((JsonCodec, _TYPE),),
    variables=(("json", _TYPE),),
)

AUTHORIZATION_JSON = Library(
    "authorization json",
    (function("Unmarshal", way(f"{_TYPE.name}.(dyn) -> dyn", _unmarshal)),),
    types=((JsonCodec, _TYPE),),
    variables=(("json", _TYPE),),
)
"""What policies that decide on requests have in its place. upstream: kyverno-authz"""
