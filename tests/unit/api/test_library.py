"""The functions of `import kyvsim`."""

import io
import json
import pkgutil
import subprocess
import sys
from collections import UserDict
from datetime import datetime
from pathlib import Path
from types import MappingProxyType

import pytest

import kyvsim
from kyvsim.api import library
from kyvsim.api.library import Result, UnusableInputError, sources
from kyvsim.load.files import Source
from kyvsim.model.source import Location
from kyvsim.report.formats import FORMATS_OF

ROOT = Path(__file__).parents[3]
POLICY = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: careful
  annotations:
    pod-policies.kyverno.io/autogen-controllers: none
    policies.kyverno.io/severity: high
spec:
  rules:
  - name: owner
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate:
      message: Name an owner.
      pattern: {metadata: {labels: {owner: "?*"}}}
  - name: mark
    match: {any: [{resources: {kinds: [Pod], names: [odd]}}]}
    mutate:
      patchStrategicMerge: {metadata: {labels: {marked: "yes"}}}
  - name: note
    match: {any: [{resources: {kinds: [Pod], names: [odd]}}]}
    generate:
      apiVersion: v1
      kind: ConfigMap
      name: note
      namespace: default
      data: {data: {about: "{{ request.object.metadata.name }}"}}
"""
LENIENT = POLICY.replace('labels: {owner: "?*"}', 'name: "*"')
MISSPELT = POLICY.replace("pattern:", "patern:")


def pod(name, **labels):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }


def test_results_have_policy_rule_resource_status_message_and_positions():
    report = kyvsim.apply(POLICY, pod("plain"))
    assert list(report) == [
        Result(
            policy="careful",
            rule="owner",
            resource="default/Pod/plain",
            status="fail",
            message="validation error: Name an owner. "
            "rule owner failed at path /metadata/labels/owner/",
            location=Location("<resource 1>", 1, 67),
            rule_location=Location("<policy 1>", 11, 5),
            severity="high",
        )
    ]


def test_a_failure_makes_the_report_false():
    report = kyvsim.apply(POLICY, [pod("plain"), pod("good", owner="x")])
    assert (report.ok, bool(report), report.exit_code) == (False, False, 1)
    assert [one.resource for one in report.failures] == ["default/Pod/plain"]
    assert report.summary.startswith("FAILED: 1 of 2 results failed")


def test_a_pass_makes_it_true():
    report = kyvsim.apply(POLICY, pod("good", owner="x"))
    assert report
    assert report.exit_code == 0
    assert report.failures == ()


def test_changed_and_generated_objects_are_whole():
    report = kyvsim.apply(POLICY, [pod("odd", owner="x"), pod("plain", owner="x")])
    assert [one["metadata"]["labels"] for one in report.mutated] == [
        {"owner": "x", "marked": "yes"}
    ]
    assert [one["data"] for one in report.generated] == [{"about": "odd"}]
    assert report.patched == ()


@pytest.mark.parametrize("name", FORMATS_OF["apply"])
def test_every_format_can_be_written_and_read_again(name, tmp_path):
    report = kyvsim.apply(POLICY, [pod("odd"), pod("plain", owner="x")])
    text = report.to(name, tmp_path / "report")
    assert text
    assert (tmp_path / "report").read_text(encoding="utf-8") == text == report.to(name)


def test_a_format_has_what_the_command_writes(tmp_path):
    for name, text in (("policy.yaml", POLICY), ("pod.json", json.dumps(pod("odd")))):
        (tmp_path / name).write_text(text)
    command = [sys.executable, "-m", "kyvsim", "apply", "policy.yaml", "-r", "pod.json"]
    done = subprocess.run(
        [*command, "--output-format", "json"], cwd=tmp_path, capture_output=True, check=False
    )
    report = kyvsim.apply(tmp_path / "policy.yaml", tmp_path / "pod.json")
    here = report.to("json").replace(f"{tmp_path}/", "")
    assert json.loads(here) == json.loads(done.stdout)


def test_an_unknown_format_names_the_nearest():
    report = kyvsim.apply(POLICY, pod("odd"))
    with pytest.raises(ValueError, match="has no format `sarf`: did you mean `sarif`"):
        report.to("sarf")


@pytest.mark.parametrize(
    ("policies", "resources", "said"),
    [
        (MISSPELT, pod("a"), "<policy 1>:15:7: error KV012"),
        (POLICY, "kind: Pod\nmetadata: {name: a}\n", "<resource 1>:1:1: error KV021"),
        (pod("a"), POLICY, "policy type not supported: Pod"),
        ("nowhere.yaml", pod("a"), "nowhere.yaml: error KV001"),
        ([], pod("a"), "no policy given"),
        (POLICY, [], "no resource given"),
        (POLICY, (), "no resource given"),
        (POLICY, "# nothing\n", "this file contains no document"),
    ],
)
def test_unusable_inputs_are_errors(policies, resources, said):
    with pytest.raises(UnusableInputError) as raised:
        kyvsim.apply(policies, resources)
    assert said in str(raised.value)


def test_swapped_arguments_are_recognised():
    with pytest.raises(UnusableInputError, match="policies and resources seem to be swapped"):
        kyvsim.apply(pod("a"), POLICY)
    report = kyvsim.apply(pod("a"), POLICY, check=False)
    assert "policies and resources seem to be swapped" in str(report.diagnostics)
    assert report.exit_code == 2


def test_errors_can_be_listed_instead():
    report = kyvsim.apply([MISSPELT, POLICY], pod("a"), check=False)
    assert [one.code for one in report.errors] == ["KV012"]
    assert report.exit_code == 2
    assert not report.ok
    assert [one.status for one in report.failures] == ["fail"]
    assert str(report).startswith("<policy 1>:15:7: error KV012")


def test_an_error_has_the_incomplete_report():
    with pytest.raises(UnusableInputError) as raised:
        kyvsim.apply([MISSPELT, POLICY], pod("a"))
    assert [one.rule for one in raised.value.report.failures] == ["owner"]


@pytest.mark.parametrize(
    "function",
    [
        lambda given: kyvsim.apply(given, pod("a")),
        lambda given: kyvsim.apply(POLICY, given),
        lambda given: kyvsim.apply(POLICY, pod("a"), exceptions=given),
        lambda given: kyvsim.explain(given, pod("a")),
        lambda given: kyvsim.diff(POLICY, given, pod("a")),
        kyvsim.simulate,
        kyvsim.lint,
        kyvsim.test,
    ],
)
@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        (5, TypeError, "pass a path, a YAML text, an object or a list, not int"),
        (None, TypeError, "not NoneType"),
        ([pod("a"), None], TypeError, "not NoneType"),
        (b"a.yaml", TypeError, "not bytes"),
        (io.StringIO("a.yaml"), TypeError, "not StringIO"),
        ({"when": {1, 2}}, TypeError, "an object must be plain data: set is not a type of YAML"),
        ({"number": float("nan")}, TypeError, "an object must be plain data"),
        ("", ValueError, "an empty string"),
        ("-", ValueError, "standard input is not read"),
    ],
)
def test_values_that_are_no_input_are_refused(function, given, error, said):
    with pytest.raises(error, match=said):
        function(given)


def test_options_are_those_of_the_command():
    user = {
        "apiVersion": "cli.kyverno.io/v1alpha1",
        "kind": "UserInfo",
        "userInfo": {"username": "ann"},
    }
    asked = POLICY.replace("Name an owner.", "By {{ request.userInfo.username }}.")
    asked = asked.replace("spec:", "spec:\n  background: false", 1)
    (failure,) = kyvsim.apply(asked, pod("a"), userinfo=user).failures
    assert "By ann." in failure.message
    with pytest.raises(TypeError, match="unknown option `exeptions`: did you mean `exceptions`"):
        kyvsim.apply(POLICY, pod("a"), exeptions=[])
    with pytest.raises(ValueError, match=r"unknown release of Kyverno `1.2`: there are `1.19.0`"):
        kyvsim.apply(POLICY, pod("a"), release="1.2")
    with pytest.raises(ValueError, match="unknown operation `update`: did you mean `UPDATE`"):
        kyvsim.apply(POLICY, pod("a"), operation="update")
    with pytest.raises(ValueError, match="unknown level of hazards `all`: there are `error`, "):
        kyvsim.simulate(POLICY, fail_on="all")
    with pytest.raises(TypeError, match="values_file: pass one path, text or object, not 2"):
        kyvsim.apply(POLICY, pod("a"), values_file=[user, user])


@pytest.mark.parametrize(
    ("option", "value", "error", "said"),
    [
        ("audit_warn", "no", TypeError, "audit_warn: pass bool, not str"),
        ("now", "2026-01-01", TypeError, "now: pass datetime, not str"),
        ("now", datetime(2026, 1, 1), ValueError, "now: a datetime needs a time zone"),  # noqa: DTZ001
        ("set_values", {"a": "b"}, TypeError, "a string or a list of strings, not dict"),
        ("set_values", ["a=b", 1], TypeError, "a string or a list of strings, not int"),
        ("payloads", (), TypeError, "unknown option `payloads`"),  # a field of ApplyInputs
    ],
)
def test_settings_of_another_type_are_refused(option, value, error, said):
    with pytest.raises(error, match=said):
        kyvsim.apply(POLICY, pod("a"), **{option: value})


def test_settings_of_a_simulation_are_checked():
    with pytest.raises(TypeError, match="horizon: pass float, not str"):
        kyvsim.simulate(POLICY, horizon="10m")
    short, groups = (
        kyvsim.simulate(POLICY, pod("a"), **{name: value})
        for name, value in (("horizon", 5), ("groups", "developers"))
    )
    assert short.ok
    assert groups.ok


def test_the_operation_can_be_set():
    created = POLICY.replace("kinds: [Pod]}}", "kinds: [Pod], operations: [CREATE]}}")
    assert kyvsim.apply(created, pod("a")).failures
    assert not kyvsim.apply(created, pod("a"), operation="DELETE").failures
    old = pod("a", owner="x")
    assert not kyvsim.apply(created, pod("a"), old_resources=old).failures


def test_warnings_can_be_errors():
    other = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    assert kyvsim.apply(POLICY, other).exit_code == 0
    with pytest.raises(UnusableInputError, match="KV0"):
        kyvsim.apply(POLICY, other, strict=True)


def test_lint_yields_diagnostics():
    report = kyvsim.lint([MISSPELT])
    assert [one.code for one in report if one.severity == "error"] == ["KV012"]
    assert [one.code for one in report.failures] == ["KV012"]
    assert report.exit_code == 2
    assert kyvsim.lint(POLICY).ok
    assert "KV012" in str(report)


def test_lint_selects_warnings_and_changes_their_severity():
    old = POLICY.replace("  rules:", "  failurePolicy: Fail\n  rules:", 1)
    assert {one.code for one in kyvsim.lint(old)} == {"KV202"}
    assert not kyvsim.lint(old, ignore="KV2").diagnostics
    assert not kyvsim.lint(old, select=["KV3", "KV1"]).diagnostics
    for severity in ({"KV202": "error"}, "KV202=error", ["KV2=info", "KV202=error"]):
        report = kyvsim.lint(old, severity=severity)
        assert (report.exit_code, len(report.failures)) == (2, 1)
    with pytest.raises(ValueError, match="no diagnostic has a code that begins with `KX`"):
        kyvsim.lint(old, select="KV202,KX")
    with pytest.raises(ValueError, match="`KV202=fatal` has no severity"):
        kyvsim.lint(old, severity={"KV202": "fatal"})


def test_what_kyverno_deprecates_is_listed():
    (line,) = kyvsim.apply(POLICY, pod("a")).deprecations
    assert line.startswith("<policy 1>: kyverno.io/v1 ClusterPolicy is deprecated")
    assert kyvsim.apply(POLICY, pod("a"), release="1.19.0").deprecations == ()
    assert kyvsim.test(ROOT / "fixtures/tests/team").deprecations


def test_lint_reports_a_missing_file():
    report = kyvsim.lint("nowhere.yaml")
    assert [one.code for one in report.failures] == ["KV001"]
    assert not report.ok


def test_tests_are_run():
    report = kyvsim.test(ROOT / "fixtures/tests/holes", selector="rule=team-labels")
    (result,) = report
    assert (result.policy, result.rule, result.status) == ("require-team", "team-labels", "fail")
    assert result.location.line == 21
    assert (report.exit_code, report.failures) == (1, (result,))
    assert kyvsim.test(ROOT / "fixtures/tests/team").ok


def test_tests_are_paths():
    with pytest.raises(TypeError, match="pass their paths"):
        kyvsim.test({"kind": "Test"})
    with pytest.raises(ValueError, match="selector: "):
        kyvsim.test(ROOT / "fixtures/tests/team", selector="rules=a")
    with pytest.raises(UnusableInputError, match="KV041"):
        kyvsim.test("nowhere")


def test_explain_has_the_deciding_step():
    report = kyvsim.explain(POLICY, pod("plain"))
    found = {one.rule: one for one in report}
    assert found["owner"].status == "fail"
    assert found["owner"].location == Location("<resource 1>", 1, 67)
    assert "odd" in found["mark"].message
    assert report.ok  # a failed rule is explained: only unusable inputs are failures
    assert [one.rule for one in report.failures] == ["owner"]


def test_explain_selects_by_name():
    report = kyvsim.explain(POLICY, [pod("a"), pod("b")], rule="owner", object="Pod/b")
    assert [(one.rule, one.resource) for one in report] == [("owner", "default/Pod/b")]
    with pytest.raises(UnusableInputError, match="no policy or rule is named `ovner`"):
        kyvsim.explain(POLICY, pod("a"), rule="ovner")


def test_diff_yields_resources_that_differ():
    report = kyvsim.diff(POLICY, LENIENT, [pod("a"), pod("b", owner="x")])
    (changed,) = report
    assert changed.resource["metadata"]["name"] == "a"
    assert changed.verdicts[0].results == ("fail", "pass")
    assert report.exit_code == 1
    assert kyvsim.diff(POLICY, POLICY, pod("a")).ok


def test_simulate_yields_hazards_and_expectations():
    report = kyvsim.simulate(POLICY, pod("odd", owner="x"))
    assert "note" in {key["metadata"]["name"] for key in report.detail.objects}
    assert report.detail.events
    scenario = ROOT / "fixtures/scenarios"
    files = sorted(scenario.glob("*.yaml"))
    expected = [one for file in files for one in kyvsim.simulate(file, check=False)]
    assert {one.status for one in expected} >= {"pass"}
    with pytest.raises(UnusableInputError, match="KV012"):
        kyvsim.simulate(MISSPELT, pod("a"))


def test_the_document_of_a_simulation_that_did_not_begin_has_the_reason():
    report = kyvsim.simulate("nowhere.yaml", check=False)
    assert (report.detail, report.exit_code, report.results) == (None, 2, ())
    assert "KV001" in str(report)
    assert "INCOMPLETE" in str(report)
    document = json.loads(report.to("json"))
    assert [one["code"] for one in document["diagnostics"]] == ["KV001"]
    assert document["ending"]["exitStatus"] == 2


@pytest.mark.parametrize("command", ["lint", "test", "explain", "diff", "simulate"])
def test_every_format_of_the_other_commands_can_be_written(command):
    report = {
        "lint": lambda: kyvsim.lint(MISSPELT),
        "test": lambda: kyvsim.test(ROOT / "fixtures/tests/team"),
        "explain": lambda: kyvsim.explain(POLICY, pod("odd")),
        "diff": lambda: kyvsim.diff(POLICY, LENIENT, pod("odd")),
        "simulate": lambda: kyvsim.simulate(POLICY, pod("odd", owner="x")),
    }[command]()
    for name in FORMATS_OF[command]:
        assert report.to(name) == report.to(name)
        assert report.to(name)
    assert str(report)
    assert repr(report).startswith(f"<kyvsim.{command}: ")


def test_texts_cannot_command_a_ci_system():
    name = "::error::oops"
    report = kyvsim.apply(POLICY.replace("Name an owner.", f'"\\n{name}"'), pod("a"))
    assert f"\n{name}" not in report.to("markdown")
    assert f"\n{name}" not in str(report)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("a.yaml", ("a.yaml",)),
        (Path("a/b.yaml"), (str(Path("a/b.yaml")),)),
        (Path("-"), ("./-",)),
        (Path("{a}.yaml"), ("{a}.yaml",)),
        ("a: 1\n", (Source("<policy 1>", "a: 1\n"),)),
        ('{"a": 1}', (Source("<policy 1>", '{"a": 1}'),)),
        (Source("a.yaml", "a: 1"), (Source("a.yaml", "a: 1"),)),
        ({"a": "ü: 1"}, (Source("<policy 1>", '{"a": "ü: 1"}'),)),
        (MappingProxyType({"a": UserDict()}), (Source("<policy 1>", '{"a": {}}'),)),
        (["a.yaml", {"a": 1}], ("a.yaml", Source("<policy 2>", '{"a": 1}'))),
        ([["a"], ("b", ["c"])], ("a", "b", "c")),
        ((one for one in "ab"), ("a", "b")),
        ([], ()),
    ],
)
def test_every_form_becomes_what_the_loader_takes(given, found):
    assert sources(given, "policy") == found


def test_every_public_name_is_in_the_stub():
    stub = (ROOT / "kyvsim/__init__.pyi").read_text(encoding="utf-8")
    for name in kyvsim.__all__:
        assert f"import {name} as {name}\n" in stub or name == "__version__"
        assert getattr(kyvsim, name) is getattr(library, name, kyvsim.__version__)
    with pytest.raises(AttributeError, match="has no attribute 'aply'"):
        _ = kyvsim.aply


def test_importing_the_package_loads_nothing_else():
    code = "import sys, kyvsim; print([one for one in sys.modules if one.startswith('kyvsim.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_no_package_hides_a_function():
    packages = {module.name for module in pkgutil.iter_modules(kyvsim.__path__)}
    assert not packages & set(kyvsim.__all__)
