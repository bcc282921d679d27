"""Why policies did nothing to an object whose kind they match, in a simulated cluster."""

import html
import json

import pytest

from kyvsim.api.simulate import SimulateInputs, simulate
from kyvsim.load.files import Source
from kyvsim.report.timeline_formats import render_html, render_json, render_text
from kyvsim.report.timeline_rows import TimelineOptions

POLICY = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [ConfigMap]%s}}]}
    %s
    mutate: {patchStrategicMerge: {metadata: {labels: {a: b}}}}
"""
MAP = "{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: dev}}"
SECRET = "{apiVersion: v1, kind: Secret, metadata: {name: x, namespace: dev}}"
LABELLED = "preconditions: {all: [{key: '{{ request.object.metadata.labels.a || `0` }}', %s}]}"
CHECK = "\n  - name: v\n    match: {any: [{resources: {kinds: [ConfigMap]}}]}\n"
CHECK += "    validate: {message: m, pattern: {metadata: {name: '?*'}}}\n"


def run(policy, resource=MAP):
    return simulate(
        SimulateInputs((Source("p.yaml", policy),), resources=(Source("r.yaml", resource),))
    ).simulation


@pytest.mark.parametrize(
    ("criteria", "condition", "reason", "line"),
    [
        (", namespaces: [prod]", "", 'namespaces expected ["prod"], found "dev"', 8),
        (
            ", namespaceSelector: {matchLabels: {a: b}}",
            "",
            'namespaceSelector expected {"matchLabels": {"a": "b"}}, found {"kubernetes.io/metad',
            8,
        ),
        ("", LABELLED % "operator: Equals, value: 1", "preconditions / all[0] Equals; key = 0", 9),
    ],
)
def test_the_decisive_part_of_a_rule_is_shown(criteria, condition, reason, line):
    simulation = run(POLICY % (criteria, condition))
    (found,) = simulation.unaffected
    assert (found.object.kind, found.rule, found.location.line) == ("ConfigMap", "p / r", line)
    assert reason in found.reason
    text = "".join(render_text(simulation, TimelineOptions(width=200)))
    assert "\nobjects that no policy affected\n  dev/ConfigMap/x  p / r\n" in text
    page = "".join(render_html(simulation, TimelineOptions()))
    assert "<h2>Objects that no policy affected</h2>" in page
    assert found.reason in html.unescape(page)
    (shown,) = json.loads("".join(render_json(simulation, TimelineOptions())))["unaffected"]
    assert shown["reason"] == found.reason


POD = "{apiVersion: v1, kind: Pod, metadata: {name: x, namespace: dev}, spec: {containers: [%s]}}"
IN_CEL = """
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}
  matchConditions: [{name: c, expression: request.operation == 'UPDATE'}]
  validations: [{expression: "false"}]
"""


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        (
            POLICY.replace("ConfigMap", "Pod") % (", namespaces: [prod]", ""),
            "match / any[0] / namesp",
        ),
        (IN_CEL, 'matchConditions[0] request.operation == "UPDATE"'),
    ],
)
def test_later_updates_of_a_status_hide_no_reason(policy, reason):
    (found,) = run(policy, POD % "{name: a, image: 'a:1'}").unaffected
    assert found.reason.startswith(reason)


def test_a_rule_for_another_user_says_how_to_be_that_user():
    policy = POLICY.replace(
        "resources: {kinds: [ConfigMap]%s}",
        "resources: {kinds: [ConfigMap]}, subjects: [{kind: User, name: ann}]%s",
    )
    (found,) = run(
        policy.replace("  rules:", "  background: false\n  rules:") % ("", "")
    ).unaffected
    assert "subjects expected" in found.reason
    assert "pass --as USER" in found.reason


@pytest.mark.parametrize(
    ("policy", "resource"),
    [
        (POLICY % ("", ""), MAP),  # it is changed
        (POLICY % (", namespaces: [prod]", ""), SECRET),  # another kind
        (POLICY % (", namespaces: [prod]", "") + CHECK, MAP),  # another rule passed
    ],
)
def test_nothing_is_shown_about_other_objects(policy, resource):
    simulation = run(policy, resource)
    assert simulation.unaffected == ()
    assert "no policy affected" not in "".join(render_html(simulation, TimelineOptions()))


def test_a_long_run_is_not_repeated():
    maps = "\n---\n".join(MAP.replace("name: x", f"name: m-{number}") for number in range(520))
    assert run(POLICY % (", namespaces: [prod]", ""), maps).unaffected == ()
