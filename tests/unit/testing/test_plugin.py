"""The plugin in runs of pytest of its own, named by hand, as if no entry point were installed."""

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

pytest_plugins = ["pytester"]

TEST = """
from kyvsim.testing import apply_policies

POLICY = '''
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: mark}
spec:
  rules:
  - name: mark
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    mutate: {patchStrategicMerge: {data: {by: ann}}}
'''

def made(name):
    meta = {"name": name, "namespace": "ns"}
    return apply_policies(POLICY, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})

def test_two(assert_golden):
    assert_golden(made("a"), "golden/a.yaml")
    assert_golden(made("b"), "golden/b.yaml")

def test_nothing():
    pass
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Return a function that runs pytest with the plugin in a folder that has TEST."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    pytester.mkdir("sub").joinpath("test_marks.py").write_text(TEST)
    plugin = ("-p", "kyvsim.testing.plugin")
    return lambda *arguments: pytester.runpytest_subprocess(*plugin, "-W", "error", *arguments)


def text_of(result):
    return result.stdout.str()


def test_a_missing_file_fails_and_says_how_to_write_it(run, pytester):
    result = run()
    result.assert_outcomes(passed=1, failed=1)
    assert "there is no golden file golden/a.yaml: run pytest --update-golden" in text_of(result)
    assert not (pytester.path / "sub/golden").exists()


@pytest.mark.slow
def test_updating_writes_every_file_and_fails_once(run, pytester):
    result = run("--update-golden")
    result.assert_outcomes(passed=1, failed=1)
    said = "updated golden/a.yaml, golden/b.yaml: review the change, then run again"
    assert said in text_of(result)
    assert "golden/a.yaml: new" in text_of(result)
    assert "by: ann" in (pytester.path / "sub/golden/b.yaml").read_text()
    run("--update-golden").assert_outcomes(passed=2)
    run().assert_outcomes(passed=2)


@pytest.mark.slow
def test_a_file_that_says_otherwise_fails_with_the_difference(run, pytester):
    run("--update-golden")
    golden = pytester.path / "sub/golden/b.yaml"
    good = golden.read_text()
    golden.write_text(good.replace("ann", "ben"))
    result = run()
    result.assert_outcomes(passed=1, failed=1)
    said = text_of(result)
    assert "golden/b.yaml differs" in said
    assert "ns/ConfigMap/b" in said
    assert "-     by: ben" in said
    assert "+     by: ann" in said
    assert "ben" in golden.read_text()
    said = text_of(run("--update-golden"))
    assert "updated golden/b.yaml: review" in said
    assert "-     by: ben" in said
    assert golden.read_text() == good


CONFTEST = """
def pytest_addoption(parser):
    parser.addoption("--update-golden", {attributes})
"""


@pytest.mark.slow
@pytest.mark.parametrize("attributes", ["action='store_true', help='mine'", "help='mine'"])
def test_an_option_of_a_conftest_stays_the_only_one(run, pytester, attributes):
    pytester.makeconftest(CONFTEST.format(attributes=attributes))
    assert text_of(run("--help")).count("--update-golden") == 1
    run("-k", "nothing").assert_outcomes(passed=1, deselected=1)
    if "store_true" in attributes:
        assert "updated golden/a.yaml" in text_of(run("--update-golden"))


@pytest.mark.slow
def test_the_option_is_told_by_help(run):
    assert "--update-golden" in text_of(run("--help"))


@pytest.mark.slow
def test_runs_that_do_not_ask_load_nothing_of_kyvsim(run, pytester):
    file = pytester.makepyfile(
        """
        import sys

        def test_loaded():
            ours = {name for name in sys.modules if name.startswith("kyvsim")}
            assert ours == {"kyvsim", "kyvsim.testing", "kyvsim.testing.plugin"}
        """
    )
    run(file).assert_outcomes(passed=1)


@pytest.mark.slow
def test_the_plugin_is_an_entry_point():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"kyvsim": "kyvsim.testing.plugin"}
