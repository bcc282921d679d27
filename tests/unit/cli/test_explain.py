"""`kyvsim explain` as it is typed."""

import re

import pytest

from kyvsim.cli.main import run

POLICY = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: require-team}
spec:
  rules:
  - name: team-label
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {pattern: {metadata: {labels: {team: "?*"}}}}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "pod.yaml").write_text(POD)
    monkeypatch.chdir(tmp_path)


def explain(*arguments):
    return run(["explain", "policy.yaml", "-r", "pod.yaml", *arguments])


@pytest.mark.usefixtures("files")
def test_a_failure_that_is_explained_is_no_failure(capsys):
    assert explain() == 0
    assert "FAIL   require-team / team-label" in capsys.readouterr().out


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["--rule", "team-labl"], "did you mean `team-label`?"),
        (["--object", "Pod/wep"], "did you mean `Pod/web`?"),
        (["--output-format", "pdf"], "pdf"),
    ],
)
def test_what_is_not_there_is_told_with_status_2(arguments, hint, capsys):
    assert explain(*arguments) == 2
    said = capsys.readouterr()
    assert hint in said.err
    assert not said.out


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("name", ["team-label", "require-team/team-label", "require-team"])
def test_a_rule_is_named_by_itself_or_by_its_policy(name, capsys):
    assert explain("--rule", name) == 0
    assert "team-label" in capsys.readouterr().out


@pytest.mark.usefixtures("files")
def test_a_policy_that_is_refused_is_told_and_the_others_are_explained(tmp_path, capsys):
    (tmp_path / "bad.yaml").write_text(POLICY.replace("pattern:", "patern:"))
    assert run(["explain", ".", "-r", "pod.yaml"]) == 2
    said = capsys.readouterr()
    assert "KV012" in said.err
    assert "FAIL   require-team / team-label" in said.out


@pytest.mark.usefixtures("files")
def test_why_a_rule_is_not_there_is_told_where_its_policy_is_refused(tmp_path, capsys):
    (tmp_path / "policy.yaml").write_text(POLICY.replace("pattern:", "patern:"))
    assert explain("--rule", "team-label") == 2
    said = capsys.readouterr().err
    assert "KV012" in said
    assert "no policy or rule is named `team-label`" in said


@pytest.mark.usefixtures("files")
def test_without_resources_there_is_nothing_to_explain(capsys):
    assert run(["explain", "policy.yaml"]) == 2
    assert "no resource given" in capsys.readouterr().err


@pytest.mark.usefixtures("files")
def test_apply_explains_with_its_own_ending_and_status(capsys):
    assert run(["apply", "policy.yaml", "-r", "pod.yaml", "--explain"]) == 1
    said = capsys.readouterr().out
    assert "because  pattern / metadata / labels" in said
    assert said.splitlines()[-1].startswith("FAILED: 1 of 1 result failed")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    "other",
    [
        "--table",
        "--policy-report",
        "--diff",
        "--detailed-results",
        "--output-format json",
        "--output-format sarif=found.sarif",
    ],
)
def test_an_explanation_is_a_view_of_its_own(other, capsys, tmp_path):
    arguments = ["apply", "policy.yaml", "-r", "pod.yaml", "--explain", *other.split()]
    assert run(arguments) == 2
    assert f"it cannot be combined with {other.partition('=')[0]}" in capsys.readouterr().err
    assert not (tmp_path / "found.sarif").exists()


@pytest.mark.usefixtures("files")
def test_a_page_of_apply_has_the_explanation_below_what_was_found(capsys, tmp_path):
    arguments = ["apply", "policy.yaml", "-r", "pod.yaml", "--explain"]
    assert run([*arguments, "--output-format", "html"]) == 1
    page = capsys.readouterr().out
    assert page.count('data-item data-status="fail"') == 1
    (why,) = re.findall(r"<summary>why</summary>.*?</li>", page, re.DOTALL)
    assert "pattern / metadata / labels" in why
    assert "policy.yaml:9:37" in why
    assert run([*arguments, "--output-format", "html=page.html"]) == 1
    assert "because  pattern / metadata / labels" in capsys.readouterr().out
    written = (tmp_path / "page.html").read_text()
    assert written.partition("<footer>")[0] == page.partition("<footer>")[0]
    assert "--output-format html=page.html</p>" in written


@pytest.mark.usefixtures("files")
def test_an_explained_page_that_cannot_be_written_leaves_nothing(capsys):
    arguments = ["apply", "policy.yaml", "-r", "pod.yaml", "--explain"]
    assert run([*arguments, "--output-format", "html=no/page.html"]) == 2
    said = capsys.readouterr()
    assert "cannot write to no/page.html" in said.err
    assert not said.out


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("option", ["--engine=processes", "--resume", "--jobs=2", "--strict"])
def test_options_on_how_apply_works_and_counts_are_not_of_explain(option, capsys):
    assert explain(option) == 2
    assert option.split("=")[0] in capsys.readouterr().err


@pytest.mark.usefixtures("files")
def test_an_option_of_the_online_half_is_refused_with_a_word(capsys):
    assert explain("--cluster") == 2
    assert "kyvsim works offline" in capsys.readouterr().err


@pytest.mark.usefixtures("files")
def test_formats_go_to_files_beside_the_view_for_people(tmp_path, capsys):
    assert explain("--output-format", "json=why.json", "--output-format", "html=why.html") == 0
    assert "FAIL   require-team / team-label" in capsys.readouterr().out
    assert "team-label" in (tmp_path / "why.json").read_text()
    assert "team-label" in (tmp_path / "why.html").read_text()


@pytest.mark.usefixtures("files")
def test_apply_explains_under_strict_terms(tmp_path):
    (tmp_path / "policy.yaml").write_text(POLICY.replace("[Pod]", "[Pods]"))
    arguments = ["apply", "policy.yaml", "-r", "pod.yaml", "--explain"]
    assert run(arguments) == 0
    assert run([*arguments, "--strict"]) == 2


@pytest.mark.usefixtures("files")
def test_a_rule_that_a_deletion_does_not_concern_is_told_with_the_reason(tmp_path, capsys):
    patch = "mutate: {patchStrategicMerge: {metadata: {labels: {a: b}}}}"
    (tmp_path / "policy.yaml").write_text(f"{POLICY.partition('    validate')[0]}    {patch}\n")
    assert explain("--operation", "DELETE") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "the object is deleted, and the rule ignores deletions" in said


@pytest.mark.usefixtures("files")
def test_policies_that_are_given_as_resources_are_an_error(capsys):
    assert run(["explain", "policy.yaml", "-r", "policy.yaml"]) == 2
    assert (
        "error KV029: no rule matched, and the only resources are `ClusterPolicy`"
        in capsys.readouterr().err
    )
