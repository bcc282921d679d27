"""What rules found as SARIF 2.1.0, the format of code scanning services.

Each result stands at the place in the manifest, with that of its rule beside it; remarks about
input files are notifications.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from kyvsim import __version__
from kyvsim.kube.objects import Json
from kyvsim.model.ending import Verdict
from kyvsim.model.result import EngineResponse
from kyvsim.report.look import Look
from kyvsim.report.places import rule_place
from kyvsim.report.run import Run
from kyvsim.report.run_ending import run_ending
from kyvsim.report.run_findings import (
    check_of,
    compile_findings,
    compile_fingerprints,
    name_of,
    place_of,
    told_of,
    weight_by_itself,
)
from kyvsim.report.sarif_log import LEVELS, SCHEMA, notification, physical_location
from kyvsim.report.style import safe_line, safe_text
from kyvsim.report.subject import category_of, severity_of, title
from kyvsim.report.summary import Row
from kyvsim.report.writing import Writing

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
            check = check_of(one)
            if check not in rules:
                rules[check] = _rule(one)
            texts.append(json.dumps(result_of(one, response)))
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


def _rule(row: Row) -> Json:
    """Return what is to be known of a rule: its policy's words about itself."""
    policy = row.policy
    named = _text(policy.annotations.get("policies.kyverno.io/title")) or name_of(row)
    described = _text(policy.annotations.get("policies.kyverno.io/description"))
    found: dict[str, Json] = {"id": check_of(row), "shortDescription": {"text": named}}
    if described:
        found["fullDescription"] = {"text": described}
        found["help"] = {"text": described}
    category, severity = category_of(policy), severity_of(policy)
    properties: dict[str, Json] = {"tags": [safe_line(category)]} if category else {}
    if severity:
        properties["severity"] = severity
    if severity in _SCORES:
        properties["security-severity"] = _SCORES[severity]
    return {**found, "properties": properties} if properties else found


def _compile_result() -> Callable[[Row, EngineResponse], Json]:
    """Return a function that makes a result of a row."""
    fingerprint = compile_fingerprints()

    def result(row: Row, response: EngineResponse) -> Json:
        level = LEVELS[weight_by_itself(row)]
        silent = level == "note"
        rule = {"physicalLocation": physical_location(rule_place(row))}
        name = safe_line(title(row.resource))
        return {
            "ruleId": check_of(row),
            "kind": _KINDS.get(row.status, "review") if silent else "fail",
            "level": "none" if silent else level,
            **_baseline_state(row),
            "message": {"text": told_of(row)},
            "locations": [
                {
                    "physicalLocation": physical_location(place_of(row, response)),
                    "logicalLocations": [{"fullyQualifiedName": name, "kind": "resource"}],
                }
            ],
            "relatedLocations": [{**rule, "message": {"text": f"rule {name_of(row)}"}}],
            "partialFingerprints": {"kyvsim/v1": fingerprint(row, response)},
            "properties": {"result": row.status, "path": row.result.path},
        }

    return result


def _baseline_state(row: Row) -> dict[str, Json]:
    """Return how a failure stands to the baseline of the run, where it has one."""
    state = row.result.baseline
    return {"baselineState": state.value} if state else {}


def _text(value: Json) -> str:
    return safe_text(value.strip()) if value.__class__ is str else ""
