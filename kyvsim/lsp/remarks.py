"""Remarks as editors show them, and what puts them right."""

import re
from collections.abc import Iterable, Iterator, Sequence
from types import MappingProxyType

from lsprotocol import types as lsp

from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.report.diagnostic_codes import code_markdown, codes_by_name

SOURCE = "kyvsim"
_SEVERITIES = MappingProxyType(
    {
        Severity.ERROR: lsp.DiagnosticSeverity.Error,
        Severity.WARNING: lsp.DiagnosticSeverity.Warning,
        Severity.INFO: lsp.DiagnosticSeverity.Information,
    }
)
_KEY = re.compile(r'("[^"]*"|\'[^\']*\'|[^\s:#{}\[\],][^:#{}\[\],]*?)(?=\s*:(?:\s|$))')
_REST = re.compile(r"[^#]*?(?=\s*(?:#.*)?$)")


def shown(remarks: Iterable[Diagnostic], text: str) -> Iterator[lsp.Diagnostic]:
    """Yield remarks on a text, with columns that count characters."""
    lines = text.split("\n")
    known = codes_by_name()
    for one in remarks:
        yield lsp.Diagnostic(
            range=range_of(one, lines),
            message=one.message,
            severity=_SEVERITIES[one.severity],
            code=one.code,
            source=SOURCE,
            tags=[lsp.DiagnosticTag.Deprecated] if known[one.code].deprecated else None,
        )


def meant_at(remarks: Iterable[lsp.Diagnostic], position: lsp.Position) -> Iterator[str]:
    """Yield what the codes of those remarks mean that a position is in, each once, as Markdown."""
    found = {one.code for one in remarks if one.range.start <= position <= one.range.end}
    for name, code in codes_by_name().items():
        if name in found:
            yield code_markdown(code, f"**{name}**: {code.title}")


def range_of(remark: Diagnostic, lines: Sequence[str]) -> lsp.Range:
    """Return what a remark is about: a key, or a value to the end of its line."""
    place = remark.location
    line = max(0, (place.line if place else 1) - 1)
    if line >= len(lines):
        line = max(0, len(lines) - 1)
    column = min(max(0, (place.column if place else 1) - 1), len(lines[line]))
    rest = lines[line].removesuffix("\r")
    found = _KEY.match(rest, column) or _REST.match(rest, column)
    end = found.end() if found else column
    start = lsp.Position(line, column)
    return lsp.Range(start, lsp.Position(line, max(end, column)))
