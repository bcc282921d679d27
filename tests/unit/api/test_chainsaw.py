"""Which files of tests are run, and by which configuration."""

import pytest

from kyvsim.api.chainsaw import ChainsawRun, run_chainsaw

TEST = """
apiVersion: chainsaw.kyverno.io/v1alpha1
kind: Test
metadata: {{name: {}}}
spec: {{steps: [{{try: [{{sleep: {{duration: 1s}}}}]}}]}}
"""
CONFIGURATION = """
apiVersion: chainsaw.kyverno.io/v1alpha2
kind: Configuration
metadata: {{name: c}}
spec: {{{}}}
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return what writes files and gives the names of the tests that ran, and the remarks."""
    monkeypatch.chdir(tmp_path)

    def go(configuration="", **files):
        for name, text in files.items():
            folder = tmp_path / name
            folder.mkdir()
            (folder / text).write_text(TEST.format(name))
        if configuration:
            (tmp_path / ".chainsaw.yaml").write_text(CONFIGURATION.format(configuration))
        report = run_chainsaw(ChainsawRun((".",), jobs=1))
        return [one.test for one in report.outcomes], [one.code for one in report.diagnostics]

    return go


def test_both_extensions_of_yaml_are_found(run):
    assert run(a="chainsaw-test.yaml", b="chainsaw-test.yml") == (["a", "b"], [])


def test_configuration_says_what_test_files_are_called(run):
    found = run("discovery: {testFile: story}", a="story.yml", b="chainsaw-test.yaml")
    assert found == (["a"], [])


def test_configuration_that_cannot_be_used_lets_nothing_run(run):
    assert run("discovery: {testfile: story}", a="chainsaw-test.yaml") == ([], ["KV012"])


def test_each_suite_below_a_folder_has_its_own_configuration(tmp_path, monkeypatch):
    for name in ("quick", "slow"):
        folder = tmp_path / "tests" / name / "case"
        folder.mkdir(parents=True)
        (folder / "chainsaw-test.yaml").write_text(ABSENT)
        limit = f"timeouts: {{assert: {5 if name == 'quick' else 50}s}}"
        (folder.parent / ".chainsaw.yaml").write_text(CONFIGURATION.format(limit))
    monkeypatch.chdir(tmp_path)
    report = run_chainsaw(ChainsawRun(("tests",), jobs=1))
    assert [one.seconds // 1 for one in report.outcomes] == [5, 50]


ABSENT = """
apiVersion: chainsaw.kyverno.io/v1alpha1
kind: Test
metadata: {name: absent}
spec:
  steps:
  - try:
    - assert: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: nothing}}}
"""
SECRETS = """
apiVersion: chainsaw.kyverno.io/v1alpha1
kind: Test
metadata: {name: roles}
spec:
  steps:
  - try:
    - assert:
        resource:
          apiVersion: rbac.authorization.k8s.io/v1
          kind: ClusterRole
          metadata: {name: "kyverno:background-controller:additional"}
"""
VALUES = """
backgroundController: {rbac: {clusterRole: {extraResources: [
  {apiGroups: [""], resources: [secrets], verbs: [get]}]}}}
"""


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(
    ("install", "result"), [("ci", "pass"), ("helm", "fail"), ("values.yaml", "pass")]
)
def test_clusters_are_installed_as_is_said(tmp_path, monkeypatch, install, result, jobs):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "values.yaml").write_text(VALUES)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "chainsaw-test.yaml").write_text(SECRETS)
    report = run_chainsaw(ChainsawRun(("a", "b"), jobs=jobs, install=install))
    assert [one.result for one in report.outcomes] == [result, result]


def test_without_an_installation_nothing_runs(tmp_path):
    (tmp_path / "chainsaw-test.yaml").write_text(SECRETS)
    report = run_chainsaw(ChainsawRun((str(tmp_path),), jobs=1, install="nowhere"))
    assert (report.outcomes, [one.code for one in report.diagnostics]) == ((), ["KV053"])


OWN = """
apiVersion: chainsaw.kyverno.io/v1alpha1
kind: Test
metadata: {{name: own}}
spec:
  steps:
  - try:
    - assert:
        resource:
          apiVersion: v1
          kind: Pod
          metadata: {{namespace: kyverno, labels: {{app.kubernetes.io/component: {0}}}}}
    - delete: {{ref: {{apiVersion: v1, kind: Pod, namespace: kyverno, labels: {{{1}}}}}}}
"""


@pytest.mark.parametrize(
    ("component", "deleted", "result"),
    [
        ("reports-controller", "some: label", "pass"),
        ("reports-controller", "app.kubernetes.io/component: reports-controller", "unsupported"),
        ("no-controller", "some: label", "fail"),
    ],
)
def test_kyvernos_pods_are_there_and_not_to_be_changed(tmp_path, component, deleted, result):
    (tmp_path / "chainsaw-test.yaml").write_text(OWN.format(component, deleted))
    report = run_chainsaw(ChainsawRun((str(tmp_path),), jobs=1))
    assert [one.result for one in report.outcomes] == [result]
