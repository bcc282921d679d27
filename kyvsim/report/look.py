"""How a report looks, where a format leaves a choice: what a user may ask of a view."""

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import NamedTuple

from kyvsim.report.style import Paint, painter, safe_line
from kyvsim.report.summary import QUIET

# How a report looks, where a format leaves a choice: what a user may ask of a view.


def _unsaid(_text: str) -> None:
    return None


class Show(StrEnum):
    """How much a view for people shows."""

    CHANGES = "changes"
    """Failures with their reasons, and what is new in objects; what is alike is told once."""
    ALL = "all"
    """The same of each object, however alike."""
    OBJECTS = "objects"
    """Failures in a line or two, and objects as a whole."""


class Look(NamedTuple):
    """How a report looks, where a format leaves a choice."""

    colours: bool = False
    detailed: bool = False
    """Show passed and skipped rules too, with their messages."""
    quiet: bool = False
    """Show only what failed."""
    statistics: bool = False
    """Show only how often each rule ended how."""
    diff: bool = False
    """Show only the changed parts of mutated objects."""
    objects: bool = True
    """Show mutated and generated objects; False when they go to files."""
    show: Show = Show.CHANGES
    lifetime: str = ""
    """How long Kyverno keeps exceptions that are made, as Go writes a time; "" for ever."""
    width: int = 80
    """Columns of a line that is wrapped."""
    on_terminal: bool = False
    """Whether people read it as it is written, and no program behind a pipe does."""
    in_file: bool = False
    """Whether it goes to a file, while standard output shows what rules found."""
    say: Callable[[str], None] = _unsaid
    """Takes what a document for programs has no place for."""

    @property
    def hidden(self) -> frozenset[str]:
        """The statuses that are counted but not listed."""
        return frozenset() if self.detailed else QUIET


# Texts in lines of a width: words and places stay whole, and what is read is safe to show.


INDENT = " " * 8
"""Stands before all that is said below a heading."""
_NARROWEST = 24


class Sheet(NamedTuple):
    """What a view is written on."""

    look: Look
    paint: Paint

    @property
    def width(self) -> int:
        """Columns of a line."""
        return self.look.width


def sheet_of(look: Look) -> Sheet:
    """Return the sheet of a look."""
    return Sheet(look, painter(colours=look.colours))


def wrapped(text: str, width: int, indent: str = INDENT, first: str | None = None) -> Iterator[str]:
    """Yield the lines of a text, each of at most such a width unless a word is longer.

    `first` stands before the first of them in place of `indent`.
    """
    start = indent if first is None else first
    for line in text.rstrip().split("\n"):
        yield from _lines(safe_line(line), width, start, indent)
        start = indent


def _lines(text: str, width: int, first: str, rest: str) -> Iterator[str]:
    room = max(width, len(rest) + _NARROWEST)
    words = text.split()
    line = first
    is_empty = True
    for word in words:
        if not is_empty and len(line) + 1 + len(word) > room:
            yield safe_line(line)  # once more: what begins a line now may be a command to a log
            line, is_empty = rest, True
        line = f"{line}{word}" if is_empty else f"{line} {word}"
        is_empty = False
    yield safe_line(line.rstrip())


def apart(left: str, right: str, width: int, indent: str = INDENT) -> tuple[str, str]:
    """Return two texts at the ends of a line, or the second one in a line of its own.

    That begins with `indent`. The second one comes with what stands between, so that each can have
    its look.
    """
    gap = width - len(left) - len(right)
    if not right:
        return left, ""
    if gap >= 2:
        return left, " " * gap + right
    return left, f"\n{indent}{right}"


def clipped(line: str, width: int) -> str:
    """Return a line of an object, shortened where it is too long."""
    shown = safe_line(line)
    return shown if len(shown) <= width else f"{shown[: width - 1]}…"
