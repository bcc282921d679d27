"""JSON texts as Go reads them: every number a double, halves of characters replaced.

upstream: Go's encoding/json.
"""

import json
import math
import re
from json import JSONDecodeError
from types import MappingProxyType

from kyvsim.kube.objects import TOO_DEEP, Json, is_too_deep, may_be_too_deep

_LONE = re.compile("[\ud800-\udfff]")
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_KINDS = MappingProxyType(
    {str: "string", bool: "bool", int: "number", float: "number", list: "array", dict: "object"}
)


class JsonError(ValueError):
    """The text is no JSON; the message is Go's."""


def parse_json(text: str) -> Json:
    """Return the data that a JSON text holds; every number is a float. Raises JsonError."""
    try:
        data = _read(text)
    except RecursionError:
        raise JsonError(TOO_DEEP) from None
    except ValueError as error:
        from kyvsim.go.json_problem import json_problem  # noqa: PLC0415 — likewise

        if not isinstance(error, JSONDecodeError):
            raise
        raise JsonError(json_problem(error)) from None
    if may_be_too_deep(text.count("{") + text.count("[")) and is_too_deep(data):
        raise JsonError(TOO_DEEP)
    return _with_characters(data) if "\\u" in text and _HALF.search(text) else data


def json_kind(value: Json) -> str:
    """Return what Go calls a value, not null, that does not fit what is read."""
    return _KINDS[value.__class__]


def _with_characters(value: Json) -> Json:
    """Replace halves of surrogate pairs: Go has no text that holds one."""
    if value.__class__ is str:
        return _LONE.sub("\ufffd", value)
    if value.__class__ is list:
        return [_with_characters(item) for item in value]
    if value.__class__ is dict:
        return {_with_characters(key): _with_characters(item) for key, item in value.items()}
    return value


def _number(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        problem = f"cannot unmarshal number {text} into Go value of type float64"
        raise JsonError(f"json: {problem}")
    return number


def _no_constant(text: str) -> Json:
    where = "in numeric literal" if text[0] == "-" else "looking for beginning of value"
    raise JsonError(f"invalid character '{text.lstrip('-')[0]}' {where}")


_read = json.JSONDecoder(parse_int=_number, parse_float=_number, parse_constant=_no_constant).decode
