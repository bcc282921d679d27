"""Output goes to files of its own: none that the run reads, and no two things to one."""

import json
import os
from pathlib import Path

import pytest

POLICY = """apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  rules:
    - name: r
      match: {any: [{resources: {kinds: [ConfigMap]}}]}
      validate: {message: m, pattern: {metadata: {name: "?*"}}}
"""
CHANGE = """apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: change}
spec:
  rules:
    - name: r
      match: {any: [{resources: {kinds: [ConfigMap]}}]}
      mutate: {patchStrategicMerge: {metadata: {labels: {a: b}}}}
"""
TEST = """apiVersion: cli.kyverno.io/v1alpha1
kind: Test
metadata: {name: t}
policies: [../pol/p.yaml]
resources: [../man/a.yaml]
results: [{policy: p, rule: r, kind: ConfigMap, resources: [a], result: pass}]
"""
SCENARIO = """apiVersion: kyvsim/v1
kind: Scenario
name: s
steps: [{wait: 1s}]
"""


CHAINSAW = """apiVersion: chainsaw.kyverno.io/v1alpha1
kind: Test
metadata: {name: named}
spec:
  steps:
    - use: {template: step.yaml}
    - try:
        - script: {content: kubectl apply -f ../change.yaml}
        - apply: {file: sub}
        - error: {file: ../man/a.yaml}
        - assert: {file: ../man/a.yaml}
"""
STEP = """apiVersion: chainsaw.kyverno.io/v1alpha1
kind: StepTemplate
metadata: {name: step}
spec:
  try:
    - apply: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}}
"""
CONFIGURATION = """apiVersion: chainsaw.kyverno.io/v1alpha2
kind: Configuration
metadata: {name: default}
spec: {}
"""


def config_map(name):
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The working folder, with an input of each sort."""
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "pol/p.yaml": POLICY,
        "man/a.yaml": config_map("a"),
        "change.yaml": CHANGE,
        "t/kyverno-test.yaml": TEST,
        "story/scenario.yaml": SCENARIO,
        "named/scenario.yaml": f"{SCENARIO}policies: ../pol/p.yaml\n",
        "chart/values.yaml": "a: 1\n",
        "c/chainsaw-test.yaml": CHAINSAW,
        "c/step.yaml": STEP,
        "c/.chainsaw.yaml": CONFIGURATION,
        "c/sub/object.yaml": config_map("b"),
        ".kyvsim.yaml": "apply: {}\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def contents(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize(
    "words",
    [
        "apply pol -r man --output-format json=pol/p.yaml",
        "apply pol/*.yaml -r man --output-format json=pol/p.yaml",
        "apply po* -r man --output-format json=pol/p.yaml",
        "apply pol -r man --output-format json=man/../man/a.yaml",
        "apply pol -r man --output-format json=.kyvsim.yaml",
        "apply pol -r man -f man/a.yaml --output-format json=man/a.yaml",
        "apply pol -r man --output pol/p.yaml",
        "apply pol -r man --helm chart --output-format json=chart/values.yaml",
        "apply pol -r man --baseline base.yaml --output-format json=base.yaml",
        "apply pol/p.yaml -r man --write-baseline pol/p.yaml",
        "apply pol -r man --output-format json=new --output new",
        "apply pol -r man --output-format json=new --write-baseline new",
        "apply pol -r man --output-format json=new --output-format html=new",
        "lint pol --output-format json=pol/p.yaml",
        "explain pol -r man --output-format json=man/a.yaml",
        "diff pol change.yaml -r man --output-format json=change.yaml",
        "equal pol change.yaml --output-format json=change.yaml",
        "equal pol/p.yaml change.yaml --max-cases 3 --write-tests pol --force",
        "examples pol -o pol --force",
        "migrate pol --output-format json=pol/p.yaml",
        "migrate pol --output pol --force",
        "simulate pol -r man --output-format json=man/a.yaml",
        "simulate story/scenario.yaml --output-format json=story/scenario.yaml",
        "simulate named/scenario.yaml --output-format json=pol/p.yaml",
        "test t --output-format json=t/kyverno-test.yaml",
        "test t --output-format json=man/a.yaml",
        "test t --output-format html=pol/../pol/p.yaml",
        "test t --coverage --coverage-report json=pol/p.yaml",
        "test t --output-format json=new --coverage-report lcov=new",
        "chainsaw c --output-format json=c/chainsaw-test.yaml",
        "chainsaw c --output-format json=c/step.yaml",
        "chainsaw c --output-format json=c/.chainsaw.yaml",
        "chainsaw c --output-format json=c/../man/a.yaml",
        "chainsaw c --output-format json=change.yaml",
        "chainsaw c --output-format json=c/sub/object.yaml",
        "test --create pol -r man -o pol --file-name p.yaml --force",
        "test --create pol -r man -o man --file-name a.yaml --force",
    ],
)
def test_nothing_is_written_over_what_is_read_nor_twice(folder, kyvsim, words):
    kyvsim("apply", "pol", "-r", "man", "--write-baseline", "base.yaml")
    before = contents(folder)
    status, _, err = kyvsim(*words.split())
    assert status == 2
    assert "input of this run" in err or "both go to" in err
    assert contents(folder) == before


@pytest.mark.parametrize(
    "words",
    [
        "apply pol -r man --output-format json=out.json",
        "apply pol -r man --write-baseline base.yaml --baseline base.yaml",
        "apply pol -r man --write-baseline man/base.yaml",
        "lint pol --output-format json=out.json",
        "test t --output-format json=t/out.json",
        "equal pol/p.yaml change.yaml --max-cases 3 --write-tests cases --force",
    ],
)
def test_what_no_run_reads_is_written_anew(kyvsim, words):
    kyvsim("apply", "pol", "-r", "man", "--write-baseline", "base.yaml")
    for _ in range(2):
        assert kyvsim(*words.split())[0] != 2


def test_an_object_is_not_written_over_one_that_is_read(folder, kyvsim):
    (folder / "man/a-mutated.yaml").write_text(config_map("b"))
    before = contents(folder)
    status, _, err = kyvsim("apply", "change.yaml", "-r", "man", "-o", "man")
    assert (status, contents(folder)) == (2, before)
    assert "cannot write to man/a-mutated.yaml: the run also reads or writes it" in err


def test_an_object_is_not_written_where_a_report_goes(folder, kyvsim):
    report = "json=out/a-mutated.yaml"
    (folder / "out").mkdir()
    status, _, _ = kyvsim(
        "apply", "change.yaml", "-r", "man", "-o", "out", "--output-format", report
    )
    assert status == 2
    assert [*(folder / "out").iterdir()] == []


@pytest.mark.parametrize(
    "make", [os.mkfifo, Path.touch, lambda place: place.symlink_to("/dev/null")]
)
def test_a_folder_for_objects_has_to_be_one(folder, kyvsim, make):
    make(folder / "place")
    status, _, err = kyvsim("apply", "change.yaml", "-r", "man", "-o", "place")
    assert (status, "error: cannot write to place: it is not a folder\n" in err) == (2, True)


def test_names_that_no_file_can_have_are_mapped_and_told(folder, kyvsim):
    long = "\N{LATIN SMALL LETTER E WITH ACUTE}" * 150
    names = (f"{long}1", f"{long}2", "../x/y", "plain")
    (folder / "man/a.yaml").write_text("\n---\n".join(map(config_map, names)))
    status, _, err = kyvsim("apply", "change.yaml", "-r", "man", "-o", "out")
    files = {path.name for path in (folder / "out").iterdir()}
    assert status == 0
    assert {"plain-mutated.yaml", "__x_y-mutated.yaml"} < files
    assert len(files) == 4
    assert "../x/y: written as __x_y, since" in err
    assert err.count(": written as ") == 3
