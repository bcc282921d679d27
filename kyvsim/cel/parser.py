"""Parses text to tokens, and these to a tree with expanded macros; the errors are upstream's."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from itertools import count
from types import MappingProxyType
from typing import NamedTuple, NoReturn

from kyvsim.cel import nodes
from kyvsim.cel.errors import Issue
from kyvsim.cel.macros import Ids, MacroError, expand
from kyvsim.cel.nodes import Node, dotted_name
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
    """A token; `kind` is `sign` for operators and for keywords such as `in` and `true`."""

    kind: str
    text: str
    at: int


KEYWORDS = frozenset({"in", "true", "false", "null"})


def tokenize(text: str) -> tuple[list[Token], list[Issue]]:
    """Return the tokens with an `end` token last, and an issue for each invalid piece."""
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
    # An incomplete sign of two characters includes the next character.
    return text[at : at + 2] if text[at] in "=&|" else text[at]


# The values of number and string tokens.
#
# Source of the rules: upstream cel-go parser/unescape.go, parser/parser.go.

_ESCAPE = re.compile(r"\\(?:[xX]([0-9a-fA-F]{2})|u(.{4})|U(.{8})|([0-3][0-7]{2})|(.))", re.DOTALL)
_SIMPLE = MappingProxyType(dict(zip("abfnrtv\\'\"`?", "\a\b\f\n\r\t\v\\'\"`?", strict=True)))
_LIMIT = 1 << 63
_MAX_DIGITS = 400


def read_int(text: str) -> int:
    """Return the int of a token; raises ValueError if it is not an int64."""
    number = -_digits(text[1:]) if text.startswith("-") else _digits(text)
    if not -_LIMIT <= number < _LIMIT:
        raise ValueError("invalid int literal")
    return number


def _digits(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        return 2 * _LIMIT
    return int(text, 16 if text.startswith("0x") else 10)


def read_uint(text: str) -> UInt:
    """Return the uint of a token; raises ValueError if it is not a uint64."""
    number = _digits(text[:-1])
    if number >= 2 * _LIMIT:
        raise ValueError("invalid uint literal")
    return UInt(number)


def read_double(text: str) -> float:
    """Return the double of a token; raises ValueError if it is out of range."""
    number = float(text)
    if number in {float("inf"), float("-inf")}:
        raise ValueError("invalid double literal")
    return number


def read_string(token: str) -> str:
    """Return the text of a string token; raises ValueError on an invalid escape."""
    body, raw = _body(token)
    if raw or "\\" not in body:
        return body
    return _ESCAPE.sub(_character, body)


def read_bytes(token: str) -> bytes:
    """Return the bytes of a bytes token; raises ValueError on an invalid escape."""
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


# Tokens → tree, macros expanded.
#
# Source of the grammar and of the messages: upstream cel-go parser (CEL.g4, parser.go), and ANTLR's
# default error strategy, which it uses. Upstream's parser recovers and reports further
# errors, ours stops at the first.

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
"""The binary operators, in order of increasing precedence."""
_NAMES = MappingProxyType(
    {sign: f"_{sign}_" for sign in ("<", "<=", ">=", ">", "==", "!=", *"*/%+-", "&&", "||")}
    | {"in": "@in"}
)
_STARTS = frozenset({"[", "{", "(", ".", "-", "!", "true", "false", "null"})
_KINDS = frozenset({"int", "uint", "double", "string", "bytes", "name"})
"""The signs, and the kinds of other tokens, with which an operand begins."""
_START = (
    "'.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, "
    "IDENTIFIER}"
)
_OPERAND = f"{{'[', '{{', '(', {_START}"
_INDEX = _OPERAND.replace("'!'", "'!', '?'")
_ARGUMENT = f"{{'[', '{{', '(', ')', {_START}"
_READERS: Mapping[str, Callable[[str], object]] = MappingProxyType(
    {"int": read_int, "uint": read_uint, "double": read_double}
    | {"string": read_string, "bytes": read_bytes}
)
_CONSTANTS = MappingProxyType({"true": True, "false": False, "null": None})


class ExpressionSyntaxError(Exception):
    """The text is not an expression."""

    def __init__(self, issues: list[Issue]) -> None:
        super().__init__(issues)
        self.issues = issues


@lru_cache(maxsize=512)
def parse(text: str, macros: frozenset[str]) -> Node:
    """Return the tree of an expression; raises `ExpressionSyntaxError`.

    `macros` names the macros to expand, besides those of the language itself.
    """
    if len(text) > _MAX_SIZE:
        size = f"size: {len(text)}, limit {_MAX_SIZE}"
        raise ExpressionSyntaxError(
            [Issue(-1, f"expression code point size exceeds limit: {size}")]
        )
    tokens, issues = tokenize(text)
    parser = _CelParser(tokens, issues, macros)
    try:
        node = parser.expression()
        parser.expect_end()
    except _FirstFaultError:
        pass
    if issues:
        raise ExpressionSyntaxError(issues)
    return node


class _FirstFaultError(Exception):
    """Parsing cannot continue."""


class _CelParser:
    """One pass over the tokens, which collects issues."""

    def __init__(self, tokens: list[Token], issues: list[Issue], macros: frozenset[str]) -> None:
        self.tokens = tokens
        self.issues = issues
        self.next = 0
        self.depth = 0
        """The depth of the current expression."""
        self.ids: Ids = count(1)
        self.macros = macros

    @property
    def here(self) -> Token:
        return self.tokens[self.next]

    @property
    def following(self) -> Token:
        return self.tokens[min(self.next + 1, len(self.tokens) - 1)]

    def peek(self) -> str:
        """Return the current sign, or "" for any other token."""
        token = self.tokens[self.next]
        return token.text if token.kind == "sign" else ""

    def take(self) -> Token:
        token = self.tokens[self.next]
        self.next += 1
        return token

    def expect(self, sign: str, *, missing: bool = True) -> None:
        """Consume a sign, or fail with upstream's message."""
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
        """Return whether the token at this distance may begin an operand."""
        token = self.tokens[min(self.next + ahead, len(self.tokens) - 1)]
        if token.kind == "sign":
            return token.text in _STARTS
        return token.kind in _KINDS

    def unwanted(self, expected: str, also: str = "") -> None:
        """Skip a token before an operand or `also`; fail if neither follows."""
        token = self.here
        after = self.following
        if token.kind == "end" or not (self.starts_operand(1) or (also and after.text == also)):
            self.unexpected(expected)
        self.take()
        text = f"Syntax error: extraneous input '{token.text}' expecting {expected}"
        self.issues.append(Issue(token.at, text))

    def expect_end(self) -> None:
        if self.here.kind == "end":
            return
        how = "extraneous" if self.following.kind == "end" else "mismatched"
        self.syntax(self.here.at, f"{how} input '{self.here.text}' expecting <EOF>")

    def unexpected(self, expected: str) -> NoReturn:
        self.syntax(self.here.at, f"mismatched input '{self.here.text}' expecting {expected}")

    def syntax(self, at: int, message: str) -> NoReturn:
        self.fail(Issue(at, f"Syntax error: {message}"))

    def fail(self, issue: Issue) -> NoReturn:
        """Report an issue and stop."""
        self.issues.append(issue)
        raise _FirstFaultError

    def call(self, at: int, function: str, *arguments: Node) -> nodes.Call:
        return nodes.Call(next(self.ids), at, function, None, arguments)

    def expression(self) -> Node:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            self.fail(Issue(-1, f"expression recursion limit exceeded: {_MAX_DEPTH}"))
        node = self.logical("||")
        if self.peek() == "?":
            at = self.take().at
            chosen = self.logical("||")
            self.expect(":", missing=False)
            node = self.call(at, "_?_:_", node, chosen, self.expression())
        self.depth -= 1
        return node

    def logical(self, sign: str) -> Node:
        """Parse operands joined by `||` or `&&`; one call parses all of them."""
        operand = partial(self.logical, "&&") if sign == "||" else partial(self.binary, 0)
        operands = [operand()]
        at = self.here.at
        while self.peek() == sign:
            self.take()
            operands.append(operand())
        return self.call(at, _NAMES[sign], *operands) if len(operands) > 1 else operands[0]

    def binary(self, level: int) -> Node:
        """Parse operands joined by the operators of a level, from left to right."""
        if level == len(_LEVELS):
            return self.unary()
        node = self.binary(level + 1)
        while self.peek() in _LEVELS[level]:
            token = self.take()
            node = self.call(token.at, _NAMES[token.text], node, self.binary(level + 1))
        return node

    def unary(self) -> Node:
        sign, at = self.peek(), self.here.at
        if sign not in {"!", "-"}:
            return self.member()
        signs = 0
        while self.peek() == sign:
            if sign == "-" and self.following.kind in {"int", "double"}:
                break
            self.take()
            signs += 1
        node = self.member()
        return self.call(at, f"{sign}_", node) if signs % 2 else node

    def member(self) -> Node:
        node = self.primary()
        while True:
            sign = self.peek()
            if sign == ".":
                node = self.selection(node)
            elif sign == "[":
                node = self.index(node)
            elif sign == "{" and (name := dotted_name(node)):
                node = self.struct(name)
            else:
                return node

    def selection(self, operand: Node) -> Node:
        dot = self.take()
        if self.peek() == "?":
            self.take()
            field = self.field(optional=True)
            return nodes.Select(next(self.ids), dot.at, operand, field, optional=True)
        if self.here.kind == "name" and self.following.text == "(":
            name = self.take().text
            return self.expand(self.take().at, name, operand, self.arguments())
        return nodes.Select(next(self.ids), dot.at, operand, self.field(optional=False))

    def field(self, *, optional: bool) -> str:
        token = self.here
        if token.kind not in {"name", "escaped"}:
            if optional:
                self.unexpected("{IDENTIFIER, ESC_IDENTIFIER}")
            if token.text in _CONSTANTS:
                self.unexpected("IDENTIFIER")
            text = "" if token.kind == "end" else token.text
            self.syntax(token.at, f"no viable alternative at input '.{text}'")
        text = self.take().text
        return text if token.kind == "name" else text[1:-1]

    def index(self, operand: Node) -> Node:
        opening = self.take()
        optional = self.peek() == "?"
        if optional:
            self.take()
        elif not self.starts_operand(0):
            self.unwanted(_INDEX)
        key = self.expression()
        self.expect("]")
        return self.call(opening.at, "_[?_]" if optional else "_[_]", operand, key)

    def arguments(self) -> tuple[Node, ...]:
        if self.peek() == ")":
            self.take()
            return ()
        if not self.starts_operand(0):
            self.unwanted(_ARGUMENT, ")")
            return self.arguments()
        found = [self.expression()]
        while self.peek() == ",":
            self.take()
            found.append(self.expression())
        self.expect(")")
        return tuple(found)

    def primary(self) -> Node:
        token = self.here
        if token.kind in _READERS or token.text in _CONSTANTS or token.text == "-":
            return self.literal()
        if token.kind == "name":
            return self.name("")
        if token.kind == "sign":
            if token.text == "." and self.following.kind == "name":
                self.take()
                return self.name(".")
            if token.text == "(":
                self.take()
                node = self.expression()
                self.expect(")")
                return node
            if token.text == "[":
                return self.list_literal()
            if token.text == "{":
                return self.map_literal()
        self.unwanted(_OPERAND)
        return self.unary()

    def literal(self) -> Node:
        token = self.take()
        at, text = token.at, token.text
        if text == "-":
            token = self.take()
            text = f"-{token.text}"
        value: object = None
        try:
            value = _CONSTANTS[text] if token.kind == "sign" else _READERS[token.kind](text)
        except ValueError as error:
            self.issues.append(Issue(at, str(error)))
        return nodes.Literal(next(self.ids), at, value)

    def name(self, dot: str) -> Node:
        token = self.take()
        if token.text in _RESERVED:
            self.fail(Issue(token.at, f"reserved identifier: {token.text}"))
        if self.peek() != "(":
            return nodes.Ident(next(self.ids), token.at, dot + token.text)
        return self.expand(self.take().at, dot + token.text, None, self.arguments())

    def expand(
        self, at: int, function: str, target: Node | None, arguments: tuple[Node, ...]
    ) -> Node:
        call = nodes.Call(next(self.ids), at, function, target, arguments)
        try:
            return expand(self.ids, call, self.macros)
        except MacroError as error:
            self.issues.append(Issue(error.at, str(error)))
            return call

    def parts(self, end: str) -> Iterator[bool]:
        """Iterate over the parts of a list or map; yield whether each is optional."""
        while self.peek() != end:
            optional = self.peek() == "?"
            if optional:
                self.take()
            yield optional
            if self.peek() != ",":
                break
            self.take()
        if self.peek() != end:
            self.unexpected(f"{{'{end}', ','}}")
        self.take()

    def list_literal(self) -> nodes.ListLiteral:
        at = self.take().at
        elements: list[Node] = []
        optional: set[int] = set()
        self.take_lonely_comma("]")
        for is_optional in self.parts("]"):
            if is_optional:
                optional.add(len(elements))
            elements.append(self.expression())
        return nodes.ListLiteral(next(self.ids), at, tuple(elements), frozenset(optional))

    def map_literal(self) -> nodes.MapLiteral:
        at = self.take().at
        entries: list[nodes.MapEntry] = []
        self.take_lonely_comma("}")
        for optional in self.parts("}"):
            key = self.expression()
            colon = self.here.at
            self.expect(":")
            entries.append(nodes.MapEntry(colon, key, self.expression(), optional))
        return nodes.MapLiteral(next(self.ids), at, tuple(entries))

    def take_lonely_comma(self, end: str) -> None:
        """Skip the comma that an empty list or map may contain."""
        if self.peek() == "," and self.following.text == end:
            self.take()

    def struct(self, name: str) -> nodes.StructLiteral:
        at = self.take().at
        fields: list[nodes.StructField] = []
        for optional in self.parts("}"):
            field = self.field(optional=True)
            colon = self.here.at
            self.expect(":")
            fields.append(nodes.StructField(colon, field, self.expression(), optional))
        return nodes.StructLiteral(next(self.ids), at, name, tuple(fields))
