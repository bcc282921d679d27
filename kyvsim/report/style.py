"""What text output has in common: options, colours, widths, and text that is safe to show."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from kyvsim.report.results import QUIET

Paint: TypeAlias = Callable[[str, str], str]
"""Applies a style from `STYLES`, by its name, to a text; or returns the text as it is."""

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
"""Names of styles, and their definitions for rich."""

_BIDI = (0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF)
_CONTROLS = (*range(0x20), *range(0x7F, 0xA0))
CONTROLS: Mapping[int, str] = MappingProxyType(
    {code: f"\\x{code:02x}" for code in _CONTROLS if chr(code) not in "\n\t"}
    | {code: f"\\u{code:04x}" for code in _BIDI}
)
"""Characters that control a terminal or the direction of text, and how they are shown."""

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
    """Return `text` with control and direction-changing characters shown as escapes.

    Texts of users must not move the cursor, or recolour or reorder what a terminal shows. Line
    ends and tabs stay. `kyvsim/report/formats.py` escapes commands of CI logs.
    """
    return text if text.isprintable() else text.translate(CONTROLS)


def safe_line(text: str) -> str:
    """Return `text` on one line, safe to show; line ends become a visible escape."""
    return safe_text(text).replace("\n", "\\n")


def indented(text: str, indent: str) -> str:
    """Return `text`, safe to show, with every line after the first one indented."""
    return safe_text(text.rstrip()).replace("\n", "\n" + indent)


class Show(StrEnum):
    """How much a view for people shows."""

    CHANGES = "changes"
    """Failures with their reasons, and what is new in objects; what is alike is reported once."""
    ALL = "all"
    """The same of each object, however alike."""
    OBJECTS = "objects"
    """Failures in a line or two, and objects as a whole."""


class RenderOptions(NamedTuple):
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
    """Time to live of generated exceptions, as a Go duration; "" for no limit."""
    width: int = 80
    """Columns of a line that is wrapped."""
    on_terminal: bool = False
    """Whether it is written to a terminal, not to a pipe."""
    in_file: bool = False
    """Whether it goes to a file, while standard output shows what rules found."""
    print_aside: Callable[[str], None] = lambda _text: None
    """Prints texts that do not belong in a document for programs."""

    @property
    def hidden(self) -> frozenset[str]:
        """The statuses that are counted but not listed."""
        return frozenset() if self.detailed else QUIET


INDENT = " " * 8
"""The indent of everything below a heading."""
_NARROWEST = 24


class TextLayout(NamedTuple):
    """Options and colours of a view."""

    options: RenderOptions
    paint: Paint

    @property
    def width(self) -> int:
        """Columns of a line."""
        return self.options.width


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
                yield safe_line(line)  # once more: what begins a line now may be a command to a log
                line, is_empty = indent, True
            line = f"{line}{word}" if is_empty else f"{line} {word}"
            is_empty = False
        yield safe_line(line.rstrip())
        start = indent


def justified(left: str, right: str, width: int, indent: str = INDENT) -> tuple[str, str]:
    """Return two texts for the ends of a line; the second begins with the gap or a new line."""
    gap = width - len(left) - len(right)
    if not right:
        return left, ""
    if gap >= 2:
        return left, " " * gap + right
    return left, f"\n{indent}{right}"


def headline(word: str, name: str, right: str, layout: TextLayout) -> str:
    """Return the line with a word, a name, and what is at its end."""
    shown = f"{word:<4}"
    lines = [*wrapped(name, layout.width, INDENT, f"  {shown}  ")]
    start, end = justified(lines[-1], right, layout.width)
    shown_name = "\n".join((*lines[:-1], start))
    painted = shown_name.replace(shown, layout.paint(word.lower(), shown), 1)
    return f"{painted}{layout.paint('dim', end)}\n"


def aligned(cells: Iterable[str], widths: Iterable[int]) -> str:
    """Return a line of a table, each cell filled up to the width of its column."""
    return "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip()


def truncated(text: str, width: int) -> str:
    """Return a text with an ellipsis in place of what is longer than a width."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


_MARKS = "\\|*_`[]()#!~$"
_ESCAPED = str.maketrans(
    {mark: f"\\{mark}" for mark in _MARKS} | {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;"}
)


def markdown_text(text: str) -> str:
    """Return a text on one line as Markdown shows it as it is; no mark or name in it acts."""
    return safe_line(text).translate(_ESCAPED)


def markdown_lines(text: str) -> str:
    """Return a text of several lines as a cell of a table has it."""
    return "<br>".join(map(markdown_text, text.split("\n")))


def table_line(cells: tuple[str, ...]) -> str:
    """Return a line of a table; the cells are Markdown."""
    return f"| {' | '.join(cells)} |\n"
