"""What rules found as a code quality report of GitLab, which it shows in merge requests."""

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from kyvsim.kubernetes.objects import Json
from kyvsim.model.diagnostic import Severity
from kyvsim.model.result import EngineResponse
from kyvsim.report.finding import Finding, compile_findings, compile_fingerprints
from kyvsim.report.gitlab_issue import diagnostic_issues, issue, weight_word
from kyvsim.report.object_text import without_comma
from kyvsim.report.run import Lists, Run, Writing
from kyvsim.report.style import Look

_WEIGHTS: Mapping[str, str] = MappingProxyType(
    {"critical": "blocker", "high": "critical", "medium": "major", "low": "minor", "info": "info"}
)


def begin(run: Run, look: Look) -> Writing:
    """Begin a list with an issue for each finding, and for each remark about an input."""
    findings = compile_findings(run, look._replace(detailed=False))  # an issue is never a pass
    fingerprint = compile_fingerprints()
    is_begun = False

    def issue_of(one: Finding) -> Json:
        told = (one.shown_check, one.shown_summary)
        return issue(told, _weight(one), one.place, fingerprint(one))

    def row(response: EngineResponse) -> str:
        nonlocal is_begun
        texts = [json.dumps(issue_of(one)) for one in findings(response)]
        is_begun = is_begun or bool(texts)
        return ",\n  ".join(("", *texts))

    def tail(_: Lists) -> Iterator[str]:
        texts = (f",\n  {json.dumps(one)}" for one in diagnostic_issues(run.remarks()))
        yield from texts if is_begun else without_comma(texts)
        yield "]\n"

    return Writing(head=lambda: ("[",), row=row, tail=tail, skipped=1)


def _weight(one: Finding) -> str:
    """Return how heavy a finding is: as its policy says where it fails, else as its status says."""
    said = one.severity if one.weight is Severity.ERROR else ""
    return _WEIGHTS.get(said) or weight_word(one.weight)
