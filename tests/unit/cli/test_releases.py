"""--kyverno: which release is emulated, and what it reports about deprecated kinds."""

import json

import pytest

POLICY = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: needs-team}
spec:
  rules:
  - name: team
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate: {message: label team, pattern: {metadata: {labels: {team: "?*"}}}}
"""
IN_CEL = """
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: tagged}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}
  validations: [{expression: "json.marshal({'a': [null]}) == '{\\"a\\":[null]}'"}]
"""
RESOURCE = """
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: dev, labels: {team: x}}
"""
TEST = """
apiVersion: cli.kyverno.io/v1alpha1
kind: Test
metadata: {name: t}
policies: [policy.yaml]
resources: [resource.yaml]
results: [{policy: needs-team, rule: team, kind: ConfigMap, resources: [dev/a], result: pass}]
"""
DEPRECATED = "Warning: policy.yaml: kyverno.io/v1 ClusterPolicy is deprecated"


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    """Write the inputs, and work in their folder."""
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("policy.yaml", POLICY),
        ("cel.yaml", IN_CEL),
        ("resource.yaml", RESOURCE),
        ("kyverno-test.yaml", TEST),
    ):
        (tmp_path / name).write_text(text)
    return tmp_path


APPLY = ("apply", "policy.yaml", "--resource", "resource.yaml")


@pytest.mark.parametrize(
    "arguments",
    [
        APPLY,
        ("test", "."),
        ("lint", "policy.yaml"),
        ("equal", "policy.yaml", "cel.yaml"),
        ("simulate", "policy.yaml"),
        ("explain", "policy.yaml", "--resource", "resource.yaml"),
        ("diff", "policy.yaml", "cel.yaml", "--resource", "resource.yaml"),
        ("chainsaw", "."),
    ],
)
def test_an_unknown_release_is_refused_with_the_known_ones(kyvsim, arguments):
    status, out, err = kyvsim(*arguments, "--kyverno", "1.18.3")
    assert (status, out) == (2, "")
    assert "'--kyverno': '1.18.3' is not one of '1.19.0', '1.19.1'" in err


@pytest.mark.parametrize(
    "arguments",
    [
        APPLY,
        ("test", "."),
        ("lint", "policy.yaml"),
        ("equal", "policy.yaml", "cel.yaml"),
        ("simulate", "policy.yaml"),
        ("diff", "policy.yaml", "cel.yaml", "--resource", "resource.yaml"),
    ],
)
@pytest.mark.parametrize("release", ["1.19.0", "1.19.1"])
def test_the_closing_line_and_the_document_name_the_release(kyvsim, arguments, release):
    assert f"Kyverno {release}" in kyvsim(*arguments, "--kyverno", release)[1]
    document = json.loads(kyvsim(*arguments, "--kyverno", release, "--output-format", "json")[1])
    part = document["summary" if arguments[0] == "simulate" else "ending"]
    assert part["kyverno"] == release


@pytest.mark.parametrize(
    "form",
    ["policy-report", "open-report-json", "junit", "sarif", "github", "csv", "markdown", "yaml"],
)
def test_formats_of_apply_name_the_release(kyvsim, form):
    assert "1.19.0" in kyvsim(*APPLY, "--kyverno", "1.19.0", "--output-format", form)[1]


@pytest.mark.parametrize("form", ["junit", "tap", "markdown", "yaml"])
def test_formats_of_test_name_the_release(kyvsim, form):
    assert "1.19.0" in kyvsim("test", ".", "--kyverno", "1.19.0", "--output-format", form)[1]


@pytest.mark.parametrize(("release", "status"), [("1.19.0", 1), ("1.19.1", 0)])
def test_a_release_is_chosen_by_option_configuration_and_variable(
    kyvsim, files, monkeypatch, release, status
):
    run = ("apply", "cel.yaml", "--resource", "resource.yaml")
    assert kyvsim(*run, "--kyverno", release)[0] == status
    (files / "own.yaml").write_text(f"kyverno: {release}\n")
    assert kyvsim("--config", "own.yaml", *run)[0] == status
    monkeypatch.setenv("KYVSIM_KYVERNO", release)
    assert kyvsim(*run)[0] == status


@pytest.mark.parametrize("arguments", [APPLY, ("test", ".")])
def test_deprecated_kinds_are_reported_on_stderr_only(kyvsim, arguments):
    _, out, err = kyvsim(*arguments, "--output-format", "json")
    assert "deprecated" not in out
    assert err.startswith(DEPRECATED)
    assert "deprecated" not in kyvsim(*arguments, "--kyverno", "1.19.0")[2]


def test_each_text_is_reported_once_for_a_file(kyvsim, files):
    (files / "policy.yaml").write_text(f"{POLICY}---\n{POLICY.replace('needs-team', 'other')}")
    assert kyvsim(*APPLY)[2].count(DEPRECATED) == 1


def test_a_text_about_many_files_is_reported_once(kyvsim, files):
    for name in "abcde":
        (files / f"{name}.yaml").write_text(POLICY)
    run = ("apply", *(f"{name}.yaml" for name in "abcde"), "--resource", "resource.yaml")
    err = kyvsim(*run)[2]
    assert err.startswith("Warning: a.yaml, b.yaml, c.yaml and 2 more (--verbose): kyverno.io/v1 ")
    assert err.count("deprecated") == 1
    assert kyvsim(*run, "--verbose")[2].count("ClusterPolicy is deprecated") == 5


@pytest.mark.parametrize("arguments", [APPLY, ("test", ".")])
def test_warnings_as_errors_fail_without_results(kyvsim, arguments):
    status, out, err = kyvsim(*arguments, "--warnings-as-errors")
    assert (status, out) == (1, "")
    assert "found 1 deprecation warning(s) and --warnings-as-errors is set" in err
    assert kyvsim(*arguments, "--warnings-as-errors", "--kyverno", "1.19.0")[0] == 0


def test_exceptions_among_resources_are_not_reported(kyvsim, files):
    exception = "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: e}\nspec: "
    exception += "{exceptions: [{policyName: x, ruleNames: [y]}], match: {any: []}}\n"
    (files / "resource.yaml").write_text(f"{RESOURCE}---\n{exception}")
    _, _, err = kyvsim(*APPLY, "--exceptions-with-resources")
    assert "kyverno.io/v2 PolicyException is deprecated" not in err
    (files / "exception.yaml").write_text(exception)
    _, _, err = kyvsim(*APPLY, "--exception", "exception.yaml")
    assert "exception.yaml: kyverno.io/v2 PolicyException is deprecated" in err


CEL_EXCEPTION = """
apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {name: e, namespace: dev}
spec:
  policyRefs: [{name: tagged, kind: ValidatingPolicy}]
  matchConditions: [{name: a, expression: "json.marshal(object) != ''"}]
"""


@pytest.mark.parametrize(("release", "status"), [("1.19.0", 0), ("1.19.1", 2)])
def test_lint_compiles_exceptions_like_a_cluster(kyvsim, files, release, status):
    (files / "cel.yaml").write_text(f"{IN_CEL}---\n{CEL_EXCEPTION}")
    found, out, _ = kyvsim("lint", "cel.yaml", "--kyverno", release)
    assert found == status
    assert ("undeclared reference to 'json'" in out) is (status == 2)


SCENARIO = """
apiVersion: kyvsim/v1
kind: Scenario
settings: {{kyverno: {release}}}
policies: policy.yaml
steps: []
"""


def test_a_scenario_names_its_release_and_the_option_another(kyvsim, files):
    (files / "scenario.yaml").write_text(SCENARIO.format(release="1.19.0"))
    assert "Kyverno 1.19.0" in kyvsim("simulate", "scenario.yaml")[1]
    assert "Kyverno 1.19.1" in kyvsim("simulate", "scenario.yaml", "--kyverno", "1.19.1")[1]
    (files / "scenario.yaml").write_text(SCENARIO.format(release="1.18.0"))
    status, _, err = kyvsim("simulate", "scenario.yaml")
    assert status == 2
    assert "settings.kyverno" in err


@pytest.mark.parametrize(
    ("release", "name", "warns"),
    [
        ("1.19.0", "jobsets.v1.example.com", True),
        ("1.19.1", "jobsets.v1.example.com", False),
        ("1.19.0", "jobsets", True),
        ("1.19.1", "jobsets", True),
        ("1.19.1", "deployments", False),
    ],
)
def test_lint_knows_which_controllers_have_no_effect(kyvsim, files, release, name, warns):
    autogen = f"spec:\n  autogen: {{podControllers: {{controllers: [{name}]}}}}"
    text = IN_CEL.replace("spec:", autogen, 1).replace("configmaps", "pods")
    (files / "cel.yaml").write_text(text)
    assert ("KV246" in kyvsim("lint", "cel.yaml", "--kyverno", release)[1]) is warns
