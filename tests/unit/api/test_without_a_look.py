"""Runs that are green because nothing was looked at say so."""

import json

import pytest
import yaml

from kyvsim.api import ApplyInputs, open_application
from kyvsim.api.suite import Reading, SuiteRun, run_tests
from kyvsim.load.files import Source
from kyvsim.model.diagnostic import Severity
from kyvsim.suite.row_targets import parse_selector

POLICY = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: guard}
spec:
  rules:
  - name: check
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: never, deny: {}}
"""
POD = "{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop}}"
MAP = "{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop}}"
VALUES = {
    "apiVersion": "cli.kyverno.io/v1alpha1",
    "kind": "Values",
    "policies": [
        {
            "name": "guard",
            "rules": [{"name": "check"}, {"name": "autogen-check"}, {"name": "chek"}],
            "resources": [{"name": "web"}, {"name": "wbe"}],
        },
        {"name": "gard"},
    ],
}


def exception(policy, *rules):
    return f"""\
apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {{name: e, namespace: x}}
spec:
  exceptions: [{{policyName: {policy}, ruleNames: {json.dumps(rules)}}}]
  match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}
"""


@pytest.fixture
def said(tmp_path):
    """A function that returns code and place of all that a run says, at its end too."""

    def ask(resource, *, policy=POLICY, matched=None, values=None, **inputs):
        if values:
            (tmp_path / "v.yaml").write_text(yaml.safe_dump(values))
            inputs["values_file"] = str(tmp_path / "v.yaml")
        resources = (Source("r.yaml", resource),) if resource else ()
        found = open_application(ApplyInputs((Source("p.yaml", policy),), resources, **inputs))
        rows = [one.results for answer in found.responses for one in answer.responses]
        count = sum(map(bool, rows)) if matched is None else matched
        remarks = (*found.diagnostics, *found.final_checks(count))
        return [(one.code, one.location and one.location.line) for one in remarks]

    return ask


def test_rules_that_match_nothing_given(said):
    assert said(POD) == []
    assert said(MAP) == [("KV070", 7)]
    nothing = said("")
    assert nothing == [("KV070", None)]


def test_an_error_about_input_says_it_already(said):
    assert [code for code, _ in said("{", policy=POLICY)] == ["KV006"]
    broken = POLICY.replace("validate:", "validat:")
    assert "KV070" not in [code for code, _ in said(MAP, policy=broken)]


@pytest.mark.parametrize(
    ("policy", "rules", "code"),
    [
        ("guard", ["check"], None),
        ("guard", ["*"], None),
        ("guard", ["autogen-check"], "KV226"),
        ("guard", ["check", "autogen-cronjob-check"], None),
        ("gard", ["check"], "KV071"),
        ("shop/guard", ["check"], "KV071"),
        ("guard", ["check", "chek"], "KV072"),
    ],
)
def test_exceptions_that_name_nothing(said, policy, rules, code):
    written = (Source("e.yaml", exception(policy, *rules)),)
    found = said(POD, exceptions=written)
    assert [one for one, _ in found] == ([code] if code else [])


def test_a_refused_policy_is_no_slip_of_its_name(said):
    broken = POLICY.replace("validate:", "validat:")
    written = (Source("e.yaml", exception("guard", "check")),)
    assert [one for one, _ in said(POD, policy=broken, exceptions=written)] == ["KV012"]


def test_values_that_name_nothing(said):
    codes = [code for code, _ in said(POD, values=VALUES)]
    assert codes == ["KV073"] * 3


def test_a_selector_that_chooses_nothing(tmp_path):
    (tmp_path / "p.yaml").write_text(POLICY)
    (tmp_path / "r.yaml").write_text(POD)
    row = {"policy": "guard", "rule": "check", "resources": ["web"], "kind": "Pod"}
    manifest = {
        "apiVersion": "cli.kyverno.io/v1alpha1",
        "kind": "Test",
        "metadata": {"name": "t"},
        "policies": ["p.yaml"],
        "resources": ["r.yaml"],
        "results": [{**row, "result": "fail"}],
    }
    (tmp_path / "kyverno-test.yaml").write_text(yaml.safe_dump(manifest))

    def asked(selector):
        run = SuiteRun((str(tmp_path),), options=Reading(parse_selector(selector)))
        return [(one.code, one.message) for one in run_tests(run).diagnostics]

    assert asked("policy=guard") == []
    ((code, message),) = asked("policy=gard")
    assert code == "KV074"
    assert message.endswith("there are rows for `guard`")


@pytest.mark.parametrize(
    ("match", "check", "why"),
    [
        (
            "{kinds: [Pod], names: [other]}",
            "deny: {}",
            "`guard / check` on shop/Pod/web: match / any[0] / names expected ",
        ),
        (
            "{kinds: [Pod]}",
            "foreach: [{list: request.object.spec.no, deny: {}}]",
            "`guard / check` on shop/Pod/web: loop foreach[0] request.object.spec.no (JMESPath ",
        ),
        (
            "{kinds: [Pod]}",
            "foreach: [{list: '`[]`', deny: {}}]",
            "`guard / check` on shop/Pod/web: loop foreach[0] `[]` (0 elements)",
        ),
    ],
)
def test_where_kinds_meet_the_remark_says_that_something_else_keeps_them_apart(match, check, why):
    policy = POLICY.replace("{kinds: [Pod]}", match).replace("deny: {}", check)
    found = open_application(ApplyInputs((Source("p.yaml", policy),), (Source("r.yaml", POD),)))
    assert not any(one.results for answer in found.responses for one in answer.responses)
    (remark,) = (one for one in found.final_checks(0) if one.code == "KV070")
    assert remark.message.startswith(f"no rule matched the resource: {why}")


IN_CEL = """\
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [services]}
  validations: [{expression: "false"}]
"""


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        (
            POLICY.replace(
                "    validate:",
                "    preconditions: {all: [{key: a, operator: Equals, value: b}]}\n    validate:",
            ),
            "`guard / check` on shop/Pod/web: preconditions not met: condition preconditions / ",
        ),
        (
            IN_CEL.replace("services", "pods").replace("[CREATE]", "[CREATE, UPDATE]")
            + "  matchConditions: [{name: c, expression: request.operation == 'UPDATE'}]\n",
            (
                "`p` on shop/Pod/web: matchConditions[0] request.operation == 'UPDATE'; "
                'request.operation found "CREATE"'
            ),
        ),
    ],
)
def test_a_run_whose_results_were_all_skipped_says_why(policy, reason):
    found = open_application(ApplyInputs((Source("p.yaml", policy),), (Source("r.yaml", POD),)))
    found.result_counts.add_response(*found.responses)
    (remark,) = (one for one in found.final_diagnostics() if one.code == "KV070")
    assert remark.severity is Severity.INFO
    assert remark.message.startswith(f"every result was skipped: {reason}")


@pytest.mark.parametrize(
    ("policies", "reason"),
    [
        ([IN_CEL], "no policy matched the resource: `p` on shop/ConfigMap/web: kinds expected "),
        ([IN_CEL, POLICY], "no rule matched the resource: `p` on shop/ConfigMap/web: kinds "),
    ],
)
def test_of_policies_in_cel_the_first_kinds_are_shown(policies, reason):
    sources = tuple(Source(f"{number}.yaml", text) for number, text in enumerate(policies))
    found = open_application(ApplyInputs(sources, (Source("r.yaml", MAP),)))
    assert not any(one.results for answer in found.responses for one in answer.responses)
    (remark,) = (one for one in found.final_checks(0) if one.code == "KV070")
    assert remark.message.startswith(reason)
