import json
from pathlib import Path

import pytest

from kyvsim.cli import streams, suite
from kyvsim.cli.main import run

FIXTURES = Path(__file__).parents[3] / "fixtures/tests"


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["team"], 0),
        (["team", "mutate", "-o", "json"], 0),
        (["holes"], 1),
        (["holes", "--lenient"], 1),
        (["team", "nowhere"], 2),
        (["holes", "nowhere"], 2),
        (["team", "-f", "other.yaml"], 2),
        (["team", "-f", "other.yaml", "--require-tests"], 2),
        (["team", "-t", "policy=x", "--require-tests"], 1),
        (["team", "--registry"], 2),
        (["team", "-b", "main"], 2),
        (["team", "-o", "json", "-o", "yaml"], 2),
        (["team", "-o", "junit="], 2),
        (["https://example.com/tests"], 2),
    ],
)
def test_the_exit_status_says_what_came_of_it(monkeypatch, capfdbinary, arguments, status):
    monkeypatch.chdir(FIXTURES)
    assert run(["test", *arguments]) == status
    assert b"internal error" not in capfdbinary.readouterr().err


OLD = """\
# tests of p
name: old   # the name
policies: [policy.yaml]
resources: [pod.yaml]
results:
# the only row
- policy: p
  rule: r
  resource: x  # a Pod
  namespace: dev
  status: fail
"""
CURRENT = """\
# tests of p
apiVersion: cli.kyverno.io/v1alpha1
kind: Test
metadata:
  name: old   # the name
policies: [policy.yaml]
resources: [pod.yaml]
results:
# the only row
- policy: p
  rule: r
  resources:
  - dev/x  # a Pod
  result: fail
"""
POLICY = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  validationFailureAction: audit
  rules:
  - name: r
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: m, pattern: {metadata: {labels: {a: "?*"}}}}
"""
POD = "{apiVersion: v1, kind: Pod, metadata: {name: x, namespace: dev}, spec: {containers: []}}"


@pytest.mark.parametrize("shown", [(), ("-o", "json")])
def test_outdated_fields_are_replaced_before_the_run(tmp_path, monkeypatch, capfd, shown):
    monkeypatch.chdir(tmp_path)
    for name, text in (("policy.yaml", POLICY), ("pod.yaml", POD), ("kyverno-test.yaml", OLD)):
        Path(name).write_text(text, encoding="utf-8")
    assert run(["test", "."]) == 2
    assert "`kyvsim test --fix` adds them" in capfd.readouterr().err
    assert run(["test", ".", "--fix", *shown]) == 0
    assert Path("kyverno-test.yaml").read_text(encoding="utf-8") == CURRENT
    assert Path("policy.yaml").read_text(encoding="utf-8") == POLICY
    output = capfd.readouterr().out
    if shown:
        json.loads(output)
    else:
        assert "-  status: fail\n" in output
        assert "+  result: fail\n" in output
    assert run(["test", ".", "--fix"]) == 0
    assert "+++" not in capfd.readouterr().out


def test_a_test_that_cannot_be_read_is_not_changed(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    text = OLD.replace("results:", "results: [")
    Path("kyverno-test.yaml").write_text(text, encoding="utf-8")
    assert run(["test", ".", "--fix"]) == 2
    assert Path("kyverno-test.yaml").read_text(encoding="utf-8") == text
    assert run(["test", "--create", "p.yaml", "-r", "r.yaml", "--fix"]) == 2
    assert "cannot be combined with --update, --lenient or --fix" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        ("apiVersion: kyverno.io/v1\nkind: ClusterPolicy\n", 2, "but policies: `kyvsim lint`"),
        ("apiVersion: v1\nkind: Pod\n", 2, "but resources: `kyvsim apply"),
        (
            "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\n",
            2,
            "but there is `a.yaml`: select it with --file-name a.yaml",
        ),
        ("replicas: 3\n", 2, "in or below this folder\n"),
    ],
)
def test_a_folder_without_tests_is_told_by_what_it_has(tmp_path, capfd, text, status, said):
    (tmp_path / "a.yaml").write_text(text, encoding="utf-8")
    assert run(["test", str(tmp_path)]) == status
    assert said in capfd.readouterr().err


def test_standard_output_holds_only_the_format(monkeypatch, capfdbinary):
    monkeypatch.chdir(FIXTURES)
    run(["test", "holes", "nowhere", "-o", "json"])
    found = capfdbinary.readouterr()
    assert len(json.loads(found.out)["results"]) == 8
    assert b"KV041" in found.err


def test_several_formats_at_once(monkeypatch, tmp_path, capfdbinary):
    monkeypatch.chdir(FIXTURES)
    junit, table = tmp_path / "report.xml", tmp_path / "table.txt"
    arguments = ["-o", f"junit={junit}", "-o", f"table={table}", "-o", "json"]
    assert run(["test", "holes", *arguments]) == 1
    assert json.loads(capfdbinary.readouterr().out)["summary"]["failed"] == 8
    assert junit.read_text().startswith("<?xml")
    assert table.read_text().startswith("ID")
    assert sorted(tmp_path.iterdir()) == [junit, table]


def test_a_file_that_cannot_be_written_is_told(monkeypatch, tmp_path, capfdbinary):
    monkeypatch.chdir(FIXTURES)
    assert run(["test", "team", "-o", f"json={tmp_path}/no/where.json"]) == 2
    assert b"cannot write to" in capfdbinary.readouterr().err


@pytest.mark.parametrize("terminal", [True, False])
def test_long_runs_show_a_bar_on_a_terminal(monkeypatch, capfdbinary, terminal):
    monkeypatch.chdir(FIXTURES)
    monkeypatch.setattr(streams, "_PATIENCE", -1.0)
    monkeypatch.setattr(suite, "is_terminal", lambda _: terminal)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert run(["test", "team", "mutate"]) == 0
    assert (b"testing" in capfdbinary.readouterr().err) is terminal
