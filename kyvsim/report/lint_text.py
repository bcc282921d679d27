"""Findings as lines `file:line:column: severity code: message`."""

from collections.abc import Iterator

from kyvsim.report.findings import Findings
from kyvsim.report.style import safe_line


def render(findings: Findings) -> Iterator[str]:
    """Yield one line for each finding."""
    for entry in findings.diagnostics:
        yield f"{safe_line(str(entry))}\n"
