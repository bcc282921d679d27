"""Functions on strings, counted in characters, and Base64."""

import base64
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from kyvsim.cel.environment import Library, function, way
from kyvsim.cel.errors import CelError
from kyvsim.cel.string_format import format_latest, format_text
from kyvsim.cel.values import TextList, show_value
from kyvsim.kubernetes.go_text import Base64Error, decode_padded, decode_unpadded

# Functions on strings, counted in characters.
#
# Source of the rules: upstream cel-go ext/strings.go, version 2.

_GO_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008"
    "\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
_LOWER = MappingProxyType({code: code + 32 for code in range(ord("A"), ord("Z") + 1)})
_UPPER = MappingProxyType({code + 32: code for code in range(ord("A"), ord("Z") + 1)})
_ESCAPES = MappingProxyType(
    {ord(char): f"\\{shown}" for char, shown in zip('\a\b\f\n\r\t\v\\"', 'abfnrtv\\"', strict=True)}
    | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
)


def _out_of_range(place: int) -> CelError:
    return CelError(f"index out of range: {place}")


def _char_at(text: str, place: int) -> str:
    if not 0 <= place <= len(text):
        raise _out_of_range(place)
    return text[place : place + 1]


def _index_of(text: str, part: str, start: int = 0) -> int:
    if start < 0:
        raise _out_of_range(start)
    if not part:
        return min(start, len(text))
    return text.find(part, start)


def _last_index_of(text: str, part: str) -> int:
    return len(text) if not part else text.rfind(part)


def _last_index_of_up_to(text: str, part: str, start: int) -> int:
    if start < 0:
        raise _out_of_range(start)
    if not part:
        return min(start, len(text))
    if start >= len(text):
        return -1
    return text.rfind(part, 0, start + len(part))


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    return text.replace(old, new, max(count, -1))


def _split(text: str, separator: str, count: int = -1) -> TextList:
    if count == 0:
        return TextList()
    if separator:
        return TextList(text.split(separator, count - 1 if count > 0 else -1))
    if count < 0 or count >= len(text):
        return TextList(text)
    return TextList((*text[: count - 1], text[count - 1 :]))


def _substring(text: str, start: int) -> str:
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    return text[start:]


def _substring_between(text: str, start: int, end: int) -> str:
    if start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    for place in (start, end):
        if not 0 <= place <= len(text):
            raise _out_of_range(place)
    return text[start:end]


def _join(texts: list[Any], separator: str = "") -> str:
    for one in texts:
        if one.__class__ is not str:
            raise CelError(f"join: invalid input: {show_value(one)}")
    return separator.join(texts)


def _quote(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'


def _translated(table: MappingProxyType[int, int]) -> Callable[[str], str]:
    return lambda text: text.translate(table)


STRINGS = Library(
    "strings",
    (
        function("charAt", way("string.(int) -> string", _char_at)),
        function(
            "indexOf",
            way("string.(string) -> int", _index_of),
            way("string.(string, int) -> int", _index_of),
        ),
        function(
            "lastIndexOf",
            way("string.(string) -> int", _last_index_of),
            way("string.(string, int) -> int", _last_index_of_up_to),
        ),
        function("lowerAscii", way("string.() -> string", _translated(_LOWER))),
        function("upperAscii", way("string.() -> string", _translated(_UPPER))),
        function(
            "replace",
            way("string.(string, string) -> string", _replace),
            way("string.(string, string, int) -> string", _replace),
        ),
        function(
            "split",
            way("string.(string) -> list<string>", _split),
            way("string.(string, int) -> list<string>", _split),
        ),
        function(
            "substring",
            way("string.(int) -> string", _substring),
            way("string.(int, int) -> string", _substring_between),
        ),
        function("trim", way("string.() -> string", lambda text: text.strip(_GO_SPACE))),
        function("format", way("string.(list<dyn>) -> string", format_text)),
        function("strings.quote", way("(string) -> string", _quote)),
        function(
            "join",
            way("list<string>.() -> string", _join),
            way("list<string>.(string) -> string", _join),
        ),
    ),
)

LATEST_STRINGS = Library(
    "strings",
    (
        *(one for one in STRINGS.functions if one.name != "format"),
        function("format", way("string.(list<dyn>) -> string", format_latest)),
        function("reverse", way("string.() -> string", lambda text: text[::-1])),
    ),
)
"""The same with what versions 3 and 4 changed."""

# Bytes as text in base64.
#
# Source of the rules: upstream cel-go ext/encoders.go, version 0.


def _decode(text: str) -> bytes:
    try:
        return decode_padded(text)
    except Base64Error:
        pass
    try:
        return decode_unpadded(text)
    except Base64Error as error:
        raise CelError(str(error)) from None


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


ENCODERS = Library(
    "encoders",
    (
        function("base64.decode", way("(string) -> bytes", _decode)),
        function("base64.encode", way("(bytes) -> string", _encode)),
    ),
)
