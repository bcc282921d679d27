"""Findings as workflow commands, which GitHub shows beside the lines of a change."""

from collections.abc import Iterator

from kyvsim.report.finding import Findings
from kyvsim.report.style import Look
from kyvsim.report.workflow_command import remark


def render(findings: Findings, _look: Look) -> Iterator[str]:
    """Yield one command for each finding."""
    yield from map(remark, findings.diagnostics)
