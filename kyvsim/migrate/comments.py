"""The comments of a policy, assigned to its rules."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple

from kyvsim.kubernetes.objects import Path
from kyvsim.model.source import Document

_COMMENT: Final = re.compile(r"^\s*(#.*?)\s*$")
_BLOCK: Final = re.compile(r"[:-]\s+[|>][-+0-9]*\s*$")
_LONGEST: Final = 5_000
"""The maximum number of characters of a line that can be a comment or start a block scalar."""


class Comments(NamedTuple):
    """The comments of a policy, each a line that begins with `#`."""

    head: tuple[str, ...] = ()
    """Those outside of rules."""
    rules: Mapping[int, tuple[str, ...]] = MappingProxyType({})
    """Those of a rule, before and in it, by its index."""


def comments_of(document: Document, parts: Iterable[Path], text: str) -> Comments:
    """Return the comments on separate lines of a document; `parts` are the paths of rules."""
    lines = _lines_of(text)
    within = max(document.locate(()).line, 1)
    ends = [number for number, line in enumerate(lines, 1) if line.startswith("---")]
    first = max((one for one in ends if one < within), default=0) + 1
    last = min((one for one in ends if one > within), default=len(lines) + 1) - 1
    starts = [document.locate(path).line for path in parts]
    head: list[str] = []
    rules: dict[int, list[str]] = {}
    for number, comment in _comment_lines(lines, first, last):
        below = number
        while below < last and not lines[below - 1].partition("#")[0].strip():
            below += 1  # to the next line that is neither empty nor a comment
        index = sum(start <= below for start in starts) - 1
        (head if index < 0 else rules.setdefault(index, [])).append(comment)
    return Comments(tuple(head), {index: tuple(some) for index, some in rules.items()})


@lru_cache(maxsize=2)
def _lines_of(text: str) -> list[str]:
    """Return the lines of a file; cached, since it is read for each policy in it."""
    return text.splitlines()


def _comment_lines(lines: list[str], first: int, last: int) -> list[tuple[int, str]]:
    found = []
    deeper = -1
    for number in range(first, last + 1):
        line = lines[number - 1]
        indent = len(line) - len(line.lstrip())
        if deeper >= 0 and (not line.strip() or indent > deeper):
            continue
        if len(line) > _LONGEST:
            continue  # such as a file on one line with many policies
        deeper = indent if _BLOCK.search(line) else -1
        comment = _COMMENT.match(line)
        if comment:
            found.append((number, comment[1]))
    return found
