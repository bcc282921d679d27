"""Findings as lines `file:line:column: severity code: message`."""

from collections.abc import Iterator

from kyvsim.report.findings import Findings
from kyvsim.report.remark_text import remark_text


def render(findings: Findings) -> Iterator[str]:
    """Yield each finding, with the lines that show its place where there are some."""
    for entry in findings.diagnostics:
        yield f"{remark_text(entry)}\n"
