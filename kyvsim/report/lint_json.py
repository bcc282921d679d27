"""Findings as one JSON document."""

from collections.abc import Iterator

from kyvsim.report.diagnostics import diagnostic_json
from kyvsim.report.ending import ending_json
from kyvsim.report.finding import Findings
from kyvsim.report.object_text import to_json
from kyvsim.report.style import Look


def render(findings: Findings, _look: Look) -> Iterator[str]:
    """Yield the document: `diagnostics`, `ending`, then `summary` with the figures."""
    listed = ",\n  ".join(to_json(diagnostic_json(entry)) for entry in findings.diagnostics)
    yield '{"diagnostics": [' + (f"\n  {listed}" if listed else "") + "]"
    figures = {
        "errors": findings.errors,
        "warnings": findings.warnings,
        "policies": findings.policies,
    }
    yield f',\n"ending": {to_json(ending_json(findings.ending))}'
    yield f',\n"summary": {to_json(figures)}}}\n'
