"""Rows of test manifests in runs of pytest of their own, the plugin named by hand."""

import os
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

pytest_plugins = ["pytester"]

POLICY = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: mark}
spec:
  rules:
  - name: mark
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    mutate: {patchStrategicMerge: {data: {by: ann}}}
"""
MAPS = """
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: ns}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: ns}}
"""
PATCHED = """
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: ns}, data: {by: ann}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: ns}, data: {by: ben}}
"""
MANIFEST = """apiVersion: cli.kyverno.io/v1alpha1
kind: Test
metadata: {name: marks}
policies: [policy.yaml]
resources: [maps.yaml]
results:
- {policy: mark, rule: mark, resources: [a, b], patchedResources: patched.yaml, result: pass}
- {policy: mark, rule: marc, resources: [a], result: pass}
- {policy: mark, rule: mark, resources: [c, a], result: pass}
"""
ROW = "sub/kyverno-test.yaml::mark/mark/a"


@pytest.fixture
def run(pytester, monkeypatch):
    """Return a function that runs pytest with the plugin in a folder that has a manifest."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    folder = pytester.mkdir("sub")
    files = {"policy": POLICY, "maps": MAPS, "patched": PATCHED, "kyverno-test": MANIFEST}
    for name, text in files.items():
        folder.joinpath(f"{name}.yaml").write_text(text)
    folder.joinpath("test_other.py").write_text("def test_other(): pass\n")
    return lambda *arguments: pytester.runpytest_subprocess(
        "-p", "kyvsim.testing.plugin", *arguments
    )


def rewrite(pytester, old, new):
    file = pytester.path / "sub/kyverno-test.yaml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def lines_of(result):
    return [line for line in result.outlines if line]


@pytest.mark.slow
def test_manifests_are_left_alone_unless_asked_for(run):
    run().assert_outcomes(passed=1)
    run("sub").assert_outcomes(passed=1)


def test_the_option_makes_an_item_of_each_row_and_resource(run):
    result = run("--kyvsim-tests", "-v", "-W", "error")
    result.assert_outcomes(passed=3, failed=3)
    found = [line.split()[:2] for line in result.outlines if line.startswith("sub/kyverno")]
    assert found == [
        [ROW, "PASSED"],
        ["sub/kyverno-test.yaml::mark/mark/b", "FAILED"],
        ["sub/kyverno-test.yaml::mark/marc/a", "FAILED"],
        ["sub/kyverno-test.yaml::mark/mark/c", "FAILED"],
        [f"{ROW}#2", "PASSED"],
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("value", "items"), [("true", 5), ("false", 0)])
def test_the_configuration_asks_as_well(run, pytester, value, items):
    pytester.makeini(f"[pytest]\nkyvsim_tests = {value}\n")
    result = run("--collect-only", "-q", "--strict-config")
    assert sum("kyverno-test.yaml::" in line for line in result.outlines) == items


@pytest.mark.slow
def test_a_failure_shows_reason_place_and_difference(run):
    result = run("--kyvsim-tests")
    text = "\n".join(lines_of(result))
    assert (
        "Resource diff (sub/kyverno-test.yaml:7:3)\n"
        "mark / mark  v1/ConfigMap/ns/b\n"
        "Patched resource didn't match the patched resource in the test\n"
        "--- expected: sub/patched.yaml\n"
        "+++ actual\n"
    ) in text
    assert "-   by: ben\n+   by: ann\n" in text
    assert "Rule not found (sub/kyverno-test.yaml:8:3)" in text
    assert "policy `mark` has no rule `marc`: did you mean `mark`?" in text
    assert "Resource not found (sub/kyverno-test.yaml:9:3)" in text
    assert "Traceback" not in text
    assert "manifests.py" not in text


@pytest.mark.slow
def test_rows_are_chosen_as_other_tests(run):
    run("--kyvsim-tests", ROW).assert_outcomes(passed=1)
    run("--kyvsim-tests", f"{ROW}#2").assert_outcomes(passed=1)
    result = run("--kyvsim-tests", "-k", "marc or other")
    result.assert_outcomes(passed=1, failed=1, deselected=4)


@pytest.mark.slow
def test_a_file_of_another_name_is_a_manifest_where_it_is_named(run, pytester):
    folder = pytester.path / "sub"
    (folder / "kyverno-test.yaml").rename(folder / "marks.yml")
    run("--kyvsim-tests").assert_outcomes(passed=1)
    run("--kyvsim-tests", "sub/marks.yml").assert_outcomes(passed=2, failed=3)


@pytest.mark.slow
def test_no_row_passes_where_an_input_cannot_be_used(run, pytester):
    rewrite(pytester, "policies: [policy.yaml]", "policies: [policy.yaml, nowhere.yaml]")
    result = run("--kyvsim-tests")
    result.assert_outcomes(passed=1, errors=5)
    assert "error KV001: `nowhere.yaml`: no such file" in "\n".join(result.outlines)
    assert str(pytester.path / "sub/nowhere.yaml") not in "\n".join(result.outlines)


@pytest.mark.slow
def test_no_row_passes_where_the_values_cannot_be_used(run, pytester):
    rewrite(pytester, "results:", "variables: nowhere.yaml\nresults:")
    run("--kyvsim-tests").assert_outcomes(passed=1, errors=5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("results:", "result:", "sub/kyverno-test.yaml:6:1: error KV"),
        ("metadata:", "metadata: {", "sub/kyverno-test.yaml:"),
    ],
)
def test_a_manifest_that_cannot_be_used_is_an_error_of_collection(run, pytester, old, new, said):
    rewrite(pytester, old, new)
    result = run("--kyvsim-tests")
    result.assert_outcomes(errors=1)
    assert said in "\n".join(result.outlines)
    assert result.ret == pytest.ExitCode.INTERRUPTED


@pytest.mark.slow
def test_remarks_are_warnings_each_once(run, pytester):
    rewrite(pytester, "resources: [maps.yaml]", "resources: [maps.yaml, maps.yaml, more.yaml]")
    (pytester.path / "sub/more.yaml").write_text(MAPS.partition("---")[0])
    result = run("--kyvsim-tests")
    result.assert_outcomes(passed=3, failed=3, warnings=1)
    assert "sub/more.yaml:2:1: warning KV043" in "\n".join(result.outlines)


@pytest.mark.slow
def test_a_manifest_without_rows_is_a_warning(run, pytester):
    file = pytester.path / "sub/kyverno-test.yaml"
    file.write_text(MANIFEST.partition("results:")[0])
    result = run("--kyvsim-tests")
    result.assert_outcomes(passed=1, warnings=1)
    assert "no rows under `results`" in "\n".join(result.outlines)


@pytest.mark.slow
def test_a_test_that_changes_the_folder_makes_no_difference(run, pytester):
    (pytester.path / "sub/conftest.py").write_text(
        f"import os\ndef pytest_collection_finish(): os.chdir({str(ROOT)!r})\n"
    )
    result = run("--kyvsim-tests")
    result.assert_outcomes(passed=3, failed=3)
    assert "--- expected: sub/patched.yaml" in "\n".join(result.outlines)


@pytest.mark.slow
def test_texts_of_a_manifest_move_no_cursor(run, pytester):
    rewrite(pytester, "rule: marc", 'rule: "ma\\e[2Jrc"')
    result = run("--kyvsim-tests", "-v")
    result.assert_outcomes(passed=3, failed=3)
    assert "\x1b[2J" not in "\n".join(result.outlines)


@pytest.mark.slow
def test_the_report_of_junit_has_the_rows(run, pytester):
    run("--kyvsim-tests", "--junitxml=report.xml", f"sub{os.sep}kyverno-test.yaml")
    cases = ET.parse(pytester.path / "report.xml").findall(".//testcase")
    assert [case.get("name") for case in cases][:2] == ["mark/mark/a", "mark/mark/b"]
    failure = cases[1].find("failure")
    assert failure.get("message").startswith("Failed: Resource diff (sub/kyverno-test.yaml:7:3)")
