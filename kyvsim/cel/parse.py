"""Tokens → tree, macros expanded.

Source of the grammar and of the messages: upstream cel-go parser (CEL.g4, parser.go). Where
upstream's parser recovers and reports further faults, ours stops at the first.
"""

from collections.abc import Callable
from types import MappingProxyType

from kyvsim.cel import literals
from kyvsim.cel.errors import Issue
from kyvsim.cel.macros import MacroError, NodeFactory, expand
from kyvsim.cel.nodes import Entry, Ident, ListLiteral, MapLiteral, Node, Select
from kyvsim.cel.nodes import StructLiteral as Struct
from kyvsim.cel.tokens import Token, tokenize

_MAX_SIZE = 100_000
_MAX_DEPTH = 250
_RESERVED = frozenset(
    {
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    }
)
_RELATIONS = frozenset({"<", "<=", ">=", ">", "==", "!=", "in"})
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
        "int": literals.read_int,
        "uint": literals.read_uint,
        "double": literals.read_double,
        "string": literals.read_string,
        "bytes": literals.read_bytes,
    }
)
_STARTS = frozenset({"[", "{", "(", ".", "-", "!", "true", "false", "null"})
_CONSTANTS = MappingProxyType({"true": True, "false": False, "null": None})


class ExpressionSyntaxError(Exception):
    """The text is no expression."""

    def __init__(self, issues: list[Issue]) -> None:
        super().__init__(issues)
        self.issues = issues


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
    parser = _Parser(tokens, issues, macros)
    try:
        node = parser.expression()
        parser.expect_end()
    except _FirstFaultError:
        pass
    if parser.issues:
        raise ExpressionSyntaxError(parser.issues)
    return node


class _FirstFaultError(Exception):
    """Parsing cannot go on."""


class _Parser:
    """One walk over the tokens; `next` is the place of the first one not taken."""

    def __init__(self, tokens: list[Token], issues: list[Issue], macros: frozenset[str]) -> None:
        self.tokens = tokens
        self.next = 0
        self.depth = 0
        self.issues = issues
        self.make = NodeFactory()
        self.macros = macros

    def expression(self) -> Node:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            self.fail(Issue(-1, f"expression recursion limit exceeded: {_MAX_DEPTH}"))
        node = self.logical("||")
        if self.peek() == "?":
            at = self.take().at
            chosen = self.logical("||")
            self.expect(":", missing=False)
            node = self.make.call(at, "_?_:_", node, chosen, self.expression())
        self.depth -= 1
        return node

    def logical(self, sign: str) -> Node:
        """Parse operands joined by `||` or `&&`; one call takes all of them."""
        operands = [self.operand_of(sign)]
        at = self.here.at
        while self.peek() == sign:
            self.take()
            operands.append(self.operand_of(sign))
        return self.make.call(at, _NAMES[sign], *operands) if len(operands) > 1 else operands[0]

    def operand_of(self, sign: str) -> Node:
        return self.logical("&&") if sign == "||" else self.relation()

    def relation(self) -> Node:
        node = self.sum()
        while self.peek() in _RELATIONS:
            token = self.take()
            node = self.make.call(token.at, _NAMES[token.text], node, self.sum())
        return node

    def sum(self) -> Node:
        node = self.product()
        while self.peek() in {"+", "-"}:
            token = self.take()
            node = self.make.call(token.at, _NAMES[token.text], node, self.product())
        return node

    def product(self) -> Node:
        node = self.unary()
        while self.peek() in {"*", "/", "%"}:
            token = self.take()
            node = self.make.call(token.at, _NAMES[token.text], node, self.unary())
        return node

    def unary(self) -> Node:
        sign, at = self.peek(), self.here.at
        if sign not in {"!", "-"}:
            return self.member()
        count = 0
        while self.peek() == sign and not (sign == "-" and self.starts_number()):
            self.take()
            count += 1
        node = self.member()
        return self.make.call(at, f"{sign}_", node) if count % 2 else node

    def starts_number(self) -> bool:
        return self.tokens[self.next + 1].kind in {"int", "double"}

    def member(self) -> Node:
        node = self.primary()
        while True:
            sign = self.peek()
            if sign == ".":
                node = self.selection(node)
            elif sign == "[":
                node = self.index(node)
            elif sign == "{" and (name := _qualified_name(node)):
                node = self.struct(name)
            else:
                return node

    def selection(self, operand: Node) -> Node:
        dot = self.take()
        if self.peek() == "?":
            self.take()
            return self.make.select(dot.at, operand, self.field(optional=True), optional=True)
        if self.here.kind == "name" and self.tokens[self.next + 1].text == "(":
            name = self.take().text
            opening = self.take()
            return self.expand(opening.at, name, operand, self.arguments())
        return self.make.select(dot.at, operand, self.field(optional=False))

    def field(self, *, optional: bool) -> str:
        token = self.here
        if token.kind == "name":
            return self.take().text
        if token.kind == "escaped":
            return self.take().text[1:-1]
        if optional:
            self.unexpected("{IDENTIFIER, ESC_IDENTIFIER}")
        if token.kind == "end":
            self.syntax(token.at, "no viable alternative at input '.'")
        if token.text in _CONSTANTS:
            self.syntax(token.at, f"mismatched input '{token.text}' expecting IDENTIFIER")
        self.syntax(token.at, f"no viable alternative at input '.{token.text}'")
        raise AssertionError  # pragma: no cover — the line above raises

    def index(self, operand: Node) -> Node:
        opening = self.take()
        optional = self.peek() == "?"
        if optional:
            self.take()
        elif not self.starts_operand(0):
            self.unwanted(_INDEX)
        key = self.expression()
        self.expect("]")
        return self.make.call(opening.at, "_[?_]" if optional else "_[_]", operand, key)

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
            if token.text == "." and self.tokens[self.next + 1].kind == "name":
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
        if token.kind == "sign":
            return self.make.literal(at, _CONSTANTS[text])
        try:
            return self.make.literal(at, _READERS[token.kind](text))
        except ValueError as error:
            self.issues.append(Issue(at, str(error)))
            return self.make.literal(at, None)

    def name(self, dot: str) -> Node:
        token = self.take()
        if token.text in _RESERVED:
            self.fail(Issue(token.at, f"reserved identifier: {token.text}"))
        if self.peek() != "(":
            return self.make.ident(token.at, dot + token.text)
        opening = self.take()
        return self.expand(opening.at, dot + token.text, None, self.arguments())

    def expand(
        self, at: int, function: str, target: Node | None, arguments: tuple[Node, ...]
    ) -> Node:
        call = self.make.full_call(at, function, target, arguments)
        try:
            return expand(self.make, call, self.macros)
        except MacroError as error:
            self.issues.append(Issue(error.at, str(error)))
            return call

    def list_literal(self) -> ListLiteral:
        at = self.take().at
        elements: list[Node] = []
        optional: set[int] = set()
        self.take_lonely_comma("]")
        while self.peek() != "]":
            if self.peek() == "?":
                self.take()
                optional.add(len(elements))
            elements.append(self.expression())
            if self.peek() != ",":
                break
            self.take()
        self.close("]")
        return self.make.list_literal(at, tuple(elements), frozenset(optional))

    def map_literal(self) -> MapLiteral:
        at = self.take().at
        entries: list[Entry] = []
        self.take_lonely_comma("}")
        while self.peek() != "}":
            optional = self.peek() == "?"
            if optional:
                self.take()
            key = self.expression()
            colon = self.here.at
            self.expect(":")
            entries.append(Entry(colon, key, self.expression(), optional))
            if self.peek() != ",":
                break
            self.take()
        self.close("}")
        return self.make.map_literal(at, tuple(entries))

    def take_lonely_comma(self, end: str) -> None:
        """Pass over the comma that an empty list or map may hold."""
        if self.peek() == "," and self.tokens[self.next + 1].text == end:
            self.take()

    def struct(self, name: str) -> Struct:
        at = self.take().at
        fields: list[tuple[str, Node]] = []
        while self.peek() != "}":
            if self.peek() == "?":
                self.take()
            field = self.field(optional=True)
            self.expect(":")
            fields.append((field, self.expression()))
            if self.peek() != ",":
                break
            self.take()
        self.close("}")
        return self.make.struct(at, name, tuple(fields))

    @property
    def here(self) -> Token:
        return self.tokens[self.next]

    def peek(self) -> str:
        """Return the sign at hand, or "" where something else stands."""
        token = self.tokens[self.next]
        return token.text if token.kind == "sign" else ""

    def take(self) -> Token:
        token = self.tokens[self.next]
        self.next += 1
        return token

    def expect(self, sign: str, *, missing: bool = True) -> None:
        if self.peek() == sign:
            self.take()
            return
        token = self.here
        if token.kind != "end" and self.tokens[self.next + 1].text == sign:
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
        return token.kind in _READERS or token.kind == "name"

    def unwanted(self, expected: str, also: str = "") -> None:
        """Pass over a token that an operand, or `also`, follows; fail where none does."""
        token = self.here
        after = self.tokens[min(self.next + 1, len(self.tokens) - 1)]
        if token.kind == "end" or not (self.starts_operand(1) or (also and after.text == also)):
            self.unexpected(expected)
        self.take()
        text = f"Syntax error: extraneous input '{token.text}' expecting {expected}"
        self.issues.append(Issue(token.at, text))

    def close(self, sign: str) -> None:
        if self.peek() == sign:
            self.take()
        else:
            self.unexpected(f"{{'{sign}', ','}}")

    def expect_end(self) -> None:
        if self.here.kind == "end":
            return
        rest = self.tokens[self.next + 1]
        how = "extraneous" if rest.kind == "end" else "mismatched"
        self.syntax(self.here.at, f"{how} input '{self.here.text}' expecting <EOF>")

    def unexpected(self, expected: str) -> None:
        self.syntax(self.here.at, f"mismatched input '{self.here.text}' expecting {expected}")

    def syntax(self, at: int, message: str) -> None:
        self.fail(Issue(at, f"Syntax error: {message}"))

    def fail(self, issue: Issue) -> None:
        self.issues.append(issue)
        raise _FirstFaultError


def _qualified_name(node: Node) -> str:
    """Return the dotted name that the node writes, or "" where it is no name."""
    if isinstance(node, Ident):
        return node.name
    if isinstance(node, Select) and not node.optional and not node.test:
        inner = _qualified_name(node.operand)
        return f"{inner}.{node.field}" if inner else ""
    return ""
