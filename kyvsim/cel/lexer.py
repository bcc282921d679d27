"""Text to tokens, and the values of number and string tokens."""

import re
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.cel.errors import Issue
from kyvsim.cel.values import UInt

# Text → tokens.
#
# Source of the grammar: upstream cel-go parser/gen/CEL.g4.

_TEXT_BODY = (
    r"(?:\\[abfnrtv\"'\\?`]|\\[xX][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}"
    r"|\\[0-3][0-7]{2}"
)
_STRING = (
    rf'"""{_TEXT_BODY}|[^\\])*?"""'
    rf"|'''{_TEXT_BODY}|[^\\])*?'''"
    rf'|"{_TEXT_BODY}|[^\\"\n\r]++)*+"'
    rf"|'{_TEXT_BODY}|[^\\'\n\r]++)*+'"
    r'|[rR]"""(?:.|\n)*?"""'
    r"|[rR]'''(?:.|\n)*?'''"
    r'|[rR]"[^"\n\r]*"'
    r"|[rR]'[^'\n\r]*'"
)
_TOKEN = re.compile(
    r"(?P<space>(?:[\t \r\n\f]+|//[^\n]*)+)"
    rf"|(?P<bytes>[bB](?:{_STRING}))"
    rf"|(?P<string>{_STRING})"
    r"|(?P<double>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+"
    r"|\.[0-9]+(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<uint>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])"
    r"|(?P<int>0x[0-9a-fA-F]+|[0-9]+)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<escaped>`[A-Za-z0-9_./ -]+`)"
    r"|(?P<sign>==|!=|<=|>=|&&|\|\||[\[\]{}().,<>?:+*/%!-])"
)
_UNENDED = re.compile(r"[rRbB]{0,2}(\"|')[^\n\r]*")


class Token(NamedTuple):
    """A piece of the text; `kind` is `sign` for operators and for the words `in`, `true`, …."""

    kind: str
    text: str
    at: int


KEYWORDS = frozenset({"in", "true", "false", "null"})


def tokenize(text: str) -> tuple[list[Token], list[Issue]]:
    """Return the tokens with an `end` token last, and an issue for each piece that is none."""
    tokens: list[Token] = []
    issues: list[Issue] = []
    at, end = 0, len(text)
    while at < end:
        found = _TOKEN.match(text, at)
        if found is None:
            piece = _unknown(text, at)
            shown = piece.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
            issues.append(Issue(at, f"Syntax error: token recognition error at: '{shown}'"))
            at += len(piece)
            continue
        kind = found.lastgroup or ""
        if kind == "name" and found[0] in KEYWORDS:
            kind = "sign"
        if kind != "space":
            tokens.append(Token(kind, found[0], at))
        at = found.end()
    tokens.append(Token("end", "<EOF>", end))
    return tokens, issues


def _unknown(text: str, at: int) -> str:
    unended = _UNENDED.match(text, at)
    if unended:
        return unended[0]
    # A sign of two characters that is cut short takes the one that spoils it along.
    return text[at : at + 2] if text[at] in "=&|" else text[at]


# What the texts of number and string tokens stand for.
#
# Source of the rules: upstream cel-go parser/unescape.go, parser/parser.go.

_ESCAPE = re.compile(r"\\(?:[xX]([0-9a-fA-F]{2})|u(.{4})|U(.{8})|([0-3][0-7]{2})|(.))", re.DOTALL)
_SIMPLE = MappingProxyType(dict(zip("abfnrtv\\'\"`?", "\a\b\f\n\r\t\v\\'\"`?", strict=True)))
_LIMIT = 1 << 63
_MAX_DIGITS = 400


def read_int(text: str) -> int:
    """Return the int that a token writes; raises ValueError where it is no int64."""
    negative = text.startswith("-")
    digits = text[1:] if negative else text
    number = _digits(digits)
    number = -number if negative else number
    if not -_LIMIT <= number < _LIMIT:
        raise ValueError("invalid int literal")
    return number


def _digits(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        return 2 * _LIMIT
    return int(text, 16 if text.startswith("0x") else 10)


def read_uint(text: str) -> UInt:
    """Return the uint that a token writes; raises ValueError where it is no uint64."""
    digits = text[:-1]
    number = _digits(digits)
    if number >= 2 * _LIMIT:
        raise ValueError("invalid uint literal")
    return UInt(number)


def read_double(text: str) -> float:
    """Return the double that a token writes; raises ValueError where it is out of range."""
    number = float(text)
    if number in {float("inf"), float("-inf")}:
        raise ValueError("invalid double literal")
    return number


def read_string(token: str) -> str:
    """Return the text that a string token writes; raises ValueError on a bad escape."""
    body, raw = _body(token)
    if raw or "\\" not in body:
        return body
    return _ESCAPE.sub(_character, body)


def read_bytes(token: str) -> bytes:
    """Return the bytes that a bytes token writes; raises ValueError on a bad escape."""
    body, raw = _body(token[1:])
    if raw or "\\" not in body:
        return body.encode()
    pieces: list[bytes] = []
    start = 0
    for found in _ESCAPE.finditer(body):
        pieces.append(body[start : found.start()].encode())
        pieces.append(_byte(found))
        start = found.end()
    pieces.append(body[start:].encode())
    return b"".join(pieces)


def _body(token: str) -> tuple[str, bool]:
    raw = token[0] in "rR"
    text = (token[1:] if raw else token).replace("\r\n", "\n").replace("\r", "\n")
    quotes = 3 if text[:3] in {'"""', "'''"} and len(text) >= 6 else 1
    return text[quotes:-quotes], raw


def _character(found: re.Match[str]) -> str:
    byte, short, long, octal, simple = found.groups()
    if simple is not None:
        return _SIMPLE[simple]
    code = int(octal, 8) if octal else int(byte or short or long, 16)
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise ValueError("invalid unicode code point")
    return chr(code)


def _byte(found: re.Match[str]) -> bytes:
    byte, short, long, octal, simple = found.groups()
    if short or long:
        raise ValueError("unable to unescape string")
    if simple is not None:
        return _SIMPLE[simple].encode()
    return bytes([int(octal, 8) & 0xFF if octal else int(byte, 16)])
