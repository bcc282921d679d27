"""Workflow commands: lines that GitHub reads in a log and shows beside the lines of a change."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Location
from kyvsim.report.style import safe_text

_COMMANDS: Mapping[Severity, str] = MappingProxyType(
    {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
)
_IN_TEXT = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def annotation(
    severity: Severity,
    place: Location | None,
    title: str,
    text: str,
    *,
    end: Location | None = None,
) -> str:
    """Return the command, one line, that shows a text with a title at a place.

    `end` is where what is meant ends on the line of the place, exclusive.
    """
    place = place and place.in_repository()
    pairs: list[tuple[str, str]] = [("title", title)]
    if place and place.line:
        pairs = [("line", str(place.line)), ("col", str(place.column)), *_end(end), *pairs]
    if place:
        pairs.insert(0, ("file", place.file))
    properties = (f"{name}={_visible(value).translate(_IN_PROPERTY)}" for name, value in pairs)
    shown = _visible(text).translate(_IN_TEXT)
    return f"::{_COMMANDS[severity]} {','.join(properties)}::{shown}\n"


def _end(end: Location | None) -> Iterator[tuple[str, str]]:
    if end:
        # GitHub counts the last column in.
        yield "endLine", str(end.line)
        yield "endColumn", str(end.column - 1)


def remark(entry: Diagnostic) -> str:
    """Return the command that shows a diagnostic, its code as the title."""
    return annotation(entry.severity, entry.location, entry.code, entry.message)


def _visible(text: str) -> str:
    """Return text whose control characters show; the ends of lines are kept for escaping."""
    return "\r".join(map(safe_text, text.split("\r")))
