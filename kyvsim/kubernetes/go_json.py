"""JSON texts as Go reads them: every number a double, halves of characters replaced.

upstream: Go's encoding/json.
"""

import json
import math
import re
from json import JSONDecodeError
from types import MappingProxyType

from kyvsim.kubernetes.go_text import quote
from kyvsim.kubernetes.objects import TOO_DEEP, Json, is_too_deep, may_be_too_deep

# JSON texts as Go reads them: every number a double, halves of characters replaced.
#
# upstream: Go's encoding/json.


_LONE = "[\ud800-\udfff]"
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
        return re.sub(_LONE, "\ufffd", value)
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


# What Go's encoding/json says of a text that is no JSON.
#
# upstream: Go's encoding/json (scanner.go).


_PLACES = MappingProxyType(
    {
        "Expecting value": "looking for beginning of value",
        "Illegal trailing comma before end of array": "looking for beginning of value",
        "Extra data": "after top-level value",
        "Expecting property name enclosed in double quotes": (
            "looking for beginning of object key string"
        ),
        "Illegal trailing comma before end of object": "looking for beginning of object key string",
        "Expecting ':' delimiter": "after object key",
        "Expecting ',' delimiter": "after object key:value pair",
        "Invalid control character at": "in string literal",
        "Invalid \\escape": "in string escape code",
        "Invalid \\uXXXX escape": "in \\u hexadecimal character escape",
    }
)
_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+"|([\[{])|([\]}])', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u[0-9A-Fa-f]{0,3})?")


def json_problem(error: json.JSONDecodeError) -> str:
    """Return Go's message for the text that Python's decoder refused."""
    text, at = error.doc, error.pos
    message = error.msg.partition(": ")[0]
    place = _PLACES.get(message)
    if place is None or at >= len(text):
        return "unexpected end of JSON input"
    if message == "Expecting value":
        return _bad_value(text, at)
    if message == "Expecting ',' delimiter" and _open_bracket(text[:at]) == "[":
        place = "after array element"
    elif message.startswith("Illegal trailing comma"):
        at += 1 + len(text[at + 1 :]) - len(text[at + 1 :].lstrip())
    elif "escape" in message:
        at = _escape_end(text, at)
    return _invalid(text[at : at + 1], place) if at < len(text) else "unexpected end of JSON input"


def _invalid(char: str, place: str) -> str:
    char = chr(char.encode("utf-8", "replace")[0])  # Go looks at bytes
    shown = {"'": "\\'", '"': '"'}.get(char) or quote(char)[1:-1]
    return f"invalid character '{shown}' {place}"


def _bad_value(text: str, at: int) -> str:
    """Tell a misspelt literal and a lone minus from what begins no value at all."""
    if text[at] == "-":
        return _invalid(text[at + 1 : at + 2] or " ", "in numeric literal")
    word = {"t": "true", "f": "false", "n": "null"}.get(text[at])
    if word is None:
        return _invalid(text[at], "looking for beginning of value")
    fitting = next(
        count for count in range(1, len(word)) if text[at + count : at + count + 1] != word[count]
    )
    place = f"in literal {word} (expecting '{word[fitting]}')"
    return _invalid(text[at + fitting : at + fitting + 1] or " ", place)


def _open_bracket(text: str) -> str:
    """Return the innermost bracket that is still open."""
    stack: list[str] = []
    for found in _BRACKET.finditer(text):
        if found[1]:
            stack.append(found[1])
        elif found[2] and stack:
            stack.pop()
    return stack[-1] if stack else ""


def _escape_end(text: str, at: int) -> int:
    """Return the place of the character that does not belong to an escape."""
    start = text.rfind("\\", 0, at + 1)
    found = _ESCAPE.match(text, max(start, 0))
    return found.end() if found is not None else at
