"""How deep a regular expression is nested, as Go counts it.

Go refuses an expression whose tree is higher than 1,000 nodes, before it does any work with it.
upstream: Go's regexp/syntax package (maxHeight, calcHeight).
"""

import re

MAX_HEIGHT = 1000
_MOST_NODES_OF_GROUP = 4
"""A group, the choice in it, the sequence in that, and what repeats it."""
_TOKEN = re.compile(
    r"\\Q.*?(?:\\E|\Z)|\\."
    r"|\[\^?\]?(?:\\.|\[:\^?\w++:\]|[^\]\\])*+\]"
    r"|\((?:\?(?:P?<\w++>|[a-zA-Z-]*+[:)]))?"
    r"|[*+?]\??|\{\d++(?:,\d*+)?\}\??"
    r"|.",
    re.DOTALL,
)
_REPEATS = frozenset("*+?")


class _Group:
    """What is open: a choice of sequences, of which the last one is being read."""

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
        """How many plain characters stand at the end: they are one node."""

    def add(self, height: int, *, plain: bool) -> None:
        """Read a part of some height."""
        if not (plain and self.run):
            self.parts += 1
        self.run = self.run + 1 if plain else 0
        self.last = height
        self.top = max(self.top, height)

    def repeat(self) -> None:
        """Read a repetition: it is of the last character only."""
        self.parts += self.run > 1
        self.run = 0
        self.last += 1
        self.top = max(self.top, self.last)

    def choose(self) -> None:
        """Read the end of a sequence; single characters make one node together."""
        height = self.top + (self.parts > 1)
        is_character = self.parts == 1 and self.top == 1 and self.run < 2
        if not (is_character and self.choices and self.highest == 1):
            self.choices += 1
        self.highest = max(self.highest, height)
        self._begin()

    def height(self) -> int:
        """Return the height of all of it."""
        self.choose()
        return self.highest + (self.choices > 1) + self.captures


def is_too_high(pattern: str) -> bool:
    """Return whether Go refuses an expression because it nests too deeply.

    What is no expression at all is left to who reads it.
    """
    if pattern.count("(") * _MOST_NODES_OF_GROUP <= MAX_HEIGHT:
        return False
    open_groups = [_Group(captures=False)]
    for found in _TOKEN.finditer(pattern):
        word, group = found[0], open_groups[-1]
        if word == "[":  # never closed
            return False
        if word[0] == "(" and word[-1] != ")":
            open_groups.append(_Group(captures=word == "(" or word[-1] == ">"))
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
