"""Parses text to syntax trees, as strict and lenient as upstream's parser, with its messages.

upstream: kyverno/go-jmespath `parser.go`, an operator-precedence parser. Differences to other
parsers: `[:::]` is a slice, a slice after an index is a projection, not only fields can name a
function, and a broken index at the start of an expression or a call of nothing only fails when
it is evaluated.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, NoReturn, TypeAlias, TypedDict

from kyvsim.kubernetes.go_text import JsonError, parse_json


class QuerySyntaxError(ValueError):
    """An expression that is not valid JMESPath; `offset` counts characters from 0."""

    def __init__(self, message: str, expression: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.expression = expression
        self.offset = offset


# Text → tokens.
#
# upstream: kyverno/go-jmespath `lexer.go`. Differences to the Python lexer: a literal in
# backticks must be JSON, only quotes can be escaped in a raw string, a single `=` or `-` is a
# token (which no expression can contain).


class Token(TypedDict):
    """A token of the text."""

    type: str
    value: str
    """For a literal in backticks, its text: the parser decodes it."""
    start: int
    name: str
    """Upstream's name of the type."""


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
    dict(
        one.split()
        for one in (
            *("[? tFilter", "[] tFlatten", "[ tLbracket", "] tRbracket", "( tLparen", ") tRparen"),
            *("{ tLbrace", "} tRbrace", ". tDot", "* tStar", ", tComma", ": tColon", "@ tCurrent"),
            *("|| tOr", "| tPipe", "&& tAnd", "& tExpref", "! tNot", "= tUnknown"),
            *("== tEQ", "!= tNE", "<= tLTE", "< tLT", ">= tGTE", "> tGT"),
        )
    )
)
"""Upstream's name of each symbol's type; the type is the same in lower case."""
_QUOTES: Final = ('"', "'", "`")


def tokenize(expression: str, *, bindings: bool = False) -> list[Token]:
    """Return the tokens, the last one of type `eof`; raise `QuerySyntaxError`.

    With `bindings`, `$name` is a token.
    """
    tokens: list[Token] = []
    position, end = 0, len(expression)
    while position < end:
        found = _TOKEN.match(expression, position)
        if found is None or (found.lastgroup == "variable" and not bindings):
            character = expression[position]
            if character in _QUOTES:
                message, position = f"Unclosed delimiter: {character}", len(expression)
            else:
                message = f"Unknown char: {character!a}"
            raise QuerySyntaxError(f"SyntaxError: {message}", expression, position)
        text, kind = found[0], str(found.lastgroup)
        if kind != "blank":
            tokens.append(_token(kind, text, expression, position))
        position = found.end()
    tokens.append({"type": "eof", "value": "", "start": end, "name": "tEOF"})
    return tokens


def _token(kind: str, text: str, expression: str, start: int) -> Token:
    name, value = "", text
    if kind == "symbol":
        name = _SYMBOLS[text]
        kind = name[1:].lower()
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
        name, value = "tQuotedIdentifier", str(_json_value(text, expression, start))
    return {"type": kind, "value": value, "start": start, "name": name}


def _json_value(text: str, expression: str, start: int) -> object:
    """Return the value of JSON text like encoding/json; raise `QuerySyntaxError`."""
    try:
        return parse_json(text)
    except JsonError as error:
        raise QuerySyntaxError(str(error), expression, start) from None


Tree: TypeAlias = dict[str, Any]
"""A node: `type`, `children` and, for some types, `value`."""

_SHORT: Final = 500
_INT64: Final = 1 << 63
_COMPARATORS: Final = ("eq", "ne", "lt", "lte", "gt", "gte")
_POWERS: Final = MappingProxyType(
    {"pipe": 1, "or": 2, "and": 3}
    | dict.fromkeys(_COMPARATORS, 5)
    | {"flatten": 9, "star": 20, "filter": 21, "dot": 40, "not": 45, "lbrace": 50}
    | {"lbracket": 55, "lparen": 60}
)
"""The binding power of tokens; all others end an expression."""
_ENDS_PROJECTION: Final = 10
"""A token of lower power applies to the whole projection before it."""
_KEYS: Final = ("quoted_identifier", "unquoted_identifier")
_NAMING: Final = ("field", "literal", "function_expression")
"""Nodes that are function names if a parenthesis follows: `'f'(a)` and `f(a)(b)` call `f`."""
_CONNECTED: Final = MappingProxyType(
    {"pipe": "pipe", "or": "or_expression", "and": "and_expression"}
)


def parse(expression: str, *, bindings: bool = False, with_spans: bool = False) -> Tree:
    """Return the syntax tree of an expression; raise `QuerySyntaxError` if it is invalid.

    With `bindings` it may contain names such as `$name`. With `with_spans` each node that is an
    expression has a `span`: its start and end in the text. Trees of short texts are cached, and
    never changed: checks and compilation share them.
    """
    if not with_spans and len(expression) <= _SHORT:
        return _remembered(expression, bindings, with_spans=False)
    return _parse(expression, bindings, with_spans=with_spans)


def _parse(expression: str, bindings: bool, *, with_spans: bool) -> Tree:
    try:
        tokens = tokenize(expression, bindings=bindings)
        return _ExpressionParser(expression, tokens, with_spans).whole()
    except RecursionError:
        message = "SyntaxError: the expression is nested too deeply"
        raise QuerySyntaxError(message, expression, 0) from None


_remembered = lru_cache(maxsize=256)(_parse)


def _node(kind: str, *children: object) -> Tree:
    return {"type": kind, "children": [*children]}


def _named_node(kind: str, value: object, *children: object) -> Tree:
    return {"type": kind, "children": [*children], "value": value}


class _ExpressionParser:
    """Parses the tokens of one expression."""

    __slots__ = ("_at", "_tokens", "_with_spans", "kind", "text", "token")

    def __init__(self, text: str, tokens: list[Token], with_spans: bool) -> None:
        self.text = text
        self._tokens = tokens
        self._with_spans = with_spans
        self._at = 0
        self.token = tokens[0]
        self.kind = self.token["type"]

    def whole(self) -> Tree:
        tree = self.expression(0)
        if self.kind != "eof":
            name = self.token["name"]
            self.reject(f"Unexpected token at the end of the expression: {name}", self.token)
        return tree

    @property
    def following(self) -> str:
        """The type of the next token; not used at the last one."""
        return self._tokens[self._at + 1]["type"]

    def take(self) -> Token:
        """Return the current token and advance, except at the last one."""
        taken = self.token
        if taken["type"] != "eof":
            self._at += 1
            self.token = self._tokens[self._at]
            self.kind = self.token["type"]
        return taken

    def match(self, kind: str) -> None:
        """Skip a token of this type; reject others."""
        if self.kind != kind:
            received = self.token["name"]
            self.reject(f"Expected t{kind.capitalize()}, received: {received}", self.token)
        self.take()

    def reject(self, message: str, token: Token) -> NoReturn:
        """Raise the syntax error for a token."""
        raise QuerySyntaxError(f"SyntaxError: {message}", self.text, token["start"])

    def expression(self, power: int) -> Tree:
        """Return the expression at the current token, up to a token of at most this power."""
        token = self.take()
        begin = _BEGINNINGS.get(token["type"])
        if begin is None:
            ended = token["type"] == "eof"
            self.reject(
                "Incomplete expression" if ended else f"Invalid token: {token['name']}", token
            )
        left = begin(self, token)
        while power < _POWERS.get(self.kind, 0):
            go_on = _CONTINUATIONS.get(self.kind)
            if go_on is None:
                self.reject(f"Unexpected token: {self.token['name']}", self.token)
            self._note(left, token)
            left = go_on(self, left, self.take())
        self._note(left, token)
        return left

    def _note(self, tree: Tree, first: Token) -> None:
        """Record the span of an expression that ends before the current token."""
        if self._with_spans:
            tree["span"] = first["start"], self.token["start"]

    def projected(self, power: int) -> Tree:
        """Return the expression to evaluate for each element of a projection."""
        kind = self.kind
        if _POWERS.get(kind, 0) < _ENDS_PROJECTION:
            return _node("identity")
        if kind in {"lbracket", "filter"}:
            return self.expression(power)
        if kind != "dot":
            self.reject("Error", self.token)
        self.take()
        return self.after_dot(power)

    def after_dot(self, power: int) -> Tree:
        kind = self.kind
        if kind in _KEYS or kind == "star":
            return self.expression(power)
        if kind not in {"lbracket", "lbrace"}:
            self.reject("Expected identifier, lbracket, or lbrace", self.token)
        self.take()
        return self.elements() if kind == "lbracket" else self.fields()

    def elements(self) -> Tree:
        found = [self.expression(0)]
        while self.kind != "rbracket":
            self.match("comma")
            found.append(self.expression(0))
        self.take()
        return _node("multi_select_list", *found)

    def fields(self) -> Tree:
        found = []
        while True:
            if self.kind not in _KEYS:
                self.reject("Expected tQuotedIdentifier or tUnquotedIdentifier", self.token)
            name = self.take()["value"]
            self.match("colon")
            found.append(_named_node("key_val_pair", name, self.expression(0)))
            if self.kind == "rbrace":
                self.take()
                return _node("multi_select_dict", *found)
            if self.kind == "comma":
                self.take()

    def indexed(self, left: Tree, right: Tree) -> Tree:
        """Return the element or the slice of `left`."""
        found = _node("index_expression", left, right)
        if right["type"] != "slice":
            return found
        return _node("projection", found, self.projected(_POWERS["star"]))

    def index(self) -> Tree:
        if "colon" in {self.kind, self.following}:
            return self.slice()
        place = self.whole_number(self.token)
        self.take()
        self.match("rbracket")
        return _named_node("index", place)

    def slice(self) -> Tree:
        parts: list[int | None] = [None, None, None, None]
        place = 0
        while self.kind != "rbracket" and place < 3:
            token = self.token
            if token["type"] == "colon":
                place += 1
            elif token["type"] == "number":
                parts[place] = self.whole_number(token)
            else:
                self.reject(f"Expected tColon or tNumber, received: {token['name']}", token)
            self.take()
        self.match("rbracket")
        return _node("slice", *parts[:3])

    def whole_number(self, token: Token) -> int:
        text = token["value"]
        if token["type"] != "number" or text == "-":
            self.reject(f'strconv.Atoi: parsing "{text}": invalid syntax', token)
        number = int(text) if len(text) < 21 else _INT64
        if not -_INT64 <= number < _INT64:
            self.reject(f'strconv.Atoi: parsing "{text}": value out of range', token)
        return number


def _literal(parser: _ExpressionParser, token: Token) -> Tree:
    is_json = token["name"] == "tJSONLiteral"
    value = _json_value(token["value"], parser.text, token["start"]) if is_json else token["value"]
    return _named_node("literal", value)


def _quoted_field(parser: _ExpressionParser, token: Token) -> Tree:
    if parser.kind == "lparen":
        parser.reject("Can't have quoted identifier as function Name.", token)
    return _named_node("field", token["value"])


def _all_values(parser: _ExpressionParser, _: Token) -> Tree:
    ended = parser.kind == "rbracket"
    right = _node("identity") if ended else parser.projected(_POWERS["star"])
    return _node("value_projection", _node("identity"), right)


def _in_parentheses(parser: _ExpressionParser, _: Token) -> Tree:
    inner = parser.expression(0)
    parser.match("rparen")
    return inner


def _bracket(parser: _ExpressionParser, _: Token) -> Tree:
    if parser.kind in {"number", "colon"}:
        try:
            right = parser.index()
        except QuerySyntaxError:
            return _node("empty")
        return parser.indexed(_node("identity"), right)
    if parser.kind == "star" and parser.following == "rbracket":
        return _of_each(parser, _node("identity"))
    return parser.elements()


def _of_each(parser: _ExpressionParser, left: Tree) -> Tree:
    parser.match("star")
    parser.match("rbracket")
    return _node("projection", left, parser.projected(_POWERS["star"]))


def _subexpression(parser: _ExpressionParser, left: Tree, _: Token) -> Tree:
    if parser.kind == "star":
        parser.take()
        return _node("value_projection", left, parser.projected(_POWERS["dot"]))
    right = parser.after_dot(_POWERS["dot"])
    if left["type"] == "subexpression":
        left["children"].append(right)
        return left
    return _node("subexpression", left, right)


def _connection(parser: _ExpressionParser, left: Tree, token: Token) -> Tree:
    kind = token["type"]
    return _node(_CONNECTED[kind], left, parser.expression(_POWERS[kind]))


def _comparison(parser: _ExpressionParser, left: Tree, token: Token) -> Tree:
    kind = token["type"]
    return _named_node("comparator", kind, left, parser.expression(_POWERS[kind]))


def _call(parser: _ExpressionParser, left: Tree, _: Token) -> Tree:
    arguments = []
    while parser.kind != "rparen":
        arguments.append(parser.expression(0))
        if parser.kind == "comma":
            parser.take()
    parser.take()
    if left["type"] in _NAMING and left["value"].__class__ is str:
        return _named_node("function_expression", left["value"], *arguments)
    return _named_node("nameless_call", None, *arguments)


def _filter(parser: _ExpressionParser, left: Tree, _: Token) -> Tree:
    condition = parser.expression(0)
    parser.match("rbracket")
    flattened = parser.kind == "flatten"
    right = _node("identity") if flattened else parser.projected(_POWERS["filter"])
    return _node("filter_projection", left, right, condition)


def _flattened(parser: _ExpressionParser, left: Tree, _: Token) -> Tree:
    return _node("projection", _node("flatten", left), parser.projected(_POWERS["flatten"]))


def _element(parser: _ExpressionParser, left: Tree, _: Token) -> Tree:
    if parser.kind in {"number", "colon"}:
        return parser.indexed(left, parser.index())
    return _of_each(parser, left)


_BEGINNINGS: Final[Mapping[str, Callable[[_ExpressionParser, Token], Tree]]] = {
    "literal": _literal,
    "variable": lambda _, token: _named_node("variable", token["value"]),
    "unquoted_identifier": lambda _, token: _named_node("field", token["value"]),
    "quoted_identifier": _quoted_field,
    "star": _all_values,
    "filter": lambda parser, token: _filter(parser, _node("identity"), token),
    "flatten": lambda parser, token: _flattened(parser, _node("identity"), token),
    "lbrace": lambda parser, _: parser.fields(),
    "lparen": _in_parentheses,
    "lbracket": _bracket,
    "not": lambda parser, _: _node("not_expression", parser.expression(_POWERS["not"])),
    "current": lambda _parser, _token: _node("current"),
    "expref": lambda parser, _: _node("expref", parser.expression(0)),
}
"""The parsers of tokens at the start of an expression."""
_CONTINUATIONS: Final[Mapping[str, Callable[[_ExpressionParser, Tree, Token], Tree]]] = (
    MappingProxyType(
        {
            "dot": _subexpression,
            "filter": _filter,
            "flatten": _flattened,
            "lbracket": _element,
            "lparen": _call,
        }
        | dict.fromkeys(_CONNECTED, _connection)
        | dict.fromkeys(_COMPARATORS, _comparison)
    )
)
"""The parsers of tokens after an expression."""
