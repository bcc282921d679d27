"""What rules found as SARIF 2.1.0, the format of code scanning services.

Each result stands at the place in the manifest, with that of its rule beside it; remarks about
input files are notifications.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from kyvsim import __version__
from kyvsim.kubernetes.objects import Json
from kyvsim.model.result import EngineResponse, Verdict
from kyvsim.report.ending import run_ending
from kyvsim.report.finding import Finding, compile_findings, compile_fingerprints
from kyvsim.report.run import Run, Writing
from kyvsim.report.sarif_log import LEVELS, SCHEMA, notification, physical_location
from kyvsim.report.style import Look, safe_line, safe_text

_KINDS: Mapping[str, str] = MappingProxyType({"pass": "pass", "skip": "notApplicable"})
"""How rows are called that find no fault; others of them want somebody to look."""
_SCORES: Mapping[str, str] = MappingProxyType(
    {"critical": "9.5", "high": "8.0", "medium": "5.0", "low": "2.0"}
)
"""What code scanning of GitHub makes these severities of."""


def begin(run: Run, look: Look) -> Writing:
    """Begin a log with one run. Its rules are those of its results, told behind them."""
    findings, result_of = compile_findings(run, look), _compile_result()
    rules: dict[str, Json] = {}

    def row(response: EngineResponse) -> str:
        texts = []
        for one in findings(response):
            check = one.shown_check
            if check not in rules:
                rules[check] = _rule(one)
            texts.append(json.dumps(result_of(one)))
        return ",\n  ".join(("", *texts))

    opening = {"$schema": SCHEMA, "version": "2.1.0"}
    return Writing(
        head=lambda: (f'{json.dumps(opening)[:-1]}, "runs": [{{"results": [',),
        row=row,
        tail=lambda _: _tail(run, rules),
        skipped=1,
    )


def _tail(run: Run, rules: Mapping[str, Json]) -> Iterator[str]:
    driver = {"name": "kyvsim", "version": __version__, "rules": [*rules.values()]}
    ending = run_ending(run)
    invocation = {
        "executionSuccessful": ending.verdict is not Verdict.INCOMPLETE,
        "exitCode": ending.status,
        "toolConfigurationNotifications": [notification(one) for one in run.remarks()],
    }
    yield f'],\n"columnKind": "unicodeCodePoints",\n"tool": {json.dumps({"driver": driver})}'
    yield f',\n"invocations": [{json.dumps(invocation)}]}}]}}\n'


def _rule(one: Finding) -> Json:
    """Return what is to be known of a rule: its policy's words about itself."""
    policy = one.definition
    named = _text(policy.annotations.get("policies.kyverno.io/title")) or one.shown_name
    described = _text(policy.annotations.get("policies.kyverno.io/description"))
    found: dict[str, Json] = {
        "id": one.shown_check,
        "shortDescription": {"text": named},
        "helpUri": one.documentation,
    }
    if described:
        found["fullDescription"] = {"text": described}
        found["help"] = {"text": described}
    category, severity = one.category, one.severity
    properties: dict[str, Json] = {"tags": [safe_line(category)]} if category else {}
    if severity:
        properties["severity"] = severity
    if severity in _SCORES:
        properties["security-severity"] = _SCORES[severity]
    return {**found, "properties": properties} if properties else found


def _compile_result() -> Callable[[Finding], Json]:
    """Return a function that makes a result of a finding."""
    fingerprint = compile_fingerprints()

    def result(one: Finding) -> Json:
        level = LEVELS[one.weight_by_itself]
        silent = level == "note"
        rule = {"physicalLocation": physical_location(one.rule_location)}
        name = one.shown_title
        return {
            "ruleId": one.shown_check,
            "kind": _KINDS.get(one.result, "review") if silent else "fail",
            "level": "none" if silent else level,
            **_baseline_state(one),
            "message": {"text": one.shown_summary},
            "locations": [
                {
                    "physicalLocation": physical_location(one.place, one.end),
                    "logicalLocations": [{"fullyQualifiedName": name, "kind": "resource"}],
                }
            ],
            "relatedLocations": [{**rule, "message": {"text": f"rule {one.shown_name}"}}],
            "partialFingerprints": {"kyvsim/v1": fingerprint(one)},
            "properties": {"result": one.result, "path": one.path},
        }

    return result


def _baseline_state(one: Finding) -> dict[str, Json]:
    """Return how a failure stands to the baseline of the run, where it has one."""
    state = one.row.result.baseline
    return {"baselineState": state.value} if state else {}


def _text(value: Json) -> str:
    return safe_text(value.strip()) if value.__class__ is str else ""
