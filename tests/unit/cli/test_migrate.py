"""`kyvsim migrate -o`: all files or none, and nothing overwritten without a word."""

import errno
import json
import os
from pathlib import Path

import pytest

from kyvsim.cli.main import main
from kyvsim.migrate import convert
from kyvsim.migrate.convert import object_name

POLICY = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: {name}
spec:
  rules:
    - name: team
      match:
        any:
          - resources:
              kinds: [ConfigMap]
      validate:
        message: A team is needed.
        pattern:
          metadata:
            labels:
              team: {pattern}
"""


@pytest.fixture
def migrate(tmp_path, monkeypatch, capsys):
    """Return what runs the command in a folder of its own: its status and what it says."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main(["migrate", *arguments])
        said = capsys.readouterr()
        return ended.value.code, said.out, said.err

    return run


def policies(folder, *names, pattern='"?*"'):
    texts = (POLICY.format(name=name, pattern=pattern) for name in names)
    (folder / "policies.yaml").write_text("---\n".join(texts))


def test_a_file_for_each_policy(migrate, tmp_path):
    policies(tmp_path, "one", "two")
    status, _, _ = migrate("policies.yaml", "--output", "made")
    assert status == 0
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == ["one.yaml", "two.yaml"]


def test_nothing_is_written_where_a_file_is_there(migrate, tmp_path):
    policies(tmp_path, "one", "two")
    (tmp_path / "made").mkdir()
    (tmp_path / "made/two.yaml").write_text("mine")
    status, _, said = migrate("policies.yaml", "--output", "made")
    assert status == 2
    assert "not overwriting made/two.yaml: use --force" in said
    assert [path.read_text() for path in (tmp_path / "made").iterdir()] == ["mine"]
    assert migrate("policies.yaml", "--output", "made", "--force")[0] == 0
    assert (tmp_path / "made/two.yaml").read_text() != "mine"


def test_two_policies_of_one_name_are_not_written_over_each_other(migrate, tmp_path):
    policies(tmp_path, "one", "one")
    status, _, said = migrate("policies.yaml", "--output", "made")
    assert status == 2
    assert "two policies would both be written to made/one.yaml" in said
    assert not (tmp_path / "made").exists()


def test_what_is_not_converted_is_not_written(migrate, tmp_path):
    policies(tmp_path, "one", pattern="'{{ request.namespace }}*'")
    status, out, said = migrate("policies.yaml")
    assert (status, out) == (1, "")
    assert "policies.yaml:17:15: spec.rules[0].validate.pattern.metadata.labels.team" in said


def test_manifests_are_for_evidence(migrate, tmp_path):
    policies(tmp_path, "one")
    status, _, said = migrate("policies.yaml", "-r", "policies.yaml")
    assert status == 2
    assert "--resource requires --check" in said


def test_a_folder_after_o_is_an_error_that_names_output(migrate, tmp_path):
    policies(tmp_path, "one")
    status, _, said = migrate("policies.yaml", "-o", "made")
    assert status == 2
    assert "for a folder use --output made" in said
    assert not (tmp_path / "made").exists()


def test_none_is_written_where_one_cannot_be(migrate, tmp_path, monkeypatch):
    policies(tmp_path, "one", "two")
    replace = os.replace
    made = []

    def full(temporary, place):
        if (
            Path(place).resolve().is_relative_to(tmp_path.resolve())
        ):  # pytest replaces what it compiles
            made.append(sorted(path.name for path in (tmp_path / "made").iterdir()))
        replace(temporary, place)

    def refuse(path, flags, mode=0o777, **options):
        if "two.yaml" in str(path):
            raise OSError(errno.ENOSPC, "No space left on device")
        return opened(path, flags, mode, **options)

    opened = os.open
    monkeypatch.setattr(os, "replace", full)
    monkeypatch.setattr(os, "open", refuse)
    status, _, said = migrate("policies.yaml", "--output", "made")
    assert status == 2
    assert "cannot write to made/two.yaml: No space left on device" in said
    assert made == []
    assert list((tmp_path / "made").iterdir()) == []


def test_a_name_that_no_cluster_takes_is_mapped_and_told(migrate, tmp_path):
    policies(tmp_path, "a")
    text = (tmp_path / "policies.yaml").read_text()
    rule = text[text.index("    - name: team") :]
    other = rule.replace("team\n", "of Team_b\n", 1).replace("ConfigMap", "Secret")
    (tmp_path / "policies.yaml").write_text(text + other)
    status, _, said = migrate("policies.yaml")
    assert status == 0
    assert f"-> ValidatingPolicy {object_name('a-of Team_b')} (`a-of Team_b` is not" in said


def test_two_that_become_one_of_the_same_name_are_told(migrate, tmp_path):
    policies(tmp_path, "a-b", "a")
    text = (tmp_path / "policies.yaml").read_text()
    rules = text[text.rindex("    - name: team") :]
    other = rules.replace("team\n", "b\n", 1).replace("ConfigMap", "Secret")
    (tmp_path / "policies.yaml").write_text(text + other)
    status, _, said = migrate("policies.yaml")
    assert status == 2
    assert "KV281: `a` and `a-b` both become the ValidatingPolicy `a-b`" in said


def test_only_what_becomes_the_kind_that_is_asked_for(migrate, tmp_path):
    policies(tmp_path, "one")
    status, shown, _ = migrate("policies.yaml", "--kind", "ValidatingPolicy")
    assert status == 0
    assert "kind: ValidatingPolicy" in shown
    status, shown, said = migrate("policies.yaml", "--kind", "MutatingPolicy")
    assert status == 1
    assert shown == ""
    assert "it becomes a ValidatingPolicy, and --kind selects MutatingPolicy" in said


def test_a_kind_that_nothing_becomes_is_told_with_those_there_are(migrate, tmp_path):
    policies(tmp_path, "one")
    status, _, said = migrate("policies.yaml", "--kind", "ClusterPolicy")
    assert status == 2
    assert "'ClusterPolicy' is not one of 'auto', 'ValidatingPolicy'" in said


def test_folders_stay_as_they_are_and_may_have_policies_of_one_name(migrate, tmp_path):
    for folder in ("in/a", "in/b/c"):
        (tmp_path / folder).mkdir(parents=True)
        policies(tmp_path / folder, "same")
    policies(tmp_path / "in", "top")
    status, _, said = migrate("in", "--output", "made")
    assert status == 0
    assert "KV281" not in said
    found = sorted(
        str(path.relative_to(tmp_path / "made")) for path in tmp_path.glob("made/**/*.yaml")
    )
    assert found == ["a/same.yaml", "b/c/same.yaml", "top.yaml"]


def test_a_link_in_the_folder_does_not_lead_out_of_it(migrate, tmp_path):
    (tmp_path / "in/a").mkdir(parents=True)
    policies(tmp_path / "in/a", "same")
    (tmp_path / "made").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "made/a").symlink_to(tmp_path / "elsewhere")
    status, _, said = migrate("in", "--output", "made")
    assert status == 2
    assert "outside made" in said
    assert not any((tmp_path / "elsewhere").iterdir())


def test_what_is_not_compared_is_not_called_converted_alone(migrate, tmp_path):
    policies(tmp_path, "one")
    _, _, said = migrate("policies.yaml")
    assert "team: converted (not checked)" in said
    assert "1 policy not checked (--check)" in said
    _, _, said = migrate("policies.yaml", "--check", "--seconds", "600")
    assert "not checked" not in said


def test_an_error_on_an_ordinary_object_is_found_without_check(migrate, tmp_path, monkeypatch):
    policies(tmp_path, "one")

    def broken(policy, *others):
        made = convert(policy, *others)
        data = json.loads(json.dumps(made.made[0].data))
        data["spec"]["validations"][0]["expression"] = "object.data.size() < 5"
        return made._replace(made=(made.made[0]._replace(data=data), *made.made[1:]))

    monkeypatch.setattr("kyvsim.api.migrate.convert", broken)
    status, out, said = migrate("policies.yaml")
    assert (status, out) == (1, "")
    assert "(see the counterexample)" in said
    assert "1 policy with a counterexample" in said


@pytest.mark.parametrize("check", [(), ("--check", "--seconds", "600")])
def test_what_differs_is_not_written_unless_it_is_asked_for(migrate, tmp_path, monkeypatch, check):
    policies(tmp_path, "one", "two")

    def broken(policy, *others):
        made = convert(policy, *others)
        if policy.name == "one":
            return made
        data = json.loads(json.dumps(made.made[0].data))
        data["spec"]["validations"][0]["expression"] = "true"
        return made._replace(made=(made.made[0]._replace(data=data), *made.made[1:]))

    monkeypatch.setattr("kyvsim.api.migrate.convert", broken)
    status, _, said = migrate("policies.yaml", "--output", "made", *check)
    assert status == 1
    assert "two: not written: the new policy differs (see the counterexample; --partial" in said
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["one.yaml"]
    status, _, said = migrate("policies.yaml", "--output", "all", "--partial", *check)
    assert status == 1
    assert "not written" not in said
    assert sorted(path.name for path in (tmp_path / "all").iterdir()) == ["one.yaml", "two.yaml"]
