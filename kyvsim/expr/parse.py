"""Text → syntax tree: jmespath's parser, made as strict and as lenient as upstream's.

upstream: kyverno/go-jmespath `lexer.go` and `parser.go`. Differences to the Python parser: a literal
in backticks must be JSON, only a quote can be escaped in a raw string, whole numbers must fit
int64, `[:::]` is a slice, a slice after an index is a projection, a raw string can name a function.
"""

import json
import math
import re
from typing import Any, Final, NoReturn, TypeAlias

from jmespath.exceptions import IncompleteExpressionError, JMESPathError, ParseError
from jmespath.parser import Parser

from kyvsim.expr.errors import QuerySyntaxError
from kyvsim.kube.objects import Json

Tree: TypeAlias = dict[str, Any]
"""A node: `type`, `children` and, for some types, `value`."""

_TOKEN: Final = re.compile(
    r"""(?P<blank>[ \t\n\r]+)
    |(?P<unquoted_identifier>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<number>-?[0-9]+)
    |(?P<quoted_identifier>"(?:\\.|[^"\\])*+")
    |(?P<literal>`(?:\\.|[^`\\])*+`)
    |(?P<raw>'(?:\\'|[^'])*+')
    |(?P<symbol>\[\?|\[\]|\|\||&&|[<>!=]=|[][.*,:@(){}|<>!&])""",
    re.VERBOSE | re.DOTALL,
)
_SYMBOLS: Final = (
    "[? filter [] flatten [ lbracket ] rbracket . dot * star , comma : colon @ current "
    "( lparen ) rparen { lbrace } rbrace || or | pipe && and & expref "
    "== eq != ne <= lte < lt >= gte > gt ! not"
).split()
_SYMBOL_TYPES: Final = tuple(zip(_SYMBOLS[::2], _SYMBOLS[1::2], strict=True))
_CLOSERS: Final = ('"', "'", "`")
_INT64: Final = 1 << 63
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def parse(expression: str) -> Tree:
    """Return the syntax tree of an expression; raise `QuerySyntaxError` where it is none."""
    try:
        return _GoParser().tree(expression)
    except IncompleteExpressionError:
        message, offset = "Incomplete expression", len(expression)
    except ParseError as error:
        message, offset = str(error.msg), int(error.lex_position)
    except JMESPathError as error:
        message, offset = str(error), 0
    except IndexError:
        message, offset = "Incomplete expression", len(expression)
    except RecursionError:
        message, offset = "the expression is nested too deeply", 0
    raise QuerySyntaxError(f"SyntaxError: {message}", expression, offset) from None


class _GoParser(Parser):  # type: ignore[misc]  # jmespath has no types
    """jmespath's parser with upstream's decisions."""

    def tree(self, expression: str) -> Tree:
        """Return the tree; raise one of jmespath's errors or `QuerySyntaxError`."""
        self._tokens = _tokenize(expression)
        self._index = 0
        parsed: Tree = self._expression()
        if self._current_token() != "eof":
            token = self._lookahead_token(0)
            message = f"Unexpected token at the end of the expression: {token['value']}"
            raise ParseError(token["start"], token["value"], token["type"], message)
        return parsed

    def _token_nud_lbracket(self, token: Tree) -> Tree:
        """`[0` at the start of an expression is accepted upstream; it fails in evaluation."""
        if self._current_token() not in {"number", "colon"}:
            return super()._token_nud_lbracket(token)  # type: ignore[no-any-return]
        try:
            right = self._parse_index_expression()
        except (ParseError, IncompleteExpressionError):
            return {"type": "empty", "children": []}
        return self._project_if_slice({"type": "identity", "children": []}, right)  # type: ignore[no-any-return]

    def _token_led_lbracket(self, left: Tree) -> Tree:
        """A slice after an index starts a projection; jmespath adds it to the index."""
        if self._current_token() in {"number", "colon"}:
            right = self._parse_index_expression()
            return self._project_if_slice(left, right)  # type: ignore[no-any-return]
        return super()._token_led_lbracket(left)  # type: ignore[no-any-return]

    def _parse_slice_expression(self) -> Tree:
        """`[:::]` is accepted: the third colon ends the slice."""
        parts: list[int | None] = [None, None, None, None]
        place = 0
        while (kind := self._current_token()) != "rbracket" and place < 3:
            if kind == "colon":
                place += 1
            elif kind == "number":
                parts[place] = self._lookahead_token(0)["value"]
            else:
                self._raise_parse_error_for_token(
                    self._lookahead_token(0), "Expected tColon or tNumber"
                )
            self._advance()
        self._match("rbracket")
        return {"type": "slice", "children": parts[:3]}

    def _token_led_lparen(self, left: Tree) -> Tree:
        """A raw string before the parenthesis names a function as a field does."""
        if left["type"] == "literal" and left["value"].__class__ is str:
            left = {"type": "field", "children": [], "value": left["value"]}
        return super()._token_led_lparen(left)  # type: ignore[no-any-return]


def _tokenize(expression: str) -> list[Tree]:
    tokens: list[Tree] = []
    position, end = 0, len(expression)
    symbols = {text: kind for text, kind in _SYMBOL_TYPES}
    while position < end:
        found = _TOKEN.match(expression, position)
        if found is None:
            _reject_character(expression, position)
        text, kind = found[0], str(found.lastgroup)
        if kind == "symbol":
            tokens.append(_token(symbols[text], text, position))
        elif kind != "blank":
            tokens.append(_valued_token(expression, kind, text, position))
        position = found.end()
    tokens.append(_token("eof", "", end))
    return tokens


def _token(kind: str, value: Json, start: int) -> Tree:
    return {"type": kind, "value": value, "start": start, "end": start}


def _valued_token(expression: str, kind: str, text: str, start: int) -> Tree:
    value: Json = text
    if kind == "number":
        value = int(text)
        if not -_INT64 <= value < _INT64:
            raise QuerySyntaxError(
                f'strconv.Atoi: parsing "{text}": value out of range', expression, start
            )
    elif kind == "raw":
        kind, value = "literal", text[1:-1].replace("\\'", "'")
    elif kind == "literal":
        value = _json_value(text[1:-1].replace("\\`", "`"), expression, start)
    elif kind == "quoted_identifier":
        value = _json_value(text, expression, start)
    return _token(kind, value, start)


def _reject_character(expression: str, position: int) -> NoReturn:
    character = expression[position]
    if character in _CLOSERS:
        message, position = f"Unclosed delimiter: {character}", len(expression)
    else:
        message = f"Unknown char: '{character}'"
    raise QuerySyntaxError(f"SyntaxError: {message}", expression, position)


def _json_value(text: str, expression: str, start: int) -> Json:
    """Return the value of a JSON text; numbers are floats, as encoding/json reads them."""
    try:
        value = json.loads(
            text, parse_int=_number, parse_float=_number, parse_constant=_reject_constant
        )
    except (ValueError, RecursionError) as error:
        raise QuerySyntaxError(f"invalid JSON in a literal: {error}", expression, start) from None
    return _without_surrogates(value) if "\\u" in text else value


def _number(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"cannot unmarshal number {text} into Go value of type float64")
    return value


def _reject_constant(text: str) -> NoReturn:
    raise ValueError(f"invalid character '{text[0]}' looking for beginning of value")


def _without_surrogates(value: Json) -> Json:
    """Return the value with halves of surrogate pairs replaced, as encoding/json does."""
    if value.__class__ is str:
        return _SURROGATE.sub("\ufffd", value)
    if value.__class__ is list:
        return [_without_surrogates(item) for item in value]
    if value.__class__ is dict:
        return {_without_surrogates(k): _without_surrogates(v) for k, v in value.items()}
    return value
