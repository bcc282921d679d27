"""Findings as workflow commands, which GitHub shows beside the lines of a change."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.report.findings import Findings
from kyvsim.report.style import safe_text

_COMMANDS: Mapping[Severity, str] = MappingProxyType(
    {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
)
_IN_TEXT = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def render(findings: Findings) -> Iterator[str]:
    """Yield one command for each finding."""
    for entry in findings.diagnostics:
        yield f"::{_COMMANDS[entry.severity]} {_properties(entry)}::{_text(entry.message)}\n"


def _properties(entry: Diagnostic) -> str:
    place = entry.location
    pairs: list[tuple[str, str | int]] = [("title", entry.code)]
    if place and place.line:
        pairs = [("line", place.line), ("col", place.column), *pairs]
    if place:
        pairs.insert(0, ("file", _visible(place.file).translate(_IN_PROPERTY)))
    return ",".join(f"{name}={value}" for name, value in pairs)


def _text(message: str) -> str:
    return _visible(message).translate(_IN_TEXT)


def _visible(text: str) -> str:
    """Return text whose control characters show; the ends of lines are kept for escaping."""
    return "\r".join(map(safe_text, text.split("\r")))
