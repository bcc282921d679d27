"""Results as GitHub workflow commands and as GitLab code quality reports, shown beside a change."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from kyvsim.kubernetes.objects import Json
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.result import EngineResponse
from kyvsim.model.source import Location
from kyvsim.report.ending import counts_line
from kyvsim.report.finding import Finding, compile_findings, compile_fingerprints
from kyvsim.report.lint import Findings
from kyvsim.report.object_text import json_entries
from kyvsim.report.run import Lists, Run, StreamingDocument
from kyvsim.report.style import RenderOptions, safe_text

# Workflow commands: lines that GitHub reads in a log and shows beside the lines of a change.

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
        # GitHub counts the last column in.
        ends = [("endLine", str(end.line)), ("endColumn", str(end.column - 1))] if end else []
        pairs = [("line", str(place.line)), ("col", str(place.column)), *ends, *pairs]
    if place:
        pairs.insert(0, ("file", place.file))
    properties = (f"{name}={_visible(value).translate(_IN_PROPERTY)}" for name, value in pairs)
    shown = _visible(text).translate(_IN_TEXT)
    return f"::{_COMMANDS[severity]} {','.join(properties)}::{shown}\n"


def remark(entry: Diagnostic) -> str:
    """Return the command that shows a diagnostic, its code as the title."""
    return annotation(entry.severity, entry.location, entry.code, entry.message)


def _visible(text: str) -> str:
    """Return text whose control characters show; the ends of lines are kept for escaping."""
    return "\r".join(map(safe_text, text.split("\r")))


def begin_github(run: Run, options: RenderOptions) -> StreamingDocument:
    """Begin a command for each diagnostic and each finding; the last line counts, for the log."""
    findings = compile_findings(run, options._replace(detailed=False))

    def line(one: Finding) -> str:
        text = f"{one.shown_summary}\nrule: {one.rule_location}"
        return annotation(one.weight, one.place, one.shown_name, text, end=one.end)

    return StreamingDocument(
        head=lambda: map(remark, run.diagnostics),
        row=lambda response: "".join(map(line, findings(response))),
        tail=lambda _: (*map(remark, run.final_diagnostics()), f"{counts_line(run)}\n"),
    )


def render_lint_github(findings: Findings, _look: RenderOptions) -> Iterator[str]:
    """Yield one command for each finding."""
    yield from map(remark, findings.diagnostics)


# Issues of a code quality report of GitLab: one of anything, and those of diagnostics.
#
# Source: https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format

_GITLAB_SEVERITIES: Mapping[Severity, str] = MappingProxyType(
    {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}
)
SEVERITIES: Final = ("info", "minor", "major", "critical", "blocker")
"""What the format knows, from light to heavy."""


def issue(shown: tuple[str, str], weight: str, place: Location, fingerprint: str) -> Json:
    """Return an issue with a check and a text.

    Without a known line it is at the first.
    """
    check, text = shown
    place = place.in_repository()
    return {
        "description": safe_text(text),
        "check_name": safe_text(check),
        "fingerprint": fingerprint,
        "severity": weight,
        "location": {
            "path": place.file.replace("\\", "/").removeprefix("./"),
            "lines": {"begin": max(place.line, 1)},
        },
    }


def diagnostic_issues(diagnostics: Iterable[Diagnostic]) -> Iterator[Json]:
    """Yield an issue for each diagnostic.

    Its fingerprint is made of code, file and message, so that it stays when lines move; those that
    agree in all are counted.
    """
    seen: Counter[str] = Counter()
    for entry in diagnostics:
        place = entry.location or Location("")
        key = json.dumps([entry.code, place.file, entry.message])
        seen[key] += 1
        parts = f"{key} {seen[key]}"
        fingerprint = hashlib.sha256(parts.encode("utf-8", "surrogateescape")).hexdigest()[:32]
        shown = (entry.code, entry.message)
        yield issue(shown, _GITLAB_SEVERITIES[entry.severity], place, fingerprint)


# What rules found as a code quality report of GitLab, which it shows in merge requests.

_RESULT_WEIGHTS: Mapping[str, str] = MappingProxyType(
    {"critical": "blocker", "high": "critical", "medium": "major", "low": "minor", "info": "info"}
)


def begin_gitlab(run: Run, options: RenderOptions) -> StreamingDocument:
    """Begin a list with an issue for each finding, and for each diagnostic about an input."""
    findings = compile_findings(run, options._replace(detailed=False))  # an issue is never a pass
    fingerprint = compile_fingerprints()
    is_begun = False

    def row(response: EngineResponse) -> str:
        nonlocal is_begun
        texts = [""]
        for one in findings(response):
            # As heavy as its policy says where it fails, else as its status says.
            own = _RESULT_WEIGHTS.get(one.severity) if one.weight is Severity.ERROR else None
            weight = own or _GITLAB_SEVERITIES[one.weight]
            shown = one.shown_check, one.shown_summary
            texts.append(json.dumps(issue(shown, weight, one.place, fingerprint(one))))
        is_begun = is_begun or len(texts) > 1
        return ",\n  ".join(texts)

    def tail(_: Lists) -> Iterator[str]:
        text = "".join(json_entries(map(json.dumps, diagnostic_issues(run.all_diagnostics()))))
        yield f",{text}]\n" if is_begun and text else f"{text}]\n"

    return StreamingDocument(head=lambda: ("[",), row=row, tail=tail, skipped=1)


def render_lint_gitlab(findings: Findings, _look: RenderOptions) -> Iterator[str]:
    """Yield one list with an issue for each finding."""
    text = "".join(json_entries(map(json.dumps, diagnostic_issues(findings.diagnostics))))
    yield f"[{text}]\n"
