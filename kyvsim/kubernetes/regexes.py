"""Regular expressions of Go (RE2).

upstream: Go's regexp package.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

# Before compiling, Go rejects an expression whose tree has more than 1,000 levels.
# upstream: Go's regexp/syntax package (maxHeight, calcHeight).

MAX_HEIGHT = 1000
_MOST_NODES_OF_GROUP = 4
"""The levels of a group: the group, its choice, the sequence in that, and a repetition of it."""
_PIECE = (
    r"(?s)\\Q.*?(?:\\E|\Z)|\\."
    r"|\[\^?\]?(?:\\.|\[:\^?\w++:\]|[^\]\\])*+\]"
    r"|\((?:\?(?:P?<\w++>|[a-zA-Z-]*+[:)]))?"
    r"|[*+?]\??|\{\d++(?:,\d*+)?\}\??"
    r"|."
)
_REPEATS = frozenset("*+?")


class _RegexGroup:
    """An open group: a choice of sequences, of which the last one is being read."""

    __slots__ = ("captures", "choices", "highest", "last", "parts", "run", "top")

    def __init__(self, *, captures: bool) -> None:
        self.captures = captures
        self.choices = 0
        self.highest = 0
        self._begin()

    def _begin(self) -> None:
        self.parts = 0
        self.top = 0
        self.last = 0
        self.run = 0
        """Number of consecutive literal characters at the end: they are one node."""

    def add(self, height: int, *, plain: bool) -> None:
        """Add a part with a height."""
        if not (plain and self.run):
            self.parts += 1
        self.run = self.run + 1 if plain else 0
        self.last = height
        self.top = max(self.top, height)

    def repeat(self) -> None:
        """Add a repetition, which applies to the last character only."""
        self.parts += self.run > 1
        self.run = 0
        self.last += 1
        self.top = max(self.top, self.last)

    def choose(self) -> None:
        """End a sequence; single characters are combined into one node."""
        height = self.top + (self.parts > 1)
        is_character = self.parts == 1 and self.top == 1 and self.run < 2
        if not (is_character and self.choices and self.highest == 1):
            self.choices += 1
        self.highest = max(self.highest, height)
        self._begin()

    def height(self) -> int:
        """Return the height of the group."""
        self.choose()
        return self.highest + (self.choices > 1) + self.captures


def is_too_high(pattern: str) -> bool:
    """Return whether Go rejects an expression because it is nested too deeply.

    Invalid expressions are not detected here.
    """
    if pattern.count("(") * _MOST_NODES_OF_GROUP <= MAX_HEIGHT:
        return False
    open_groups = [_RegexGroup(captures=False)]
    for found in re.finditer(_PIECE, pattern):
        word, group = found[0], open_groups[-1]
        if word == "[":  # not closed
            return False
        if word[0] == "(" and word[-1] != ")":
            open_groups.append(_RegexGroup(captures=word == "(" or word[-1] == ">"))
        elif word == ")":
            if len(open_groups) == 1:
                return False
            group = open_groups.pop()
            open_groups[-1].add(group.height(), plain=False)
        elif word == "|":
            group.choose()
        elif word[0] in _REPEATS or (word[0] == "{" and len(word) > 1):
            group.repeat()
        else:
            group.add(1, plain=True)
    return max(group.height() for group in open_groups) > MAX_HEIGHT


_MAX_MEMORY = 64 << 20
_FEW_GROUPS = 200
_ESCAPE = r"(?s)\\Q.*?(?:\\E|\Z)|\\."
_GO_WORDS: Mapping[str, str] = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid repetition size": "invalid repeat count",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
}
"""Messages that differ between Go's regexp and RE2."""


class RegexError(ValueError):
    """The string is not a regular expression; the message is Go's."""


@lru_cache(maxsize=512)
def compile_regex(pattern: str) -> Any:
    """Return the compiled pattern; raises `RegexError`.

    Cached, since many patterns are constants and the text of the others only exists at run time.
    """
    import re2

    for found in re.finditer(_ESCAPE, pattern):
        if found[0] == r"\C":  # supported by RE2, not by Go
            raise RegexError(r"error parsing regexp: invalid escape sequence: `\C`")
    if pattern.count("(") > _FEW_GROUPS and is_too_high(pattern):
        raise RegexError(f"error parsing regexp: expression nests too deeply: `{pattern}`")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_MEMORY
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise RegexError(_go_message(error.args[0])) from None


def _go_message(problem: str | bytes) -> str:
    text = problem.decode("utf-8", "replace") if isinstance(problem, bytes) else problem
    if text.startswith("trailing \\"):
        return "error parsing regexp: trailing backslash at end of expression: ``"
    words, colon, where = text.partition(": ")
    shown = f": `{where}`" if colon else ""
    return f"error parsing regexp: {_GO_WORDS.get(words, words)}{shown}"


def is_found(compiled: object, text: str) -> bool:
    """Return whether the pattern matches anywhere in the text."""
    return next(each_match(compiled, as_bytes(text)), None) is not None


def each_match(compiled: Any, data: bytes) -> Iterator[Any]:
    r"""Yield the matches in UTF-8 bytes from the left, like Go's FindAll.

    Omits an empty match directly after another one, or in the middle of a character, where RE2
    finds `\B`.
    """
    last = -1
    for match in compiled.finditer(data):
        start, end = match.span()
        if start == end and (start == last or (start < len(data) and data[start] & 0xC0 == 0x80)):
            continue
        last = end
        yield match


def as_bytes(text: str) -> bytes:
    """Return the UTF-8 bytes of a text, with `?` for lone surrogates."""
    return text.encode("utf-8", "replace")
