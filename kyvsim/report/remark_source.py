"""The line of a file that a remark is about, with a mark below the part that is meant."""

from collections.abc import Iterator
from typing import Final

from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.report.source_excerpt import excerpt_lines, excerpt_of
from kyvsim.report.wrapped import Sheet

_INDENT: Final = "    "


def source_lines(entry: Diagnostic, line: str, sheet: Sheet) -> Iterator[str]:
    """Yield the line of a remark and the mark, unless it has its place in a text of that file.

    `line` is as it is written, "" where nobody has it at hand.
    """
    place = entry.location
    excerpt = excerpt_of(line, place.column) if place and not entry.excerpt else None
    if place is None or excerpt is None:
        return
    shown, mark = excerpt_lines(excerpt, place.line, sheet.width - len(_INDENT))
    look = "error" if entry.severity is Severity.ERROR else "warn"
    yield f"{_INDENT}{sheet.paint('dim', shown[0])}{shown[1]}"
    yield f"{_INDENT}{sheet.paint('dim', mark[0])}{sheet.paint(look, mark[1])}"
