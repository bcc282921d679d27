"""Tokens to a tree, with macros expanded; the syntax errors are those of upstream's parser."""

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import count
from types import MappingProxyType

from kyvsim.cel import lexer
from kyvsim.cel.errors import Issue
from kyvsim.cel.lexer import Token, tokenize
from kyvsim.cel.macros import Ids, MacroError, expand
from kyvsim.cel.nodes import (
    Call,
    Ident,
    ListLiteral,
    Literal,
    MapEntry,
    MapLiteral,
    Node,
    Select,
    StructField,
    StructLiteral,
    dotted_name,
)

# A place in a list of tokens, and what upstream's parser says of tokens that do not fit there.
#
# Source of the messages: ANTLR's default error strategy, as upstream cel-go parser/parser.go uses
# it.

_STARTS = frozenset({"[", "{", "(", ".", "-", "!", "true", "false", "null"})
_OPERANDS = frozenset({"int", "uint", "double", "string", "bytes", "name"})


class FirstFaultError(Exception):
    """Parsing cannot go on."""


class TokenCursor:
    """Walks over tokens and collects issues; `depth` is that of the expression at hand."""

    def __init__(self, tokens: list[Token], issues: list[Issue]) -> None:
        self.tokens = tokens
        self.issues = issues
        self.next = 0
        self.depth = 0

    @property
    def here(self) -> Token:
        """The first token that is not taken."""
        return self.tokens[self.next]

    @property
    def following(self) -> Token:
        """The token after the one at hand."""
        return self.tokens[min(self.next + 1, len(self.tokens) - 1)]

    def peek(self) -> str:
        """Return the sign at hand, or "" where something else stands."""
        token = self.tokens[self.next]
        return token.text if token.kind == "sign" else ""

    def take(self) -> Token:
        """Take the token at hand and return it."""
        token = self.tokens[self.next]
        self.next += 1
        return token

    def expect(self, sign: str, *, missing: bool = True) -> None:
        """Take a sign, or fail with what upstream says of its absence."""
        if self.peek() == sign:
            self.take()
            return
        token = self.here
        if token.kind != "end" and self.following.text == sign:
            self.syntax(token.at, f"extraneous input '{token.text}' expecting '{sign}'")
        goes_on = self.starts_operand(0) if sign == ":" else token.kind == "end"
        if missing and goes_on and self.depth <= 1:
            self.syntax(token.at, f"missing '{sign}' at '{token.text}'")
        self.unexpected(f"'{sign}'")

    def starts_operand(self, ahead: int) -> bool:
        """Tell whether the token so far ahead may start an operand."""
        token = self.tokens[min(self.next + ahead, len(self.tokens) - 1)]
        if token.kind == "sign":
            return token.text in _STARTS
        return token.kind in _OPERANDS

    def unwanted(self, expected: str, also: str = "") -> None:
        """Pass over a token that an operand, or `also`, follows; fail where none does."""
        token = self.here
        after = self.following
        if token.kind == "end" or not (self.starts_operand(1) or (also and after.text == also)):
            self.unexpected(expected)
        self.take()
        text = f"Syntax error: extraneous input '{token.text}' expecting {expected}"
        self.issues.append(Issue(token.at, text))

    def expect_end(self) -> None:
        """Fail where tokens are left."""
        if self.here.kind == "end":
            return
        rest = self.following
        how = "extraneous" if rest.kind == "end" else "mismatched"
        self.syntax(self.here.at, f"{how} input '{self.here.text}' expecting <EOF>")

    def unexpected(self, expected: str) -> None:
        """Fail at the token at hand."""
        self.syntax(self.here.at, f"mismatched input '{self.here.text}' expecting {expected}")

    def syntax(self, at: int, message: str) -> None:
        """Fail with a syntax error."""
        self.fail(Issue(at, f"Syntax error: {message}"))

    def fail(self, issue: Issue) -> None:
        """Report an issue and give up."""
        self.issues.append(issue)
        raise FirstFaultError


# Tokens → tree, macros expanded.
#
# Source of the grammar and of the messages: upstream cel-go parser (CEL.g4, parser.go). Where
# upstream's parser recovers and reports further faults, ours stops at the first.

_MAX_SIZE = 100_000
_MAX_DEPTH = 250
_RESERVED = frozenset(
    """
    as break const continue else for function if import let loop package namespace return var void
    while
    """.split()  # noqa: SIM905 — a list of words
)
_LEVELS = (
    frozenset({"<", "<=", ">=", ">", "==", "!=", "in"}),
    frozenset({"+", "-"}),
    frozenset({"*", "/", "%"}),
)
"""The operators on two operands, those that bind less tightly first."""
_NAMES = MappingProxyType(
    {sign: f"_{sign}_" for sign in ("<", "<=", ">=", ">", "==", "!=", *"*/%+-", "&&", "||")}
    | {"in": "@in"}
)
_START = (
    "'.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, "
    "IDENTIFIER}"
)
_OPERAND = f"{{'[', '{{', '(', {_START}"
_INDEX = _OPERAND.replace("'!'", "'!', '?'")
_ARGUMENT = f"{{'[', '{{', '(', ')', {_START}"
_READERS: MappingProxyType[str, Callable[[str], object]] = MappingProxyType(
    {
        "int": lexer.read_int,
        "uint": lexer.read_uint,
        "double": lexer.read_double,
        "string": lexer.read_string,
        "bytes": lexer.read_bytes,
    }
)
_CONSTANTS = MappingProxyType({"true": True, "false": False, "null": None})


class ExpressionSyntaxError(Exception):
    """The text is no expression."""

    def __init__(self, issues: list[Issue]) -> None:
        super().__init__(issues)
        self.issues = issues


@lru_cache(maxsize=512)
def parse(text: str, macros: frozenset[str]) -> Node:
    """Return the tree of an expression; raises `ExpressionSyntaxError`.

    `macros` names the macros to expand, beside those of the language itself.
    """
    if len(text) > _MAX_SIZE:
        size = f"size: {len(text)}, limit {_MAX_SIZE}"
        raise ExpressionSyntaxError(
            [Issue(-1, f"expression code point size exceeds limit: {size}")]
        )
    tokens, issues = tokenize(text)
    parser = _CelParser(TokenCursor(tokens, issues), macros)
    try:
        node = parser.expression()
        parser.cursor.expect_end()
    except FirstFaultError:
        pass
    if issues:
        raise ExpressionSyntaxError(issues)
    return node


class _CelParser:
    """One walk over the tokens."""

    def __init__(self, cursor: TokenCursor, macros: frozenset[str]) -> None:
        self.cursor = cursor
        self.ids: Ids = count(1)
        self.macros = macros

    def call(self, at: int, function: str, *arguments: Node) -> Call:
        return Call(next(self.ids), at, function, None, arguments)

    def expression(self) -> Node:
        self.cursor.depth += 1
        if self.cursor.depth > _MAX_DEPTH:
            self.cursor.fail(Issue(-1, f"expression recursion limit exceeded: {_MAX_DEPTH}"))
        node = self.logical("||")
        if self.cursor.peek() == "?":
            at = self.cursor.take().at
            chosen = self.logical("||")
            self.cursor.expect(":", missing=False)
            node = self.call(at, "_?_:_", node, chosen, self.expression())
        self.cursor.depth -= 1
        return node

    def logical(self, sign: str) -> Node:
        """Parse operands joined by `||` or `&&`; one call takes all of them."""
        operands = [self.operand_of(sign)]
        at = self.cursor.here.at
        while self.cursor.peek() == sign:
            self.cursor.take()
            operands.append(self.operand_of(sign))
        return self.call(at, _NAMES[sign], *operands) if len(operands) > 1 else operands[0]

    def operand_of(self, sign: str) -> Node:
        return self.logical("&&") if sign == "||" else self.binary(0)

    def binary(self, level: int) -> Node:
        """Parse operands joined by the operators of a level, from left to right."""
        if level == len(_LEVELS):
            return self.unary()
        node = self.binary(level + 1)
        while self.cursor.peek() in _LEVELS[level]:
            token = self.cursor.take()
            node = self.call(token.at, _NAMES[token.text], node, self.binary(level + 1))
        return node

    def unary(self) -> Node:
        sign, at = self.cursor.peek(), self.cursor.here.at
        if sign not in {"!", "-"}:
            return self.member()
        signs = 0
        while self.cursor.peek() == sign:
            if sign == "-" and self.cursor.following.kind in {"int", "double"}:
                break
            self.cursor.take()
            signs += 1
        node = self.member()
        return self.call(at, f"{sign}_", node) if signs % 2 else node

    def member(self) -> Node:
        node = self.primary()
        while True:
            sign = self.cursor.peek()
            if sign == ".":
                node = self.selection(node)
            elif sign == "[":
                node = self.index(node)
            elif sign == "{" and (name := dotted_name(node)):
                node = self.struct(name)
            else:
                return node

    def selection(self, operand: Node) -> Node:
        dot = self.cursor.take()
        if self.cursor.peek() == "?":
            self.cursor.take()
            field = self.field(optional=True)
            return Select(next(self.ids), dot.at, operand, field, optional=True)
        if self.cursor.here.kind == "name" and self.cursor.following.text == "(":
            name = self.cursor.take().text
            opening = self.cursor.take()
            return self.expand(opening.at, name, operand, self.arguments())
        return Select(next(self.ids), dot.at, operand, self.field(optional=False))

    def field(self, *, optional: bool) -> str:
        token = self.cursor.here
        if token.kind == "name":
            return self.cursor.take().text
        if token.kind == "escaped":
            return self.cursor.take().text[1:-1]
        if optional:
            self.cursor.unexpected("{IDENTIFIER, ESC_IDENTIFIER}")
        if token.kind == "end":
            self.cursor.syntax(token.at, "no viable alternative at input '.'")
        if token.text in _CONSTANTS:
            self.cursor.syntax(token.at, f"mismatched input '{token.text}' expecting IDENTIFIER")
        self.cursor.syntax(token.at, f"no viable alternative at input '.{token.text}'")
        raise AssertionError  # pragma: no cover — the line above raises

    def index(self, operand: Node) -> Node:
        opening = self.cursor.take()
        optional = self.cursor.peek() == "?"
        if optional:
            self.cursor.take()
        elif not self.cursor.starts_operand(0):
            self.cursor.unwanted(_INDEX)
        key = self.expression()
        self.cursor.expect("]")
        return self.call(opening.at, "_[?_]" if optional else "_[_]", operand, key)

    def arguments(self) -> tuple[Node, ...]:
        if self.cursor.peek() == ")":
            self.cursor.take()
            return ()
        if not self.cursor.starts_operand(0):
            self.cursor.unwanted(_ARGUMENT, ")")
            return self.arguments()
        found = [self.expression()]
        while self.cursor.peek() == ",":
            self.cursor.take()
            found.append(self.expression())
        self.cursor.expect(")")
        return tuple(found)

    def primary(self) -> Node:
        token = self.cursor.here
        if token.kind in _READERS or token.text in _CONSTANTS or token.text == "-":
            return self.literal()
        if token.kind == "name":
            return self.name("")
        if token.kind == "sign":
            if token.text == "." and self.cursor.following.kind == "name":
                self.cursor.take()
                return self.name(".")
            if token.text == "(":
                self.cursor.take()
                node = self.expression()
                self.cursor.expect(")")
                return node
            if token.text == "[":
                return self.list_literal()
            if token.text == "{":
                return self.map_literal()
        self.cursor.unwanted(_OPERAND)
        return self.unary()

    def literal(self) -> Node:
        token = self.cursor.take()
        at, text = token.at, token.text
        if text == "-":
            token = self.cursor.take()
            text = f"-{token.text}"
        value: object = None
        try:
            value = _CONSTANTS[text] if token.kind == "sign" else _READERS[token.kind](text)
        except ValueError as error:
            self.cursor.issues.append(Issue(at, str(error)))
        return Literal(next(self.ids), at, value)

    def name(self, dot: str) -> Node:
        token = self.cursor.take()
        if token.text in _RESERVED:
            self.cursor.fail(Issue(token.at, f"reserved identifier: {token.text}"))
        if self.cursor.peek() != "(":
            return Ident(next(self.ids), token.at, dot + token.text)
        opening = self.cursor.take()
        return self.expand(opening.at, dot + token.text, None, self.arguments())

    def expand(
        self, at: int, function: str, target: Node | None, arguments: tuple[Node, ...]
    ) -> Node:
        call = Call(next(self.ids), at, function, target, arguments)
        try:
            return expand(self.ids, call, self.macros)
        except MacroError as error:
            self.cursor.issues.append(Issue(error.at, str(error)))
            return call

    def parts(self, end: str) -> Iterator[bool]:
        """Go to each part of a list or map; yield whether it is marked as optional."""
        while self.cursor.peek() != end:
            optional = self.cursor.peek() == "?"
            if optional:
                self.cursor.take()
            yield optional
            if self.cursor.peek() != ",":
                break
            self.cursor.take()
        if self.cursor.peek() != end:
            self.cursor.unexpected(f"{{'{end}', ','}}")
        self.cursor.take()

    def list_literal(self) -> ListLiteral:
        at = self.cursor.take().at
        elements: list[Node] = []
        optional: set[int] = set()
        self.take_lonely_comma("]")
        for is_optional in self.parts("]"):
            if is_optional:
                optional.add(len(elements))
            elements.append(self.expression())
        return ListLiteral(next(self.ids), at, tuple(elements), frozenset(optional))

    def map_literal(self) -> MapLiteral:
        at = self.cursor.take().at
        entries: list[MapEntry] = []
        self.take_lonely_comma("}")
        for optional in self.parts("}"):
            key = self.expression()
            colon = self.cursor.here.at
            self.cursor.expect(":")
            entries.append(MapEntry(colon, key, self.expression(), optional))
        return MapLiteral(next(self.ids), at, tuple(entries))

    def take_lonely_comma(self, end: str) -> None:
        """Pass over the comma that an empty list or map may hold."""
        if self.cursor.peek() == "," and self.cursor.following.text == end:
            self.cursor.take()

    def struct(self, name: str) -> StructLiteral:
        at = self.cursor.take().at
        fields: list[StructField] = []
        for optional in self.parts("}"):
            field = self.field(optional=True)
            colon = self.cursor.here.at
            self.cursor.expect(":")
            fields.append(StructField(colon, field, self.expression(), optional))
        return StructLiteral(next(self.ids), at, name, tuple(fields))
