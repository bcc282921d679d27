"""`kyvsim upgrade`: the releases that it takes, its exit status, and its formats."""

import json

import pytest

from kyvsim.cli.main import main
from kyvsim.report.formats import UPGRADE_FORMATS

TEAM = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: team}
spec:
  background: false
  rules:
  - name: team
    match: {any: [{resources: {kinds: [ConfigMap], operations: [CREATE, UPDATE]}}]}
    validate: {message: m, pattern: {metadata: {labels: {team: "?*"}}}}
"""
CONFINED = """\
apiVersion: kyverno.io/v1
kind: Policy
metadata: {name: regions, namespace: shop}
spec:
  rules:
  - name: known
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    context: [{name: regions, globalReference: {name: regions}}]
    validate: {message: m, deny: {}}
"""
TAGS = """\
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: tags}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  validations:
  - expression: "object.spec.containers.all(c, image(c.image).tag() != '')"
    message: m
"""
DIGEST = "sha256:" + "0" * 64
POD = (
    "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: shop}, "
    f'spec: {{containers: [{{name: c, image: "ghcr.io/shop/web:1@{DIGEST}"}}]}}}}'
)


@pytest.fixture
def upgrade(tmp_path, monkeypatch, capsys):
    """Return what runs the command in a folder of its own: its status and what it says."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments, **files):
        for name, text in files.items():
            (tmp_path / f"{name}.yaml").write_text(text)
        with pytest.raises(SystemExit) as ended:
            main(["upgrade", *arguments])
        said = capsys.readouterr()
        return ended.value.code, said.out, said.err

    return run


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["p.yaml", "--from", "1.18.0"], "'1.18.0' is not one of '1.19.0', '1.19.1'"),
        (["p.yaml", "--to", "1.21"], "'1.21' is not one of '1.19.1', '1.20'"),
        (["p.yaml", "--from", "1.20"], "'1.20' is not one of '1.19.0', '1.19.1'"),
        (
            ["p.yaml", "--from", "1.19.1"],
            "--to 1.19.1 is equal to --from 1.19.1: use --to 1.20",
        ),
        ([], "no policy given"),
        (["p.yaml", "--check"], "--check compares policies that a release removes: add --to 1.20"),
        (["https://example.com/p.yaml"], "offline"),
    ],
)
def test_what_cannot_be_compared(upgrade, arguments, told):
    status, out, err = upgrade(*arguments, p=TEAM)
    assert (status, out) == (2, "")
    assert told in err


@pytest.mark.parametrize(
    ("arguments", "policy", "status", "ending"),
    [
        ([], TEAM, 0, "NOTHING CHECKED: 1 of 1 policy not affected · no results compared"),
        (["-r", "pod.yaml"], TEAM, 0, "SAME: 1 of 1 policy not affected · 1 resource"),
        ([], CONFINED, 1, "DIFFERENT: 1 policy rejected"),
        ([], TAGS, 0, "NOTHING CHECKED: 1 of 1 policy not affected · 1 change to try"),
        (["-r", "pod.yaml"], TAGS, 1, "DIFFERENT: 1 result changed (1 less strict)"),
        (["--to", "1.20"], TEAM, 1, "DIFFERENT: 1 policy without effect"),
        (["--to", "1.20"], TAGS, 0, "SAME: 1 of 1 policy not affected"),
        (["--from", "1.19.0", "--to", "1.20"], CONFINED, 1, "DIFFERENT: 1 policy rejected"),
        (["--to", "1.20"], CONFINED, 2, "INCOMPLETE: 1 error"),
        ([], "{", 2, "INCOMPLETE: 1 error"),
        ([], "kind: List\napiVersion: v1\nitems: []\n", 0, "NOTHING CHECKED"),
    ],
)
def test_the_exit_status(upgrade, arguments, policy, status, ending):
    ended, out, _ = upgrade("p.yaml", *arguments, p=policy, pod=POD)
    assert ended == status
    assert out.splitlines()[-1].startswith(ending)


def test_a_missing_file_is_reported_and_the_rest_is_compared(upgrade):
    status, out, err = upgrade("p.yaml", "missing.yaml", p=CONFINED)
    assert status == 2
    assert "missing.yaml: error KV001" in err
    assert "Rejected policies" in out


@pytest.mark.parametrize("name", UPGRADE_FORMATS)
def test_a_file_is_whole_also_with_unreadable_policies(upgrade, tmp_path, name):
    file = tmp_path / "made"
    status, _, _ = upgrade("p.yaml", "missing.yaml", "-o", f"{name}={file}", p=CONFINED)
    assert status == 2
    text = file.read_text()
    assert "regions" in text
    if name == "json":
        assert json.loads(text)["rejected"][0]["policy"] == "Policy shop/regions"
    else:
        assert text.rstrip().endswith(("</html>", "exit status 2"))


def test_usage_errors_leave_files_alone(upgrade, tmp_path):
    upgrade("p.yaml", "--from", "1.19.1", "-o", "json=made", p=TEAM)
    assert not (tmp_path / "made").exists()


def test_json_names_the_facts_that_cause_a_change(upgrade):
    _, out, _ = upgrade("p.yaml", "-r", "pod.yaml", "-o", "json", p=TAGS, pod=POD)
    (found,) = json.loads(out)["results"]
    assert found["impact"] == "less strict"
    assert found["cause"]["facts"] == ["keeps_tags_beside_digests"]
    assert (found["old"]["result"], found["new"]["result"]) == ("fail", "pass")


def test_policies_from_standard_input(upgrade, monkeypatch):
    class Piped:
        class buffer:  # noqa: N801 — a stream's attribute
            @staticmethod
            def read(*_):
                return CONFINED.encode()

        @staticmethod
        def isatty():
            return False

    monkeypatch.setattr("sys.stdin", Piped)
    status, out, _ = upgrade("-", "--from", "1.19.0", "--to", "1.20")
    assert status == 1
    assert "Policy shop/regions" in out


def test_commands_to_type_quote_paths(upgrade, tmp_path):
    (tmp_path / "my policies").mkdir()
    (tmp_path / "my policies/p.yaml").write_text(TEAM)
    _, out, _ = upgrade("my policies", "--to", "1.20")
    assert "kyvsim migrate 'my policies' --output DIR" in " ".join(out.split())


def test_long_sections_are_cut_unless_everything_is_requested(upgrade):
    policies = "---\n".join(CONFINED.replace("regions,", f"regions{n},") for n in range(12))
    _, short, _ = upgrade("p.yaml", p=policies)
    assert "and 4 more (--detailed-results)" in short
    _, full, _ = upgrade("p.yaml", "--detailed-results", p=policies)
    assert full.count("not accepted by 1.19.1") == 12
