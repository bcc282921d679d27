"""Rounds of tests: files change while the fake clock sleeps."""

import json
import os
import shutil
from pathlib import Path

import pytest

from kyvsim.api import suite_inputs
from kyvsim.api.suite import INTERVAL, SETTLING, Reading, SuiteRun, run_tests, watch_tests

FIXTURES = Path(__file__).parents[3] / "fixtures/tests"
WHOLE_FOLDERS = ("answers", "cluster", "existing", "generate", "mutate", "operations", "team")


class EndlessSleepError(Exception):
    """The clock sleeps, and nothing more is going to happen."""


@pytest.fixture
def tests(tmp_path, monkeypatch):
    for name in ("mutate", "team"):
        shutil.copytree(FIXTURES / name, tmp_path / "tests" / name)
    monkeypatch.chdir(tmp_path)
    return Path("tests")


@pytest.mark.parametrize("field", ["variables", "userinfo", "context", "resources"])
def test_a_missing_file_is_reported_where_the_manifest_names_it(tests, field):
    manifest = tests / "team" / "kyverno-test.yaml"
    lines = manifest.read_text(encoding="utf-8").splitlines()
    value = "[nope.yaml]" if field == "resources" else "nope.yaml"
    kept = [one for one in lines if not one.startswith(f"{field}:")]
    if field == "variables":  # of values, only those in the manifest are read
        kept = [*kept[: kept.index("values:")], *kept[kept.index("results:") :]]
    manifest.write_text("\n".join([*kept, f"{field}: {value}"]), encoding="utf-8")
    (outcome,) = run_tests(SuiteRun(("tests/team",))).manifests
    (found,) = (one for one in outcome.diagnostics if one.code == "KV001")
    assert found.message.startswith("`nope.yaml`: no such file or folder")
    assert (found.location.file, found.location.line) == (str(manifest), len(kept) + 1)


def rounds_of(*steps, paths=("tests",)):
    """Yield the rounds that come of steps; each is done while the clock sleeps once."""
    waiting = list(steps)

    def sleep(seconds):
        assert seconds in {INTERVAL, SETTLING}
        if waiting:
            waiting.pop(0)()
        elif seconds == INTERVAL:
            raise EndlessSleepError

    watching = watch_tests(SuiteRun(paths), sleep)
    while True:
        try:
            yield next(watching)
        except EndlessSleepError:
            return


def nothing():
    """Let time pass."""


def files_of(outcome):
    return [os.path.dirname(one.file).removeprefix("tests/") for one in outcome.manifests]


def replace(file, old, new):
    """Save as editors do: another file takes the name."""
    text = file.read_text()
    assert old in text
    beside = file.with_suffix(".tmp")
    beside.write_text(text.replace(old, new))
    beside.replace(file)


def test_the_first_round_is_everything(tests):
    (one,) = rounds_of(nothing, nothing)
    assert (
        one.fresh == one.whole == run_tests(SuiteRun((str(tests),), options=Reading(stamped=True)))
    )
    assert files_of(one.whole) == ["mutate", "team"]


def test_only_what_depends_on_a_changed_file_runs_again(tests):
    def change():
        replace(tests / "mutate/policy.yaml", "Always", "Never")

    first, second = rounds_of(nothing, change)
    assert files_of(second.fresh) == ["mutate"]
    assert (first.whole.failed, second.fresh.failed, second.whole.failed) == (0, 1, 1)
    assert second.whole.manifests[1] == first.whole.manifests[1]
    assert second.whole.total == first.whole.total


@pytest.mark.parametrize("name", WHOLE_FOLDERS)
def test_a_manifest_depends_on_all_files_that_it_names(name):
    run = SuiteRun((str(FIXTURES / name),), options=Reading(stamped=True))
    (outcome,) = run_tests(run).manifests
    marked = {mark.path for found in outcome.inputs for mark in found.marks}
    assert marked == {str(path) for path in (FIXTURES / name).iterdir()}


@pytest.mark.parametrize(
    "field", ["policies", "resources", "exceptions", "targetResources", "paramResources"]
)
@pytest.mark.parametrize("path", ["more.yaml", "more", "more*"])
def test_what_is_missing_yet_is_waited_for(tests, field, path):
    manifest = tests / "team/kyverno-test.yaml"
    text = manifest.read_text()
    named = {
        "policies": "policies: [policy.yaml",
        "resources": "resources: [resources.yaml",
        "exceptions": "exceptions: [exception.yaml",
    }.get(field)
    if named:
        assert named in text
        manifest.write_text(text.replace(named, f"{named}, '{path}'"))
    else:
        manifest.write_text(f"{text}\n{field}: ['{path}']\n")

    def appear():
        folder = tests / "team/more"
        if path == "more":
            folder.mkdir()
        (folder / "x.yaml" if path == "more" else tests / "team/more.yaml").write_text("{}\n")

    _, second = rounds_of(appear)
    assert files_of(second.fresh) == ["team"]


def test_values_and_definitions_are_waited_for(tests):
    manifest = tests / "mutate/kyverno-test.yaml"
    manifest.write_text(
        manifest.read_text() + "variables: values.yaml\nclusterResources: [cluster.yaml]\n"
    )
    kind = {"apiVersion": "cli.kyverno.io/v1alpha1", "kind": "ClusterResource"}
    cluster = {**kind, "metadata": {"name": "c"}, "spec": {"crds": ["crd.yaml"]}}
    (tests / "mutate/cluster.yaml").write_text(json.dumps(cluster))

    def write(name):
        return lambda: (tests / "mutate" / name).write_text("{}\n")

    rounds = list(rounds_of(write("values.yaml"), nothing, write("crd.yaml")))
    assert [files_of(one.fresh) for one in rounds[1:]] == [["mutate"], ["mutate"]]


def test_a_half_written_file_is_told_and_then_mended(tests):
    file = tests / "team/policy.yaml"
    text = file.read_text()
    first, broken, mended = rounds_of(
        lambda: file.write_text(text[: len(text) // 2] + "\n  ["),
        nothing,
        lambda: file.write_text(text),
    )
    assert "KV006" in {one.code for one in broken.fresh.manifests[0].diagnostics}
    assert files_of(broken.fresh) == files_of(mended.fresh) == ["team"]
    assert [one[:3] for one in mended.whole.manifests] == [one[:3] for one in first.whole.manifests]


def test_a_file_that_is_away_while_it_is_saved_is_not_missed(tests):
    file, beside = tests / "team/policy.yaml", tests / "team/beside"

    def come_back():
        beside.rename(file)

    rounds = list(rounds_of(lambda: file.rename(beside), come_back, nothing))
    assert [files_of(one.fresh) for one in rounds] == [["mutate", "team"]]


def test_a_change_during_the_run_is_seen(tests, monkeypatch):
    """What lies there is noted before it is read, so nothing slips in between."""
    compile_policies = suite_inputs.compile_policies
    steps = [lambda: replace(tests / "mutate/policy.yaml", "Always", "Never")]

    def disturbed(policies, options):
        if steps:
            steps.pop()()
        return compile_policies(policies, options)

    monkeypatch.setattr(suite_inputs, "compile_policies", disturbed)
    first, second = rounds_of(nothing)
    assert (first.whole.failed, second.whole.failed) == (0, 1)
    assert files_of(second.fresh) == ["mutate"]


def test_manifests_come_and_go(tests):
    def copy():
        shutil.copytree(FIXTURES / "mutate", tests / "new/deep")

    def remove():
        shutil.rmtree(tests / "new")

    _, second, third = rounds_of(copy, nothing, remove)
    assert files_of(second.fresh) == ["new/deep"]
    assert files_of(second.whole) == ["mutate", "new/deep", "team"]
    assert third.gone == ("tests/new/deep/kyverno-test.yaml",)
    assert third.fresh.manifests == ()
    assert files_of(third.whole) == ["mutate", "team"]


def test_a_folder_that_goes_is_told_once_and_comes_back(tests):
    rounds = list(
        rounds_of(
            lambda: tests.rename("away"),
            nothing,
            nothing,
            lambda: Path("away").rename(tests),
        )
    )
    codes = [[one.code for one in found.fresh.diagnostics] for found in rounds]
    assert codes == [[], ["KV041"], []]
    assert [one.whole.total for one in rounds] == [11, 0, 11]
    assert rounds[1].whole.diagnostics == rounds[1].fresh.diagnostics


def test_both_manifests_of_a_file_run_again(tests):
    text = (tests / "mutate/kyverno-test.yaml").read_text()
    (tests / "mutate/kyverno-test.yaml").write_text(f"{text}---\n{text}")
    _, second = rounds_of(lambda: os.utime(tests / "mutate/patched.yaml", ns=(1, 1)))
    assert files_of(second.fresh) == ["mutate", "mutate"]
    assert files_of(second.whole) == ["mutate", "mutate", "team"]
