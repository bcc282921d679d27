"""Diagnostics of a run as JSON, and as text with the line of the source."""

from collections.abc import Iterator
from typing import Final

from kyvsim.kubernetes.objects import Json
from kyvsim.model.diagnostic import Diagnostic, Fix, Severity
from kyvsim.report.look import Sheet, wrapped
from kyvsim.report.source_excerpt import excerpt_lines, excerpt_of
from kyvsim.report.style import safe_line

# A remark about an input file as JSON data.


def diagnostic_json(entry: Diagnostic) -> Json:
    """Return a remark as a mapping; line and column are 0 where they are unknown."""
    place = entry.location
    return {
        "code": entry.code,
        "severity": entry.severity.value,
        "message": entry.message,
        "file": place.file if place else "",
        "line": place.line if place else 0,
        "column": place.column if place else 0,
        **({"excerpt": list(entry.excerpt)} if entry.excerpt else {}),
        **({"fix": _fix(entry.fix)} if entry.fix and entry.fix.edits else {}),
    }


def _fix(fix: Fix) -> Json:
    edits = [
        {
            "line": one.line,
            "column": one.column,
            "endLine": one.end_line,
            "endColumn": one.end_column,
            "text": one.text,
        }
        for one in fix.edits
    ]
    return {"title": fix.title, "edits": edits}


# The line of a file that a remark is about, with a mark below the part that is meant.


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


# A remark about an input file as text.


def remark_text(entry: Diagnostic, width: int = 0) -> str:
    """Return a remark on one line, safe to show, and below it the lines that show its place.

    For a terminal of some `width` it is wrapped; 0 leaves it on one line, as programs read it.
    """
    lines = [safe_line(str(entry))]
    if 0 < width < len(lines[0]):
        lines = [*wrapped(str(entry), width, "    ", "")]
    return "\n".join((*lines, *(f"    {safe_line(one)}" for one in entry.excerpt)))
