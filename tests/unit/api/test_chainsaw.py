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
