"""Results of `apply` and findings of `lint` as SARIF 2.1.0, for code scanning services."""

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from urllib.parse import quote

from kyvsim import __version__
from kyvsim.kubernetes.objects import Json
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.result import EngineResponse, RunVerdict
from kyvsim.model.source import Location
from kyvsim.report.diagnostic_codes import codes_by_name, example_blocks, why_lines
from kyvsim.report.ending import run_ending
from kyvsim.report.finding import Finding, compile_findings, compile_fingerprints
from kyvsim.report.lint import Findings
from kyvsim.report.run import Lists, Run, StreamingDocument
from kyvsim.report.style import RenderOptions, safe_line, safe_text

# Parts of a log in SARIF 2.1.0, the format of code scanning services.
#
# Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS: Mapping[Severity, str] = MappingProxyType(
    {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
)


def physical_location(place: Location, end: Location | None = None) -> dict[str, Json]:
    """Return a place as a `physicalLocation`; its region is left out where the line is unknown.

    With `end` the region ends there, exclusive: SARIF counts the end column so.
    """
    place = place.in_repository()
    # A path as a reference; one from the root is a whole `file:` address.
    path = quote(place.file.replace("\\", "/").removeprefix("./"), errors="surrogateescape")
    uri = f"file://{path}" if path.startswith("/") else path
    found: dict[str, Json] = {"artifactLocation": {"uri": uri}}
    if place.line:
        region = {"startLine": place.line}
        if place.column:
            region["startColumn"] = place.column
        if end and place.column:
            region |= {"endLine": end.line, "endColumn": end.column}
        found["region"] = region
    return found


def notification(entry: Diagnostic) -> dict[str, Json]:
    """Return a diagnostic about an input as a `notification`."""
    found: dict[str, Json] = {
        "descriptor": {"id": entry.code},
        "level": LEVELS[entry.severity],
        "message": {"text": entry.message},
    }
    if entry.location:
        found["locations"] = [{"physicalLocation": physical_location(entry.location)}]
    return found


# What rules found as SARIF 2.1.0, the format of code scanning services.
#
# Each result is at the place in the manifest, with that of its rule beside it; diagnostics about
# input files are notifications.

_KINDS: Mapping[str, str] = MappingProxyType({"pass": "pass", "skip": "notApplicable"})
"""How rows are called that find no fault; others of them want somebody to look."""
_SCORES: Mapping[str, str] = MappingProxyType(
    {"critical": "9.5", "high": "8.0", "medium": "5.0", "low": "2.0"}
)
"""What code scanning of GitHub makes these severities of."""


def begin_sarif(run: Run, options: RenderOptions) -> StreamingDocument:
    """Begin a log with one run. Its rules are those of its results, reported behind them."""
    findings, fingerprint = compile_findings(run, options), compile_fingerprints()
    rules: dict[str, Json] = {}

    def row(response: EngineResponse) -> str:
        texts = [""]
        for one in findings(response):
            check = one.shown_check
            if check not in rules:
                rules[check] = _rule(one)
            texts.append(json.dumps(_result(one, fingerprint(one))))
        return ",\n  ".join(texts)

    def tail(_: Lists) -> Iterator[str]:
        driver = {"name": "kyvsim", "version": __version__, "rules": [*rules.values()]}
        ending = run_ending(run)
        invocation = {
            "executionSuccessful": ending.verdict is not RunVerdict.INCOMPLETE,
            "exitCode": ending.status,
            "toolConfigurationNotifications": [notification(one) for one in run.all_diagnostics()],
        }
        yield f'],\n"columnKind": "unicodeCodePoints",\n"tool": {json.dumps({"driver": driver})}'
        yield f',\n"invocations": [{json.dumps(invocation)}]}}]}}\n'

    head = f'{{"$schema": "{SCHEMA}", "version": "2.1.0", "runs": [{{"results": ['
    return StreamingDocument(head=lambda: (head,), row=row, tail=tail, skipped=1)


def _rule(one: Finding) -> Json:
    """Return what is to be known of a rule: its policy's words about itself."""
    named, described = (
        safe_text(text.strip()) if text.__class__ is str else ""
        for text in (
            one.definition.annotations.get(f"policies.kyverno.io/{name}")
            for name in ("title", "description")
        )
    )
    found: dict[str, Json] = {
        "id": one.shown_check,
        "shortDescription": {"text": named or one.shown_name},
        "helpUri": one.documentation,
    }
    if described:
        found["fullDescription"] = {"text": described}
        found["help"] = {"text": described}
    properties: dict[str, Json] = {"tags": [safe_line(one.category)]} if one.category else {}
    if one.severity:
        properties["severity"] = one.severity
    if one.severity in _SCORES:
        properties["security-severity"] = _SCORES[one.severity]
    return {**found, "properties": properties} if properties else found


def _result(one: Finding, fingerprint: str) -> Json:
    level = LEVELS[one.weight_by_itself]
    silent = level == "note"
    rule = {"physicalLocation": physical_location(one.rule_location)}
    # Whether a failure is new, where the run has a baseline.
    state = one.row.result.baseline
    return {
        "ruleId": one.shown_check,
        "kind": _KINDS.get(one.result, "review") if silent else "fail",
        "level": "none" if silent else level,
        **({"baselineState": state.value} if state else {}),
        "message": {"text": one.shown_summary},
        "locations": [
            {
                "physicalLocation": physical_location(one.place, one.end),
                "logicalLocations": [{"fullyQualifiedName": one.shown_title, "kind": "resource"}],
            }
        ],
        "relatedLocations": [{**rule, "message": {"text": f"rule {one.shown_name}"}}],
        "partialFingerprints": {"kyvsim/v1": fingerprint},
        "properties": {"result": one.result, "path": one.path},
    }


# Findings as SARIF 2.1.0, the format of code scanning services.


def render_lint_sarif(findings: Findings, _look: RenderOptions) -> Iterator[str]:
    """Yield one log with one run; its rules are the codes that occur, in order.

    They have no `helpUri`, which must be absolute: `DiagnosticCode.page` has no web address.
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
        result: dict[str, Json] = {
            "ruleId": entry.code,
            "ruleIndex": names.index(entry.code),
            "level": LEVELS[entry.severity],
            "message": {"text": entry.message},
        }
        if entry.location:
            place = physical_location(entry.location, _end(findings, entry))
            result["locations"] = [{"physicalLocation": place}]
        results.append(result)
    run = {
        "tool": {"driver": {"name": "kyvsim", "version": __version__, "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    yield json.dumps(log, indent=2) + "\n"


def _end(findings: Findings, entry: Diagnostic) -> Location | None:
    """Return where what a finding is about ends; None where its line is not known."""
    line, column = findings.end_of(entry)
    place = entry.location
    return place._replace(line=line, column=column) if place and column > place.column else None
