"""Findings as a code quality report of GitLab."""

import json
from collections.abc import Iterator

from kyvsim.report.finding import Findings
from kyvsim.report.gitlab_issue import diagnostic_issues
from kyvsim.report.style import Look


def render(findings: Findings, _look: Look) -> Iterator[str]:
    """Yield one list with an issue for each finding."""
    between = "["
    for one in diagnostic_issues(findings.diagnostics):
        yield f"{between}\n  {json.dumps(one)}"
        between = ","
    yield "]\n" if between == "," else "[]\n"
