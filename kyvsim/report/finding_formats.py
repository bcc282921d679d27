"""Results and diagnostics as JUnit XML, GitHub annotations, GitLab code quality and SARIF."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final
from urllib.parse import quote
from xml.sax.saxutils import escape

from kyvsim import __version__
from kyvsim.kubernetes.objects import Json
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.result import EngineResponse, RunVerdict
from kyvsim.model.source import Location
from kyvsim.report.diagnostic_codes import codes_by_name, example_blocks, why_lines
from kyvsim.report.finding import WEIGHTS, Finding, FindingWriter, compile_findings
from kyvsim.report.lint import Findings
from kyvsim.report.object_text import json_entries
from kyvsim.report.results import (
    Row,
    cached_by_rule,
    category_of,
    documentation_of,
    severity_of,
    title,
)
from kyvsim.report.run import Lists, Run, StreamingDocument, counts_line, run_ending
from kyvsim.report.style import RenderOptions, safe_line, safe_text

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_QUOTE: Final[Mapping[str, str]] = {'"': "&quot;"}
_IN_ATTRIBUTE: Final[Mapping[str, str]] = {**_QUOTE, "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}


def attributes(values: Mapping[str, str]) -> str:
    """Return attributes of a tag, each with a preceding space."""
    return "".join(
        [f' {name}="{escape(_valid(text), _IN_ATTRIBUTE)}"' for name, text in values.items()]
    )


def escaped(text: str) -> str:
    """Return text for XML, safe in a log; characters that are invalid in XML 1.0 become U+FFFD."""
    return escape(_valid(text), _QUOTE)


def _valid(text: str) -> str:
    return _NOT_IN_XML.sub("\ufffd", safe_text(text))


def case_element(names: Mapping[str, str], *content: str) -> str:
    """Return a `testcase` element with XML elements as its content."""
    start = f"    <testcase{attributes(names)}"
    inner = "".join(f"      {element}\n" for element in content)
    return f"{start}>\n{inner}    </testcase>\n" if inner else f"{start}/>\n"


def error_case(classname: str, message: str) -> tuple[str, str]:
    """Return a test case for an input error, as an entry of a suite."""
    names = {"classname": classname, "name": "inputs"}
    return "error", case_element(names, f"<error{attributes({'message': message})}/>")


def document_head(name: str, cases: Iterable[tuple[str, str]]) -> str:
    """Return the first lines of a document with its counts."""
    counts = _suite_counts(cases)
    del counts["skipped"]  # Jenkins' schema, by which some programs reject a report, has none here
    named = attributes({"name": name, **counts})
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites{named}>\n'


def _suite_counts(cases: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the counting attributes of a suite; each case is a status and a text."""
    counts = Counter(status for status, _ in cases)
    words = {"failures": "fail", "errors": "error", "skipped": "skip"}
    numbers = {word: str(counts[status]) for word, status in words.items()}
    return {"tests": str(counts.total()), **numbers}


def suite_element(name: str, cases: Sequence[tuple[str, str]], head: str = "") -> Iterator[str]:
    """Yield a `testsuite` with its counts; `head` comes before the cases."""
    yield f"  <testsuite{attributes({'name': name, **_suite_counts(cases)})}>\n{head}"
    yield from (text for _, text in cases)
    yield "  </testsuite>\n"


def begin_junit(run: Run, options: RenderOptions) -> StreamingDocument:
    """Begin the document, one suite for each object; input errors are in a separate suite.

    A warning is a passed case with a text. Characters that are invalid in XML 1.0, and control
    characters, are written as visible escapes.
    """
    rows_of = compile_findings(run, options._replace(detailed=True))
    passed = cached_by_rule(lambda row: case_element(_case_names(row)))

    def case(finding: Finding) -> tuple[str, str]:
        is_bare = finding.row.status == "pass" and not finding.row.result.note
        return ("pass", passed(finding.row)) if is_bare else _case(finding)

    def row(response: EngineResponse) -> str:
        cases = [case(finding) for finding in rows_of(response)]
        return "".join(suite_element(title(response.trigger), cases)) if cases else ""

    def tail(_: Lists) -> Iterator[str]:
        names = {"name": "inputs", "classname": "kyvsim"}
        cases = []
        for diagnostic in run.all_diagnostics():
            if diagnostic.severity is Severity.ERROR:
                error = attributes({"message": safe_text(str(diagnostic)), "type": "input"})
                cases.append(("error", case_element(names, f"<error{error}/>")))
        if cases:
            yield from suite_element("inputs", cases)
        yield "</testsuites>\n"

    name = attributes({"name": f"kyvsim apply (Kyverno {run.release})"})
    opening = f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites{name}>\n'
    return StreamingDocument(head=lambda: (opening,), row=row, tail=tail)


def _case(finding: Finding) -> tuple[str, str]:
    """Return the status of a case, and its element; known failures are passed, with a note."""
    status = finding.row.status
    outcome = "pass" if finding.is_known else status
    shown_text = finding.shown_text
    if outcome in {"fail", "error"}:
        element = "failure" if outcome == "fail" else "error"
        about = attributes({"message": shown_text, "type": status})
        text = escaped(f"{shown_text}\nat {finding.place}\nrule: {finding.rule_location}")
        content = [f"<{element}{about}>{text}</{element}>"]
    elif outcome == "skip":
        content = [f"<skipped{attributes({'message': shown_text})}/>"]
    else:
        content = [f"<system-out>{escaped(f'{status}: {shown_text}')}</system-out>"]
    return outcome, case_element(_case_names(finding.row), *content)


def _case_names(row: Row) -> dict[str, str]:
    return {"name": row.result.rule.name or row.policy.name, "classname": row.policy.key}


_COMMANDS: Mapping[Severity, str] = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFO: "notice",
}
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
    """Return a workflow command, which GitHub reads in a log and shows beside a line of a change.

    `end` is the exclusive end of the position.
    """
    place = place and place.in_repository()
    pairs: list[tuple[str, str]] = [("title", title)]
    if place and place.line:
        # For GitHub, the last column is inclusive.
        ends = [("endLine", str(end.line)), ("endColumn", str(end.column - 1))] if end else []
        pairs = [("line", str(place.line)), ("col", str(place.column)), *ends, *pairs]
    if place:
        pairs.insert(0, ("file", place.file))
    properties = (f"{name}={_visible(value).translate(_IN_PROPERTY)}" for name, value in pairs)
    shown = _visible(text).translate(_IN_TEXT)
    return f"::{_COMMANDS[severity]} {','.join(properties)}::{shown}\n"


def annotation_of(entry: Diagnostic) -> str:
    """Return the command for a diagnostic, with its code as the title."""
    return annotation(entry.severity, entry.location, entry.code, entry.message)


def _visible(text: str) -> str:
    """Return text with visible control characters; line ends are escaped later."""
    return "\r".join(map(safe_text, text.split("\r")))


def begin_github(run: Run, options: RenderOptions) -> StreamingDocument:
    """Begin a command for each diagnostic and each finding; the last line shows the counts."""
    findings = compile_findings(run, options._replace(detailed=False))

    def line(finding: Finding) -> str:
        text = f"{finding.shown_summary}\nrule: {finding.rule_location}"
        return annotation(finding.weight, finding.place, finding.shown_name, text, end=finding.end)

    return StreamingDocument(
        head=lambda: map(annotation_of, run.diagnostics),
        row=lambda response: "".join(map(line, findings(response))),
        tail=lambda _: (
            *map(annotation_of, run.final_diagnostics()),
            f"{counts_line(run)} (Kyverno {run.release})\n",
        ),
    )


def render_lint_github(findings: Findings, _look: RenderOptions) -> Iterator[str]:
    """Yield one command for each finding."""
    yield from map(annotation_of, findings.diagnostics)


_GITLAB_SEVERITIES: Mapping[Severity, str] = {
    Severity.ERROR: "major",
    Severity.WARNING: "minor",
    Severity.INFO: "info",
}


def _issue(
    check: str, text: str, weight: str, place: Location, release: str, fingerprint: str = ""
) -> dict[str, object]:
    """Return an issue of a code quality report of GitLab.

    The first line is used if the line is unknown. The list has no place for the release of
    Kyverno, so each issue names it as Code Climate names the engine of an issue. Source:
    https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
    """
    place = place.in_repository()
    return {
        "description": safe_text(text),
        "check_name": safe_text(check),
        "fingerprint": fingerprint,
        "severity": weight,
        "engine_name": f"kyvsim (Kyverno {release})",
        "location": {
            "path": place.file.replace("\\", "/").removeprefix("./"),
            "lines": {"begin": max(place.line, 1)},
        },
    }


def _diagnostic_issues(diagnostics: Iterable[Diagnostic], release: str) -> str:
    """Return an issue for each diagnostic.

    The fingerprint is a hash of code, file and message, so that it does not change when lines move;
    equal ones are numbered.
    """
    numbers: Counter[str] = Counter()
    issues = []
    for entry in diagnostics:
        place = entry.location or Location("")
        key = json.dumps([entry.code, place.file, entry.message])
        numbers[key] += 1
        parts = f"{key} {numbers[key]}"
        fingerprint = hashlib.sha256(parts.encode("utf-8", "surrogateescape")).hexdigest()[:32]
        weight = _GITLAB_SEVERITIES[entry.severity]
        issue = _issue(entry.code, entry.message, weight, place, release, fingerprint)
        issues.append(json.dumps(issue))
    return "".join(json_entries(issues))


_RESULT_WEIGHTS: Mapping[str, str] = {
    "critical": "blocker",
    "high": "critical",
    "medium": "major",
    "low": "minor",
    "info": "info",
}


def begin_gitlab(run: Run, options: RenderOptions) -> StreamingDocument:
    """Begin a list with an issue for each finding, and for each diagnostic about an input."""
    findings = compile_findings(run, options._replace(detailed=False))  # passes are not issues

    def issues(response: EngineResponse) -> Iterator[tuple[Finding, dict[str, object]]]:
        for finding in findings(response):
            # The severity of the policy for failures, that of the status for others.
            weight = _GITLAB_SEVERITIES[finding.weight]
            if finding.weight is Severity.ERROR:
                weight = _RESULT_WEIGHTS.get(severity_of(finding.row.policy), weight)
            check, text = finding.shown_check, finding.shown_summary
            yield finding, _issue(check, text, weight, finding.place, run.release)

    def put(issue: dict[str, Json], fingerprint: str) -> None:
        issue["fingerprint"] = fingerprint

    writer = FindingWriter(run, issues, put)

    def tail(_: Lists) -> Iterator[str]:
        text = _diagnostic_issues(run.all_diagnostics(), run.release)
        yield f"{text}]\n" if writer.is_empty or not text else f",{text}]\n"

    return StreamingDocument(
        head=lambda: ("[",), row=writer.row, tail=tail, skipped=1, joined=writer.joined
    )


def render_lint_gitlab(findings: Findings, _look: RenderOptions) -> Iterator[str]:
    """Yield one list with an issue for each finding."""
    yield f"[{_diagnostic_issues(findings.diagnostics, findings.release)}]\n"


# SARIF 2.1.0, the format of code scanning services.
# The location of a result is in the manifest, that of its rule is related; diagnostics about input
# files are notifications.
# Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS: Mapping[Severity, str] = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFO: "note",
}


def physical_location(place: Location, end: Location | None = None) -> dict[str, object]:
    """Return a location as a `physicalLocation`, without a region if the line is unknown.

    `end` is the exclusive end of the region, as in SARIF.
    """
    place = place.in_repository()
    # A path as a relative reference; an absolute one as a `file:` URI.
    path = quote(place.file.replace("\\", "/").removeprefix("./"), errors="surrogateescape")
    uri = f"file://{path}" if path.startswith("/") else path
    location: dict[str, object] = {"artifactLocation": {"uri": uri}}
    if place.line:
        region = {"startLine": place.line}
        if place.column:
            region["startColumn"] = place.column
        if end and place.column:
            region |= {"endLine": end.line, "endColumn": end.column}
        location["region"] = region
    return location


def _diagnostic(
    entry: Diagnostic, about: dict[str, object], end: Location | None = None
) -> dict[str, object]:
    """Return a diagnostic with the fields of `about`, as a notification or as a result of lint."""
    data = {**about, "level": LEVELS[entry.severity], "message": {"text": entry.message}}
    if entry.location:
        data["locations"] = [{"physicalLocation": physical_location(entry.location, end)}]
    return data


_KINDS: Mapping[str, str] = MappingProxyType({"pass": "pass", "skip": "notApplicable"})
"""The SARIF kind of results that did not fail; the others are for review."""
_SCORES: Final = MappingProxyType({"critical": "9.5", "high": "8.0", "medium": "5.0", "low": "2.0"})
"""Scores from which GitHub's code scanning derives these severities."""


_RULES: Final = "rules"


def begin_sarif(run: Run, options: RenderOptions) -> StreamingDocument:
    """Begin a log with one run. Its rules are those of its results, written after them."""
    findings = compile_findings(run, options)
    lists: dict[str, list[str]] = {_RULES: []}
    known: set[str] = set()

    def results(response: EngineResponse) -> Iterator[tuple[Finding, dict[str, object]]]:
        for finding in findings(response):
            check = finding.shown_check
            if check not in known:
                known.add(check)
                lists[_RULES].append(json.dumps(_rule(finding)))
            yield finding, _result(finding)

    def put(result: dict[str, Json], fingerprint: str) -> None:
        result["partialFingerprints"] = {"kyvsim/v1": fingerprint}

    writer = FindingWriter(run, results, put)

    def tail(lists: Lists) -> Iterator[str]:
        rules: dict[str, object] = {}
        for rule in map(json.loads, lists.get(_RULES, ())):
            rules.setdefault(rule["id"], rule)  # several parts have the same rules
        driver = {"name": "kyvsim", "version": __version__, "rules": [*rules.values()]}
        ending = run_ending(run)
        invocation = {
            "executionSuccessful": ending.verdict is not RunVerdict.INCOMPLETE,
            "exitCode": ending.status,
            "toolConfigurationNotifications": [
                _diagnostic(entry, {"descriptor": {"id": entry.code}})
                for entry in run.all_diagnostics()
            ],
        }
        yield f'],\n"columnKind": "unicodeCodePoints",\n"tool": {json.dumps({"driver": driver})}'
        yield f',\n"properties": {json.dumps({"kyverno": run.release})}'
        yield f',\n"invocations": [{json.dumps(invocation)}]}}]}}\n'

    head = f'{{"$schema": "{SCHEMA}", "version": "2.1.0", "runs": [{{"results": ['
    return StreamingDocument(
        head=lambda: (head,),
        row=writer.row,
        tail=tail,
        lists=lists,
        skipped=1,
        joined=writer.joined,
    )


def _rule(finding: Finding) -> dict[str, object]:
    policy = finding.row.policy
    named, described = (
        safe_text(text.strip()) if isinstance(text, str) else ""
        for text in (
            policy.annotations.get(f"policies.kyverno.io/{name}")
            for name in ("title", "description")
        )
    )
    data: dict[str, object] = {
        "id": finding.shown_check,
        "shortDescription": {"text": named or finding.shown_name},
        "helpUri": documentation_of(policy),
    }
    if described:
        data |= {"fullDescription": {"text": described}, "help": {"text": described}}
    category, severity = category_of(policy), severity_of(policy)
    properties: dict[str, object] = {"tags": [safe_line(category)]} if category else {}
    if severity:
        properties["severity"] = severity
    if severity in _SCORES:
        properties["security-severity"] = _SCORES[severity]
    return {**data, "properties": properties} if properties else data


def _result(finding: Finding) -> dict[str, object]:
    """Return a result without its fingerprint."""
    _, result, status, _ = finding.row
    level = LEVELS[WEIGHTS.get(status, Severity.INFO)]
    silent = level == "note"
    rule = {"physicalLocation": physical_location(finding.rule_location)}
    # Whether a failure is new, if the run has a baseline.
    state = result.baseline
    return {
        "ruleId": finding.shown_check,
        "kind": _KINDS.get(status, "review") if silent else "fail",
        "level": "none" if silent else level,
        **({"baselineState": state.value} if state else {}),
        "message": {"text": finding.shown_summary},
        "locations": [
            {
                "physicalLocation": physical_location(finding.place, finding.end),
                "logicalLocations": [
                    {"fullyQualifiedName": finding.shown_title, "kind": "resource"}
                ],
            }
        ],
        "relatedLocations": [{**rule, "message": {"text": f"rule {finding.shown_name}"}}],
        "partialFingerprints": {},
        "properties": {"result": status, "path": result.path},
    }


def render_lint_sarif(findings: Findings, _look: RenderOptions) -> Iterator[str]:
    """Yield one log with one run; its rules are the codes that occur, sorted.

    They have no `helpUri`, since it must be absolute and `DiagnosticCode.page` is not.
    """
    names = sorted({entry.code for entry in findings.diagnostics})
    rules = []
    for code in (codes_by_name()[name] for name in names):
        page = f"See {code.page} in the repository of kyvsim."
        markdown = "\n".join((*why_lines(code), *example_blocks(code), page))
        rules.append(
            {
                "id": code.code,
                "shortDescription": {"text": code.title},
                "help": {"text": f"{code.why}\n\n{page}", "markdown": markdown},
            }
        )
    results = []
    for entry in findings.diagnostics:
        line, column = findings.end_of(entry)
        place, end = entry.location, None
        if place and column > place.column:  # otherwise the line is unknown
            end = place._replace(line=line, column=column)
        about = {"ruleId": entry.code, "ruleIndex": names.index(entry.code)}
        results.append(_diagnostic(entry, about, end))
    run = {
        "tool": {"driver": {"name": "kyvsim", "version": __version__, "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "properties": {"kyverno": findings.release},
        "results": results,
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    yield json.dumps(log, indent=2) + "\n"
