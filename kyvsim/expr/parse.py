"""Text → syntax tree: jmespath's parser, made as strict, as lenient and as wordy as upstream's.

upstream: kyverno/go-jmespath `parser.go`. Differences to the Python parser: `[:::]` is a slice, a
slice after an index is a projection, more than a field can name a function, and a broken index at
the start of an expression or a call of nothing fails only when it is evaluated.
"""

from types import MappingProxyType
from typing import Any, Final, NoReturn, TypeAlias

from jmespath.exceptions import ParseError
from jmespath.parser import Parser

from kyvsim.expr.errors import QuerySyntaxError
from kyvsim.expr.tokens import Token, json_value, tokenize

Tree: TypeAlias = dict[str, Any]
"""A node: `type`, `children` and, for some types, `value`."""

_INT64: Final = 1 << 63
_KEYS: Final = ("quoted_identifier", "unquoted_identifier")
_NAMING: Final = ("field", "literal", "function_expression")
"""Nodes that name a function when a parenthesis follows: `'f'(a)` and `f(a)(b)` call `f`."""

_AFTER_DOT: Final = (*_KEYS, "lbracket", "lbrace", "star")


def parse(expression: str, *, bindings: bool = False) -> Tree:
    """Return the syntax tree of an expression; raise `QuerySyntaxError` where it is none.

    With `bindings` it may hold names such as `$name`.
    """
    try:
        return _GoParser().tree(expression, bindings=bindings)
    except ParseError as error:
        message, offset = str(error.msg), error.lex_position
    except IndexError:
        message, offset = "Incomplete expression", len(expression)
    except RecursionError:
        message, offset = "the expression is nested too deeply", 0
    raise QuerySyntaxError(f"SyntaxError: {message}", expression, offset)


def _reject(message: str, token: Token) -> NoReturn:
    raise ParseError(token["start"], token["value"], token["type"], message)


class _GoParser(Parser):  # type: ignore[misc]  # jmespath has no types
    """jmespath's parser with upstream's decisions and words."""

    BINDING_POWER = MappingProxyType({**Parser.BINDING_POWER, "unknown": 0, "variable": 0})

    def tree(self, expression: str, *, bindings: bool) -> Tree:
        """Return the tree; raise `ParseError` or `QuerySyntaxError`."""
        self._text = expression
        self._tokens = tokenize(expression, bindings=bindings)
        self._index = 0
        parsed: Tree = self._expression()
        if self._current_token() != "eof":
            token = self._lookahead_token(0)
            _reject(f"Unexpected token at the end of the expression: {token['name']}", token)
        return parsed

    def _token_nud_lbracket(self, token: Token) -> Tree:
        if self._current_token() not in {"number", "colon"}:
            return super()._token_nud_lbracket(token)  # type: ignore[no-any-return]
        try:
            right = self._parse_index_expression()
        except ParseError:
            return {"type": "empty", "children": []}
        return self._project_if_slice({"type": "identity", "children": []}, right)  # type: ignore[no-any-return]

    def _token_led_lbracket(self, left: Tree) -> Tree:
        if self._current_token() in {"number", "colon"}:
            right = self._parse_index_expression()
            return self._project_if_slice(left, right)  # type: ignore[no-any-return]
        return super()._token_led_lbracket(left)  # type: ignore[no-any-return]

    def _token_led_lparen(self, left: Tree) -> Tree:
        named = left["type"] in _NAMING and left["value"].__class__ is str
        name = left["value"] if named else ""
        call: Tree = super()._token_led_lparen({"type": "field", "children": [], "value": name})
        return call if named else {**call, "type": "nameless_call", "value": None}

    def _token_nud_literal(self, token: Token) -> Tree:
        value = token["value"]
        if token["name"] == "tJSONLiteral":
            value = json_value(value, self._text, token["start"])
        return {"type": "literal", "value": value, "children": []}

    def _token_nud_variable(self, token: Token) -> Tree:
        return {"type": "variable", "value": token["value"], "children": []}

    def _token_nud_quoted_identifier(self, token: Token) -> Tree:
        if self._current_token() == "lparen":
            _reject("Can't have quoted identifier as function Name.", token)
        return super()._token_nud_quoted_identifier(token)  # type: ignore[no-any-return]

    def _parse_index_expression(self) -> Tree:
        if "colon" in {self._lookahead(0), self._lookahead(1)}:
            return self._parse_slice_expression()
        place = _whole_number(self._lookahead_token(0))
        self._advance()
        self._match("rbracket")
        return {"type": "index", "value": place, "children": []}

    def _parse_slice_expression(self) -> Tree:
        parts: list[int | None] = [None, None, None, None]
        place = 0
        while (kind := self._current_token()) != "rbracket" and place < 3:
            token = self._lookahead_token(0)
            if kind == "colon":
                place += 1
            elif kind == "number":
                parts[place] = _whole_number(token)
            else:
                _reject(f"Expected tColon or tNumber, received: {token['name']}", token)
            self._advance()
        self._match("rbracket")
        return {"type": "slice", "children": parts[:3]}

    def _parse_dot_rhs(self, binding_power: int) -> Tree:
        token = self._lookahead_token(0)
        if token["type"] not in _AFTER_DOT:
            _reject("Expected identifier, lbracket, or lbrace", token)
        return super()._parse_dot_rhs(binding_power)  # type: ignore[no-any-return]

    def _match(self, token_type: str) -> None:
        token = self._lookahead_token(0)
        if token["type"] != token_type:
            wanted = f"t{token_type.capitalize()}"
            _reject(f"Expected {wanted}, received: {token['name']}", token)
        self._advance()

    def _match_multiple_tokens(self, token_types: list[str]) -> None:
        token = self._lookahead_token(0)
        if token["type"] not in token_types:
            _reject("Expected tQuotedIdentifier or tUnquotedIdentifier", token)
        self._advance()

    def _error_nud_token(self, token: Token) -> NoReturn:
        if token["type"] == "eof":
            _reject("Incomplete expression", token)
        _reject(f"Invalid token: {token['name']}", token)

    def _raise_parse_error_for_token(self, token: Token, _: str) -> NoReturn:
        _reject("Error", token)

    def _error_led_token(self, token: Token) -> NoReturn:
        _reject(f"Unexpected token: {token['name']}", token)


def _whole_number(token: Token) -> int:
    text = token["value"]
    if token["type"] != "number" or text == "-":
        _reject(f'strconv.Atoi: parsing "{text}": invalid syntax', token)
    number = int(text) if len(text) < 21 else _INT64
    if not -_INT64 <= number < _INT64:
        _reject(f'strconv.Atoi: parsing "{text}": value out of range', token)
    return number
