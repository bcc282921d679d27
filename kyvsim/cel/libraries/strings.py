"""Functions on strings, counted in characters; Base64; regular expressions."""

import base64
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from types import MappingProxyType
from typing import Any

from kyvsim.cel.environment import Library, Run, function, method
from kyvsim.cel.errors import CelError, no_such_overload
from kyvsim.cel.string_format import format_latest, format_text
from kyvsim.cel.values import NONE, Optional, TextList, show_value
from kyvsim.kubernetes.go_text import Base64Error, decode_base64, quote
from kyvsim.kubernetes.regexes import RegexError, as_bytes, compile_regex, each_match

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


def _index_of(text: str, part: str, start: int = 0) -> int:
    if start < 0:
        raise _out_of_range(start)
    if not part:
        return min(start, len(text))
    return text.find(part, start)


def _last_index_of(text: str, part: str, start: int | None = None) -> int:
    if start is None:
        return text.rfind(part)
    if start < 0:
        raise _out_of_range(start)
    if not part:
        return min(start, len(text))
    return -1 if start >= len(text) else text.rfind(part, 0, start + len(part))


def _split(text: str, separator: str, count: int = -1) -> TextList:
    if count == 0:
        return TextList()
    if separator:
        return TextList(text.split(separator, count - 1 if count > 0 else -1))
    if count < 0 or count >= len(text):
        return TextList(text)
    return TextList((*text[: count - 1], text[count - 1 :]))


def _substring(text: str, start: int, end: int | None = None) -> str:
    if end is not None and start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    for place in (start,) if end is None else (start, end):
        if not 0 <= place <= len(text):
            raise _out_of_range(place)
    return text[start:end]


def _join(texts: list[str], separator: str = "") -> str:
    for one in texts:
        if one.__class__ is not str:
            raise CelError(f"join: invalid input: {show_value(one)}")
    return separator.join(texts)


STRINGS = Library(
    "strings",
    (
        method("string.charAt(int) -> string", lambda text, place: _substring(text, place)[:1]),
        method("string.indexOf(string) -> int", _index_of),
        method("string.indexOf(string, int) -> int", _index_of),
        method("string.lastIndexOf(string) -> int", _last_index_of),
        method("string.lastIndexOf(string, int) -> int", _last_index_of),
        method("string.lowerAscii() -> string", lambda text: text.translate(_LOWER)),
        method("string.upperAscii() -> string", lambda text: text.translate(_UPPER)),
        method("string.replace(string, string) -> string", str.replace),
        method(
            "string.replace(string, string, int) -> string",
            lambda text, old, new, count: text.replace(old, new, max(count, -1)),
        ),
        method("string.split(string) -> list<string>", _split),
        method("string.split(string, int) -> list<string>", _split),
        method("string.substring(int) -> string", _substring),
        method("string.substring(int, int) -> string", _substring),
        method("string.trim() -> string", lambda text: text.strip(_GO_SPACE)),
        method("string.format(list<dyn>) -> string", format_text),
        function("strings.quote(string) -> string", lambda text: f'"{text.translate(_ESCAPES)}"'),
        method("list<string>.join() -> string", _join),
        method("list<string>.join(string) -> string", _join),
    ),
)

LATEST_STRINGS = Library(
    "strings",
    (
        *(one for one in STRINGS.functions if one.name != "format"),
        method("string.format(list<dyn>) -> string", format_latest),
        method("string.reverse() -> string", lambda text: text[::-1]),
    ),
)
"""The library with the changes of versions 3 and 4."""

# Bytes as base64 strings.
#
# Source of the rules: upstream cel-go ext/encoders.go, version 0.


def _decode(text: str) -> bytes:
    with suppress(Base64Error):
        return decode_base64(text)
    try:
        return decode_base64(text, padded=False)
    except Base64Error as error:
        raise CelError(str(error)) from None


ENCODERS = Library(
    "encoders",
    (
        function("base64.decode(string) -> bytes", _decode),
        function("base64.encode(bytes) -> string", lambda data: base64.b64encode(data).decode()),
    ),
)

# Parts of a string that match a pattern.
#
# Source of the rules: upstream k8s.io/apiserver pkg/cel/library/regex.go.


def _regex_compile(pattern: str, prefix: str = "") -> Any:
    try:
        return compile_regex(pattern)
    except RegexError as error:
        raise CelError(f"{prefix}{error}") from None


def _find(text: str, pattern: str) -> str:
    return next(_regex_texts(_regex_compile(pattern, "Illegal regex: "), text), "")


def _find_all(text: str, pattern: str, count: int = -1) -> TextList:
    return _all(_regex_compile(pattern, "Illegal regex: "), text, count)


def _all(pattern: Any, text: str, count: int = -1) -> TextList:
    return TextList(islice(_regex_texts(pattern, text), count if count >= 0 else None))


def _regex_texts(pattern: Any, text: str) -> Iterator[str]:
    return (match[0].decode("utf-8", "replace") for match in each_match(pattern, as_bytes(text)))


def _find_constant(text: Run, pattern: object) -> Run:
    compiled = compile_regex(pattern)
    return lambda frame: next(_regex_texts(compiled, _text(text(frame))), "")


def _find_all_constant(text: Run, pattern: object, count: Run = lambda _: -1) -> Run:
    compiled = compile_regex(pattern)
    return lambda frame: _all(compiled, _text(text(frame)), _number(count(frame)))


def _number(value: object) -> int:
    if value.__class__ is int:
        return int(value)
    raise no_such_overload()


def _text(value: object) -> str:
    if value.__class__ is str:
        return str(value)
    raise no_such_overload()


REGEX = Library(
    "regex",
    (
        method("string.find(string) -> string", _find, optimize=_find_constant),
        *(
            method(f"string.findAll({given}) -> list<string>", _find_all, 1, _find_all_constant)
            for given in ("string", "string, int")
        ),
    ),
)

# Replacing and extracting matches of a pattern and its groups.
#
# Source of the rules: upstream cel-go ext/regex.go. In a replacement `\1` is a group and
# `\\` a backslash.


def _regex_replace(text: str, pattern: str, replacement: str, count: int = -1) -> str:
    if not count:
        return text
    compiled = _regex_compile(pattern)
    data, made, last = as_bytes(text), [], 0
    for place, match in enumerate(each_match(compiled, data)):
        if 0 <= count <= place:
            break
        made += [data[last : match.start()], _filled(replacement, match, compiled.groups)]
        last = match.end()
    return b"".join((*made, data[last:])).decode("utf-8", "replace")


def _filled(replacement: str, match: Any, groups: int) -> bytes:
    made: list[bytes] = []
    chars = iter(replacement)
    for char in chars:
        if char != "\\":
            made.append(as_bytes(char))
            continue
        following = next(chars, "")
        if following == "\\":
            made.append(b"\\")
            continue
        if not (following.isascii() and following.isdigit()):
            need = "must be followed by a digit or \\" if following else "not allowed at end"
            raise CelError(f"invalid replacement string: '{replacement}' \\ {need}")
        if int(following) > groups:
            raise CelError(
                f"replacement string references group {following} "
                f"but regex has only {groups} group(s)"
            )
        made.append(match[int(following)] or b"")
    return b"".join(made)


def _regex_groups_texts(text: str, pattern: str) -> Iterator[str]:
    """Yield the only group of each match, or the whole match if there is no group."""
    compiled = _regex_compile(pattern)
    if compiled.groups > 1:
        raise CelError(f"regular expression has more than one capturing group: {quote(pattern)}")
    for match in each_match(compiled, as_bytes(text)):
        yield (match[compiled.groups] or b"").decode("utf-8", "replace")


def _extract(text: str, pattern: str) -> Optional:
    found = next(_regex_groups_texts(text, pattern), None)
    # An empty group counts as missing, an empty whole match does not.
    if found is None or (not found and _regex_compile(pattern).groups):
        return NONE
    return Optional(present=True, value=found)


def _extract_all(text: str, pattern: str) -> TextList:
    grouped = _regex_compile(pattern).groups > 0
    return TextList(found for found in _regex_groups_texts(text, pattern) if found or not grouped)


REGEX_GROUPS = Library(
    "regex groups",
    (
        function("regex.replace(string, string, string) -> string", _regex_replace),
        function("regex.replace(string, string, string, int) -> string", _regex_replace),
        function("regex.extract(string, string) -> optional<string>", _extract),
        function("regex.extractAll(string, string) -> list<string>", _extract_all),
    ),
)
