"""Differences between two texts, line by line."""

from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import pairwise
from typing import TypeAlias

Marked: TypeAlias = tuple[str, str]
"""A mark and a line: "+" added, "-" removed, " " in both, "@" a gap (its line is empty)."""

_CONTEXT = 3


def marked_lines(old: list[str], new: list[str]) -> list[Marked]:
    """Return every line of both texts in order, with its mark."""
    start, end = _common_ends(old, new)
    old_end, new_end = len(old) - end, len(new) - end
    return [
        *((" ", line) for line in new[:start]),
        *_between(old[start:old_end], new[start:new_end]),
        *((" ", line) for line in new[new_end:]),
    ]


def _between(old: list[str], new: list[str]) -> Iterator[Marked]:
    """Yield the lines of two texts that differ in their first line and in their last."""
    if not old or not new or len(old) == len(new) == 1:
        yield from (("-", line) for line in old)
        yield from (("+", line) for line in new)
        return

    matcher = SequenceMatcher(a=old, b=new, autojunk=False)
    for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if tag == "equal":
            yield from ((" ", line) for line in new[new_from:new_to])
            continue
        yield from (("-", line) for line in old[old_from:old_to])
        yield from (("+", line) for line in new[new_from:new_to])


def hunks(lines: list[Marked]) -> Iterator[Marked]:
    """Yield the changed lines with a few lines around each, gaps marked "@"."""
    changed = [index for index, (mark, _) in enumerate(lines) if mark != " "]
    wanted = sorted(
        {
            near
            for index in changed
            for near in range(max(0, index - _CONTEXT), min(len(lines), index + _CONTEXT + 1))
        }
    )
    if wanted and wanted[0]:
        yield "@", ""
    for index, following in pairwise([*wanted, len(lines)]):
        yield lines[index]
        if following != index + 1:
            yield "@", ""


def _common_ends(old: list[str], new: list[str]) -> tuple[int, int]:
    """Return how many lines are the same at the start and, of the rest, at the end."""
    shorter = min(len(old), len(new))
    start = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    rest = shorter - start
    end = next((i for i in range(rest) if old[-1 - i] != new[-1 - i]), rest)
    return start, end
