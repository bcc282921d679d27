"""How much commands show, and which failures count."""

import json

import pytest

from kyvsim.cli.main import run

POLICY = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: NAME, annotations: {SEVERITY}}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate: {message: a team is missing, pattern: {metadata: {labels: {team: "?*"}}}}
"""
MAPS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: bare}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: fine, labels: {team: a}}
"""
TEST = """\
apiVersion: cli.kyverno.io/v1alpha1
kind: Test
metadata: {name: t}
policies: [low.yaml]
resources: [maps.yaml]
results:
- {policy: low, rule: r, resources: [bare], kind: ConfigMap, result: fail}
- {policy: low, rule: r, resources: [fine], kind: ConfigMap, result: fail}
"""


def severity(word):
    return f"policies.kyverno.io/severity: {word}"


@pytest.fixture
def said(tmp_path, monkeypatch, capsys):
    """A function that runs a command in a folder with two policies, and returns what it says."""
    monkeypatch.chdir(tmp_path)
    texts = {
        "low.yaml": POLICY.replace("NAME", "low").replace("SEVERITY", severity("low")),
        "none.yaml": POLICY.replace("NAME", "none").replace("SEVERITY", ""),
        "old.yaml": POLICY.replace("NAME", "old")
        .replace("SEVERITY", "")
        .replace("spec:", "spec:\n  validationFailureAction: Audit"),
        "maps.yaml": MAPS,
        "kyverno-test.yaml": TEST,
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")

    def ask(*arguments):
        status = run(list(arguments))
        streams = capsys.readouterr()
        return status, streams.out, streams.err

    return ask


APPLY = ("apply", "low.yaml", "-r", "maps.yaml")


@pytest.mark.parametrize(
    ("least", "status"), [("critical", 0), ("high", 0), ("HIGH", 0), ("low", 1), ("info", 1)]
)
def test_failures_below_the_severity_are_shown_and_told_and_do_not_count(said, least, status):
    got, out, _ = said(*APPLY, "--fail-on", least)
    assert got == status
    assert "FAIL  low / r" in out
    told = f"1 of 2 results failed below --fail-on {least.lower()}"
    assert (told in " ".join(out.split())) is (status == 0)


def test_a_policy_without_severity_always_counts(said):
    status, out, _ = said("apply", "none.yaml", "low.yaml", "-r", "maps.yaml", "--fail-on", "high")
    assert status == 1
    assert "1 of 4 results failed · 1 of 4 results failed below" in " ".join(out.split())


def test_json_counts_what_is_below(said):
    status, out, _ = said(*APPLY, "--fail-on", "high", "--output-format", "json")
    document = json.loads(out)
    assert status == 0
    assert document["summary"]["fail"] == 1
    assert document["ending"]["counts"]["belowFailOn"] == 1


def test_it_may_be_set_by_a_variable_and_a_file(said, monkeypatch, tmp_path):
    monkeypatch.setenv("KYVSIM_FAIL_ON", "high")
    assert said(*APPLY)[0] == 0
    monkeypatch.delenv("KYVSIM_FAIL_ON")
    (tmp_path / ".kyvsim.yaml").write_text("fail-on: high\nquiet: true\n", encoding="utf-8")
    assert said(*APPLY)[0] == 0


def test_what_the_baseline_has_is_counted_once(said):
    said(*APPLY, "--write-baseline", "known.yaml")
    status, out, _ = said(*APPLY, "--baseline", "known.yaml", "--fail-on", "high")
    assert status == 0
    assert "failed below" not in out


def test_quiet_shows_failures_only(said):
    status, out, err = said("apply", "low.yaml", "-r", "maps.yaml", "--quiet")
    assert status == 1
    assert out.startswith("ConfigMap/bare" if "default" not in out else "default/ConfigMap/bare")
    assert "By rule" not in out
    assert err == ""


def test_statistics_show_counts_only(said):
    _, out, _ = said(*APPLY, "--statistics")
    assert out.splitlines()[0].split() == ["By", "rule", "fail", "warn", "error", "pass", "skip"]
    assert out.splitlines()[1].split() == ["low", "/", "r", "1", "-", "-", "1", "-"]


def test_verbose_tells_what_was_looked_at_and_what_passed(said):
    _, out, err = said(*APPLY, "--verbose")
    assert "low.yaml: read: 1 policy" in err
    assert "fine" in out


def test_lint_has_the_same(said):
    assert "KV202" not in said("lint", "old.yaml", "--quiet")[1]
    assert "KV202" in said("lint", "old.yaml", "--quiet", "--strict")[1]
    out = said("lint", "old.yaml", "--statistics")[1]
    assert out.startswith("By code")
    assert "old.yaml: checked" in said("lint", "old.yaml", "--verbose")[2]


def test_test_has_the_same(said):
    _, out, _ = said("test", ".", "--statistics")
    assert out.splitlines()[1].split() == ["low", "/", "r", "1", "1"]
    assert "bare" not in said("test", ".", "--quiet")[1]
    assert "bare" in said("test", ".", "--verbose")[1]


def test_they_contradict(said):
    status, _, err = said(*APPLY, "--quiet", "--verbose")
    assert status == 2
    assert "--quiet and --verbose cannot be combined" in err
