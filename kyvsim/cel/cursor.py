"""A place in a list of tokens, and what upstream's parser says of tokens that do not fit there.

Source of the messages: ANTLR's default error strategy, as upstream cel-go parser/parser.go uses it.
"""

from kyvsim.cel.errors import Issue
from kyvsim.cel.tokens import Token

_STARTS = frozenset({"[", "{", "(", ".", "-", "!", "true", "false", "null"})
_OPERANDS = frozenset({"int", "uint", "double", "string", "bytes", "name"})


class FirstFaultError(Exception):
    """Parsing cannot go on."""


class Cursor:
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

    def close(self, sign: str) -> None:
        """Take the sign that ends a list or map."""
        if self.peek() == sign:
            self.take()
        else:
            self.unexpected(f"{{'{sign}', ','}}")

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
