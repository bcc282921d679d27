"""Text → tokens.

Source of the grammar: upstream cel-go parser/gen/CEL.g4.
"""

import re
from typing import NamedTuple

from kyvsim.cel.errors import Issue

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
            issues.append(Issue(at, f"Syntax error: token recognition error at: '{_shown(piece)}'"))
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


def _shown(piece: str) -> str:
    return piece.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
