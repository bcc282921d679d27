"""Arithmetic, and the removal and replacement of parts of variables.

Source of the rules: POSIX, Shell Command Language, 2.6.2 and 2.6.4; `/` and `//` are bash's.
"""

import operator
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.chainsaw.errors import UnsupportedError
from kyvsim.chainsaw.shell.patterns import compile_regex
from kyvsim.kubernetes.regexes import as_bytes

OPERATORS = ("//", "/", "##", "#", "%%", "%")
"""`${name##pattern}` and others, longer ones first."""
BASH_ONLY = frozenset({"//", "/"})
_PATTERN = re.compile(r"\\(?P<escaped>.)|(?P<wild>[*?])|(?P<refused>['\"$`\[\\])|.", re.DOTALL)
_WILD = MappingProxyType({"*": "(?s:.*)", "?": "(?s:.)"})


class ValueEdit(NamedTuple):
    """A change of the value of a variable."""

    operator: str
    pattern: str
    """A regular expression."""
    replacement: str = ""


def parse_edit(sign: str, text: str) -> ValueEdit | None:
    """Return the edit in `${name SIGN text}`; None if its syntax is not supported."""
    pieces = [""]
    for match in _PATTERN.finditer(text):
        if match["refused"]:
            return None
        if match[0] == "/" and sign in BASH_ONLY and len(pieces) == 1:
            pieces.append("")
        elif len(pieces) > 1:
            pieces[-1] += match["escaped"] or match[0]
        else:
            pieces[-1] += _WILD.get(match["wild"] or "") or re.escape(match["escaped"] or match[0])
    return ValueEdit(sign, *pieces)


def edited(text: str, edit: ValueEdit, step: Callable[[int], None]) -> str:
    """Return an edited value; `step` counts the steps."""
    if not edit.pattern:
        return text
    if edit.operator in BASH_ONLY:
        step(1 + len(text) // 16)
        pattern = compile_regex(edit.pattern)
        data, plain = as_bytes(text), as_bytes(edit.replacement)
        count = 0 if edit.operator == "//" else 1
        return str(pattern.sub(lambda _match: plain, data, count=count).decode("utf-8", "replace"))
    whole = compile_regex(f"^(?:{edit.pattern})$")
    lengths = range(len(text) + 1)
    for length in lengths if len(edit.operator) == 1 else reversed(lengths):
        step(1 + length // 16)
        prefix = edit.operator.startswith("#")
        removed = text[:length] if prefix else text[len(text) - length :]
        if whole.search(as_bytes(removed)):
            return text[length:] if prefix else text[: len(text) - length]
    return text


_TOKEN = re.compile(r"\s*(?:([0-9]+)|([A-Za-z_]\w*)|(\|\||&&|[=!<>]=|[-+*/%()<>!]))")
_MOST_DEPTH = 32
_LARGEST = 1 << 63


def _divided(first: int, second: int) -> int:
    """Return a quotient that is rounded towards zero, as in C."""
    if not second:
        raise UnsupportedError("division by zero in arithmetic")
    return abs(first) // abs(second) * (1 if (first < 0) == (second < 0) else -1)


_BINARY: Mapping[str, tuple[int, Callable[[int, int], int]]] = {
    "||": (1, lambda a, b: a != 0 or b != 0),
    "&&": (2, lambda a, b: a != 0 and b != 0),
    "==": (3, operator.eq),
    "!=": (3, operator.ne),
    "<": (4, operator.lt),
    "<=": (4, operator.le),
    ">": (4, operator.gt),
    ">=": (4, operator.ge),
    "+": (5, operator.add),
    "-": (5, operator.sub),
    "*": (6, operator.mul),
    "/": (6, _divided),
    "%": (6, lambda a, b: a - b * _divided(a, b)),
}
"""Binding strength and meaning of binary operators."""
_UNARY: Mapping[str, Callable[[int], int]] = MappingProxyType(
    {"-": operator.neg, "+": operator.pos, "!": operator.not_}
)
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17}) ?")


def arithmetic(text: str, value_of: Callable[[str], str]) -> int:
    """Return the value of `$((text))`; `value_of` returns the value of a variable.

    Raises UnsupportedError for an invalid expression, octal numbers, and other operators, such as
    assignments.
    """
    words: list[str] = []
    at = 0
    while at < len(text.rstrip()):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _unsupported(text)
        number, name, mark = match.groups()
        words.append(mark or number or f"{value_of(name).strip()} ")
        at = match.end()
    reader = _ArithmeticReader(text, words)
    value = reader.expression(0, 0)
    if reader.current:
        raise _unsupported(text)
    return value


def _unsupported(text: str) -> UnsupportedError:
    return UnsupportedError(f"arithmetic `$(({text}))`")


class _ArithmeticReader:
    def __init__(self, text: str, words: list[str]) -> None:
        self.text = text
        self.rest = iter(words)
        self.current = next(self.rest, "")

    def take(self) -> str:
        """Return the current word, and go on to the next one."""
        taken, self.current = self.current, next(self.rest, "")
        return taken

    def operand(self, depth: int) -> int:
        """Return the value of a number, or of an expression in parentheses."""
        word = self.take()
        if depth > _MOST_DEPTH:
            raise _unsupported(self.text)
        if word in _UNARY:
            return int(_UNARY[word](self.operand(depth + 1)))
        if word == "(":
            value = self.expression(0, depth + 1)
            if self.take() == ")":
                return value
        if not _INTEGER.fullmatch(word):
            raise _unsupported(self.text)
        return int(word)

    def expression(self, least: int, depth: int) -> int:
        """Return the value of operators that bind more strongly than `least`."""
        value = self.operand(depth)
        while self.current in _BINARY and _BINARY[self.current][0] > least:
            strength, run = _BINARY[self.take()]
            value = int(run(value, self.expression(strength, depth + 1)))
        if not -_LARGEST <= value < _LARGEST:
            raise _unsupported(self.text)
        return value
