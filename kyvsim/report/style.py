"""Functions shared by all text output: options, colours, widths, and escaping."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from kyvsim.report.results import QUIET

PAGE_ORIGIN: ContextVar[str] = ContextVar("origin of pages", default="")
"""What HTML pages show of the run: version, date and command; "" if no command is run."""

Paint: TypeAlias = Callable[[str, str], str]
"""Applies a style from `STYLES`, given by name, to a text; or returns the text unchanged."""

STYLES: Mapping[str, str] = {
    "title": "bold",
    "dim": "dim",
    "pass": "green",
    "fail": "red",
    "error": "red",
    "warn": "yellow",
    "skip": "cyan",
    "none": "yellow",
    "added": "green",
    "removed": "red",
    "place": "cyan",
    "edit": "green",
    "new": "green",
}
"""The styles by name, as defined for rich."""

_BIDI = (0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF)
_CONTROLS = (*range(0x20), *range(0x7F, 0xA0))
CONTROLS: Mapping[int, str] = MappingProxyType(
    {code: f"\\x{code:02x}" for code in _CONTROLS if chr(code) not in "\n\t"}
    | {code: f"\\u{code:04x}" for code in _BIDI}
)
"""Characters that control a terminal or the direction of text, and their escapes."""

MARK_STYLES: Mapping[str, str] = MappingProxyType({"+": "added", "-": "removed", "@": "dim"})
"""The style of a line of a diff, by its mark; other lines have none."""


def counted(count: int, noun: str) -> str:
    """Return `1 row`, `2 rows`, `2 policies`."""
    if count == 1:
        return f"{count} {noun}"
    return f"{count} {noun[:-1]}ies" if noun.endswith("y") else f"{count} {noun}s"


def painter(*, colours: bool) -> Paint:
    """Return a function that colours text, or one that does nothing."""
    if not colours:
        return lambda _name, text: text
    return lambda name, text: _styles()[name](text)


@cache
def _styles() -> Mapping[str, Callable[[str], str]]:
    from rich.color import ColorSystem
    from rich.style import Style

    def styled(style: Style) -> Callable[[str], str]:
        return lambda text: style.render(text, color_system=ColorSystem.STANDARD)

    return MappingProxyType({name: styled(Style.parse(text)) for name, text in STYLES.items()})


def safe_text(text: str) -> str:
    """Return `text` with escaped control and direction-changing characters.

    Texts of users must not move the cursor, or recolour or reorder the output on a terminal. Line
    ends and tabs are kept. `kyvsim/report/formats.py` escapes commands of CI logs.
    """
    return text if text.isprintable() else text.translate(CONTROLS)


def safe_line(text: str) -> str:
    """Return `text` escaped and on one line; line ends become visible escapes."""
    return safe_text(text).replace("\n", "\\n")


def indented(text: str, indent: str) -> str:
    """Return `text` escaped, with all lines but the first indented."""
    return safe_text(text.rstrip()).replace("\n", "\n" + indent)


class Show(StrEnum):
    """The level of detail of a view for people."""

    CHANGES = "changes"
    """Failures with their reasons, and changes of objects; identical ones are grouped."""
    ALL = "all"
    """The same for every object; identical ones are not grouped."""
    OBJECTS = "objects"
    """Failures in a line or two, and complete objects."""


class RenderOptions(NamedTuple):
    """Display options of a report."""

    colours: bool = False
    detailed: bool = False
    """Show passed and skipped rules with their messages, too."""
    quiet: bool = False
    """Show only failures."""
    statistics: bool = False
    """Show only the counts of each rule."""
    diff: bool = False
    """Show only the changed parts of mutated objects."""
    objects: bool = True
    """Show mutated and generated objects; False if they are written to files."""
    show: Show = Show.CHANGES
    lifetime: str = ""
    """Time to live of generated exceptions, as a Go duration; "" for no limit."""
    width: int = 80
    """Columns to which lines are wrapped."""
    links: bool = False
    """Whether positions are hyperlinks to their files, for a terminal that supports them."""
    on_terminal: bool = False
    """Whether it is written to a terminal, not to a pipe."""
    in_file: bool = False
    """Whether it is written to a file, while standard output shows the findings."""
    print_aside: Callable[[str], None] = lambda _text: None
    """Prints text that does not belong in a document for programs."""

    @property
    def hidden(self) -> frozenset[str]:
        """The statuses that are counted but not listed."""
        return frozenset() if self.detailed else QUIET

    @property
    def lists_all(self) -> bool:
        """Whether the text view shows every result, instead of a limited number of groups."""
        return self.detailed or self.show is Show.ALL


INDENT = " " * 8
"""The indentation of everything below a heading."""
_NARROWEST = 24


class TextLayout(NamedTuple):
    """Options and colours of a view."""

    options: RenderOptions
    paint: Paint

    @property
    def width(self) -> int:
        """Columns of a line."""
        return self.options.width

    def linked(self, text: str, place: str) -> str:
        """Return a text as a hyperlink (OSC 8) to the file of a position `file:line:column`."""
        file = re.sub(r"(?::[0-9]+){0,2}$", "", place)
        if not (self.options.links and file) or file == "-":
            return text
        from pathlib import Path  # noqa: PLC0415 — slow to load, only for terminals

        return f"\x1b]8;;{Path(file).absolute().as_uri()}\x1b\\{text}\x1b]8;;\x1b\\"


def layout_of(options: RenderOptions) -> TextLayout:
    """Return the layout for some options."""
    return TextLayout(options, painter(colours=options.colours))


def wrapped(text: str, width: int, indent: str = INDENT, first: str | None = None) -> Iterator[str]:
    """Yield the lines of a text, wrapped between words; `first` is the first indent."""
    start = indent if first is None else first
    room = max(width, len(indent) + _NARROWEST)
    for paragraph in text.rstrip().split("\n"):
        line, is_empty = start, True
        for word in safe_line(paragraph).split():
            if not is_empty and len(line) + 1 + len(word) > room:
                yield safe_line(line)  # again: a word at the beginning of a line may be a command
                line, is_empty = indent, True
            line = f"{line}{word}" if is_empty else f"{line} {word}"
            is_empty = False
        yield safe_line(line.rstrip())
        start = indent


def justified(left: str, right: str, width: int, indent: str = INDENT) -> tuple[str, str]:
    """Return two texts for both ends of a line; the second begins with the gap or a newline."""
    gap = width - len(left) - len(right)
    if not right:
        return left, ""
    if gap >= 2:
        return left, " " * gap + right
    return left, f"\n{indent}{right}"


def placed_line(
    name: str, place: str, layout: TextLayout, indent: str = INDENT, style: str = ""
) -> str:
    """Return the line with a name and, at its end or on a line of its own, a position."""
    left, right = justified(safe_line(name), safe_line(place), layout.width, indent)
    shown = right.lstrip()
    gap = right[: len(right) - len(shown)]
    start = layout.paint(style, left) if style else left
    return f"{start}{gap}{layout.linked(layout.paint('dim', shown), place) if shown else ''}\n"


def headline(word: str, name: str, right: str, layout: TextLayout) -> str:
    """Return the line with a word, a name, and a text at its end."""
    shown = f"{word:<4}"
    lines = [*wrapped(name, layout.width, INDENT, f"  {shown}  ")]
    start, end = justified(lines[-1], right, layout.width)
    shown_name = "\n".join((*lines[:-1], start))
    painted = shown_name.replace(shown, layout.paint(word.lower(), shown), 1)
    return f"{painted}{layout.paint('dim', end)}\n"


def aligned(cells: Iterable[str], widths: Iterable[int]) -> str:
    """Return a line of a table, with each cell padded to the width of its column."""
    return "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip()


def truncated(text: str, width: int) -> str:
    """Return a text, truncated with an ellipsis if it is longer than `width`."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


_MARKS = "\\|*_`[]()#!~$"
_ESCAPED = str.maketrans(
    {mark: f"\\{mark}" for mark in _MARKS} | {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;"}
)


def markdown_text(text: str) -> str:
    """Return a text on one line for Markdown, with escaped markup and mentions."""
    return safe_line(text).translate(_ESCAPED)


def markdown_lines(text: str) -> str:
    """Return a text of several lines as a cell of a Markdown table."""
    return "<br>".join(map(markdown_text, text.split("\n")))


def table_line(cells: tuple[str, ...]) -> str:
    """Return a line of a Markdown table from its cells."""
    return f"| {' | '.join(cells)} |\n"
