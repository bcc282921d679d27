"""Values as JSON texts and back.

Source of the rules: upstream kyverno/sdk extensions/cel/libs/json, over Go's encoding/json: keys
are sorted, a whole double has no point, and a null is the number of its enum, 0.
"""

import base64
from typing import Any, NamedTuple

from kyvsim.cel.environment import Library
from kyvsim.cel.errors import CelError
from kyvsim.cel.kyverno.native import native_text
from kyvsim.cel.kyverno.users import ServiceAccount
from kyvsim.cel.signature import function, way
from kyvsim.cel.text import show_timestamp
from kyvsim.cel.types import CelType, opaque
from kyvsim.cel.values import Duration, Optional, Timestamp, UInt
from kyvsim.go.json import JsonError, parse_json
from kyvsim.kube.go_text import to_json

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
    """Return a value as JSON; raises CelError for what has none."""
    try:
        if value is None:
            return "0"
        return to_json(value.name if value.__class__ is CelType else _plain(value))
    except ValueError as error:
        raise CelError(str(error)) from None


def _plain(value: Any) -> Any:
    """Return a value of JSON's types."""
    kind = value.__class__
    if isinstance(value, ServiceAccount):
        return value.as_json()
    if isinstance(value, dict):
        return {native_text(key): _plain(one) for key, one in value.items()}
    if kind is list:
        return [_plain(one) for one in value]
    if kind is Optional:
        return _plain(value.value) if value.present else None
    if kind is bytes:
        return base64.b64encode(value).decode()
    if kind is Timestamp:
        return show_timestamp(value)
    if kind is Duration:
        return value.nanoseconds
    if kind is UInt:
        return int(value)
    if kind is CelType:
        raise CelError("type conversion not supported for 'type'")
    return value if kind in {str, bool, int, float, type(None)} else str(value)


JSON = Library(
    "json",
    (
        function("unmarshal", way(f"{_TYPE.name}.(dyn) -> dyn", _unmarshal)),
        function("marshal", way(f"{_TYPE.name}.(dyn) -> string", _marshal)),
    ),
    types=((JsonCodec, _TYPE),),
    variables=(("json", _TYPE),),
)
