"""Text → tokens.

upstream: kyverno/go-jmespath `lexer.go`. Differences to the Python lexer: a literal in backticks
must be JSON, only a quote can be escaped in a raw string, a lone `=` or `-` is a token (that no
expression can hold).
"""

import re
from types import MappingProxyType
from typing import Any, Final, NoReturn, TypeAlias

from kyvsim.expr.errors import QuerySyntaxError
from kyvsim.go.json import JsonError, parse_json
from kyvsim.kube.objects import Json

Token: TypeAlias = dict[str, Any]
"""`type`, `value`, `start` in the text, and `name`: upstream's name of the type.

The value of a literal in backticks is its text: the parser decodes it when it gets there.
"""

_TOKEN: Final = re.compile(
    r"""(?P<blank>[ \t\n\r]+)
    |(?P<unquoted_identifier>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<number>-[0-9]*|[0-9]+)
    |(?P<quoted_identifier>"(?:\\.|[^"\\])*+")
    |(?P<literal>`(?:\\.|[^`\\])*+`)
    |(?P<raw>'(?:\\'|[^'])*+')
    |(?P<variable>\$[A-Za-z_][A-Za-z0-9_]*)
    |(?P<symbol>\[\?|\[\]|\|\||&&|[<>!=]=|[][.*,:@(){}|<>!&=])""",
    re.VERBOSE | re.DOTALL,
)
_SYMBOLS: Final = MappingProxyType(
    {
        "[?": ("filter", "tFilter"),
        "[]": ("flatten", "tFlatten"),
        "[": ("lbracket", "tLbracket"),
        "]": ("rbracket", "tRbracket"),
        ".": ("dot", "tDot"),
        "*": ("star", "tStar"),
        ",": ("comma", "tComma"),
        ":": ("colon", "tColon"),
        "@": ("current", "tCurrent"),
        "(": ("lparen", "tLparen"),
        ")": ("rparen", "tRparen"),
        "{": ("lbrace", "tLbrace"),
        "}": ("rbrace", "tRbrace"),
        "||": ("or", "tOr"),
        "|": ("pipe", "tPipe"),
        "&&": ("and", "tAnd"),
        "&": ("expref", "tExpref"),
        "==": ("eq", "tEQ"),
        "!=": ("ne", "tNE"),
        "<=": ("lte", "tLTE"),
        "<": ("lt", "tLT"),
        ">=": ("gte", "tGTE"),
        ">": ("gt", "tGT"),
        "!": ("not", "tNot"),
        "=": ("unknown", "tUnknown"),
    }
)
_QUOTES: Final = ('"', "'", "`")


def tokenize(expression: str, *, bindings: bool = False) -> list[Token]:
    """Return the tokens, the last one of type `eof`; raise `QuerySyntaxError`.

    With `bindings` a `$name` is a token.
    """
    tokens: list[Token] = []
    position, end = 0, len(expression)
    while position < end:
        found = _TOKEN.match(expression, position)
        if found is None or (found.lastgroup == "variable" and not bindings):
            _reject_character(expression, position)
        text, kind = found[0], str(found.lastgroup)
        if kind != "blank":
            tokens.append(_token(kind, text, expression, position))
        position = found.end()
    tokens.append({"type": "eof", "value": "", "start": end, "name": "tEOF"})
    return tokens


def _token(kind: str, text: str, expression: str, start: int) -> Token:
    name, value = "", text
    if kind == "symbol":
        kind, name = _SYMBOLS[text]
    elif kind == "unquoted_identifier":
        name = "tUnquotedIdentifier"
    elif kind == "number":
        name = "tNumber"
    elif kind == "variable":
        name, value = "tVariable", text[1:]
    elif kind == "raw":
        kind, name, value = "literal", "tStringLiteral", text[1:-1].replace("\\'", "'")
    elif kind == "literal":
        name, value = "tJSONLiteral", text[1:-1].replace("\\`", "`")
    else:
        name, value = "tQuotedIdentifier", json_value(text, expression, start)
    return {"type": kind, "value": value, "start": start, "name": name}


def _reject_character(expression: str, position: int) -> NoReturn:
    character = expression[position]
    if character in _QUOTES:
        message, position = f"Unclosed delimiter: {character}", len(expression)
    else:
        message = f"Unknown char: {character!a}"
    raise QuerySyntaxError(f"SyntaxError: {message}", expression, position)


def json_value(text: str, expression: str, start: int) -> Json:
    """Return the value of a JSON text as encoding/json reads it; raise `QuerySyntaxError`."""
    try:
        return parse_json(text)
    except JsonError as error:
        raise QuerySyntaxError(str(error), expression, start) from None
