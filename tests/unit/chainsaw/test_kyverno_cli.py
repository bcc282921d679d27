"""The program `kyverno` in scripts."""

import pytest

from kyvsim.chainsaw.environment import STDERR, STDOUT, ShellEnvironment
from kyvsim.chainsaw.errors import UnsupportedError
from kyvsim.chainsaw.kubectl import kubectl
from kyvsim.chainsaw.kyverno_cli import kyverno

POLICY = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: team%s}
spec:
  rules:
  - name: need-team
    match: {any: [{resources: {kinds: [ConfigMap], names: ["shop-*"]}}]}
    validate:
      failureAction: Audit
      message: a team is required
      pattern: {metadata: {labels: {team: "?*"}}}
"""
LABELS = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: label}
spec:
  rules:
  - name: label
    match: {any: [{resources: {kinds: [ConfigMap], names: ["shop-*"]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {team: red}}}}
"""
GENERATES = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: copy}
spec:
  rules:
  - name: copy
    match: {any: [{resources: {kinds: [ConfigMap], names: [shop-a]}}]}
    generate: {apiVersion: v1, kind: Secret, name: made, namespace: default, data: {type: Opaque}}
"""
EXCEPTION = """
apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: spared, namespace: default}
spec:
  match: {any: [{resources: {kinds: [ConfigMap]}}]}
  exceptions: [{policyName: team, ruleNames: [need-team]}]
"""
BAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop-a, namespace: %s}\n"
GOOD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop-b, labels: {team: red}}\n"


@pytest.fixture
def call(situation):
    """Return what calls the program with words split at blanks; files are by name."""

    def run(line, **files):
        environment = ShellEnvironment(situation.session)
        for name, text in files.items():
            environment.write(f"{name}.yaml", text, append=False)
        return kyverno(tuple(line.split()), "", environment)

    return run


@pytest.fixture
def stored(situation):
    """Return what stores an object in the cluster."""

    def store(text):
        result = kubectl(("apply", "-f", "-"), text, ShellEnvironment(situation.session))
        assert result.status == 0, result.text(STDERR)

    return store


def test_apply_shows_failures_as_kyverno_does(call):
    result = call("apply p.yaml -r a.yaml -r b.yaml", p=POLICY % "", a=BAD % "default", b=GOOD)
    assert result.text(STDOUT) == (
        "\nApplying 1 policy rule(s) to 2 resource(s)...\n"
        "policy team -> resource default/ConfigMap/shop-a failed:\n"
        "1 - need-team validation error: a team is required. rule need-team failed at path "
        "/metadata/labels/\n"
        "\npass: 1, fail: 1, warn: 0, error: 0, skip: 0 \n"
    )
    assert (result.status, result.text(STDERR)[-40:]) == (
        1,
        "Error: exit as there are policy violations\n"[-40:],
    )


def test_warnings_have_their_own_status(call):
    line = "apply p.yaml --resource a.yaml --audit-warn --warn-exit-code 3"
    result = call(line, p=POLICY % "", a=BAD % "default")
    assert result.status == 3
    assert "failed as audit warning:\n1 - need-team" in result.text(STDOUT)
    assert result.text(STDOUT).endswith("skip: 0 \nexit as warnExitCode is 3")


def test_objects_are_read_from_the_cluster(call, stored):
    stored(BAD % "default")
    stored("apiVersion: v1\nkind: Namespace\nmetadata: {name: other}\n")
    stored(BAD % "other")
    everywhere = call("apply p.yaml --cluster", p=POLICY % "").text(STDOUT)
    assert "resource default/ConfigMap/shop-a failed" in everywhere
    assert "resource other/ConfigMap/shop-a failed" in everywhere
    assert call("apply p.yaml -c -n other").text(STDOUT).count("ConfigMap/shop-a failed") == 1


def test_exceptions_skip_rules(call):
    line = "apply p.yaml -r a.yaml --exception e.yaml"
    result = call(line, p=POLICY % "", a=BAD % "default", e=EXCEPTION)
    assert "to 1 resource(s) with 1 exception(s)..." in result.text(STDOUT)
    assert "pass: 0, fail: 0, warn: 0, error: 0, skip: 1 " in result.text(STDOUT)
    assert result.status == 0


@pytest.mark.parametrize(
    ("policy", "made"),
    [
        (LABELS, "team: red\n  name: shop-a\n  namespace: default\n\n---\n\n\nMutation:\n"),
        (GENERATES, "name: made\n  namespace: default\ntype: Opaque\n\n---\n\n\nGenerate:\n"),
    ],
)
def test_changes_are_shown(policy, made, call):
    text = call("apply p.yaml -r a.yaml", p=policy, a=BAD % "default").text(STDOUT)
    assert made in text
    assert "pass: 1, fail: 0" in text


def test_the_manifests_in_a_folder_are_read(call, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "policy.yaml").write_text(POLICY % "")
    (tmp_path / "sub" / "notes.txt").write_text("no policy")
    assert "pass: 1" in call("apply sub -r b.yaml", b=GOOD).text(STDOUT)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("test .", "`kyverno test`"),
        ("apply p.yaml --registry", "the flag `registry` of kyverno"),
        ("apply missing.yaml", "`missing.yaml`, which does not exist"),
        ("apply ../p.yaml", "outside the test's folder"),
        ("apply /etc/passwd", "outside the test's folder"),
        ("apply p.yaml --warn-exit-code x", "--warn-exit-code x"),
        ("apply b.yaml -r b.yaml", "unusable input"),
    ],
)
def test_what_is_not_simulated_is_unsupported(line, why, call):
    with pytest.raises(UnsupportedError) as caught:
        call(line, p=POLICY % "", b=GOOD)
    assert why in str(caught.value)


def test_the_version_is_that_of_the_simulated_release(call, situation):
    name = situation.session.sim.settings.release.name
    assert call("version").text(STDOUT) == f"Version: {name}\n"
    assert call("apply").status == 1
