import pytest

from kyvsim.api import ApplyInputs, open_application
from kyvsim.api.lint import lint, plan_fixes
from kyvsim.api.suite import SuiteRun, run_tests
from kyvsim.api.suppression import Selection
from kyvsim.load.files import Source
from kyvsim.load.folders import USUAL
from kyvsim.model.diagnostic import Severity

POLICY = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: hosts
spec:{spec}
  rules:
    # above
    - name: a
      match:
        any:
          - resources:
              kinds: [Pod]
      validate:
        message: {message}
        deny:
          conditions:
            any:{any}
              - key: request.object.spec.hostPID{key}
                operator: Equals
                value: "true"
"""


def policy(**texts):
    return POLICY.format(**{"spec": "", "message": "No.", "any": "", "key": "", **texts})


def found(text, *, as_found=False, **selection):
    walking = USUAL._replace(as_found=as_found)
    result = lint([Source("p.yaml", text, ".")], walking=walking, selection=Selection(**selection))
    return [(one.code, one.location.line) for one in result.diagnostics]


def test_comments_can_be_disregarded():
    text = policy(key="  # kyvsim: ignore[KV222, KV201]")
    assert found(text) == [("KV291", 18), ("KV292", 18)]
    assert found(text, comments=False) == [("KV222", 18)]


ABOVE = "\n              # kyvsim: ignore[KV222] later\n\n              # more"


@pytest.mark.parametrize(
    "text",
    [
        policy(key="  # kyvsim: ignore[KV222] later"),
        policy(key=" #kyvsim:ignore[ KV222 ] later"),
        policy(key="  # note  # kyvsim: ignore[KV222] later"),
        policy(any=ABOVE),
        policy(spec="  # kyvsim: ignore-file[KV222] later"),
        policy(message="|- # kyvsim: ignore-file[KV222] later\n          No."),
        policy(key="  # kyvsim: ignore[KV222] später").replace("No.", "Größe"),
        policy(key="  # kyvsim: ignore[KV222] later").replace("\n", "\r\n"),
        "---\n"
        + policy()
        + "---\n"
        + policy().replace("hosts", "b")
        + "# kyvsim: ignore-file[KV222, KV220] x",
    ],
)
def test_a_comment_ignores_a_warning(text):
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        (policy(), [("KV222", 18)]),
        # inside of scalars there are no comments
        (policy(message="'x # kyvsim: ignore-file[KV222] x'"), [("KV222", 18)]),
        (policy(message='"x # kyvsim: ignore-file[KV222] x"'), [("KV222", 18)]),
        (policy(message="|\n          # kyvsim: ignore-file[KV222] x"), [("KV222", 19)]),
        (policy(message="x#kyvsim:ignore-file[KV222]"), [("KV222", 18)]),
        # another line, and the line above
        (policy(spec=" # kyvsim: ignore[KV222] x"), [("KV291", 5), ("KV222", 18)]),
        (policy(any=" # kyvsim: ignore[KV222] x"), [("KV291", 17), ("KV222", 18)]),
        (policy(key=" # kyvsim: ignore[KV201] x"), [("KV222", 18), ("KV291", 18)]),
        (policy(key=" # kyvsim: ignore[KV222, KV201] x"), [("KV291", 18)]),
        (policy(key=" # kyvsim: ignore[KV222]"), [("KV292", 18)]),
        (policy(key=" # kyvsim: ignore[KV222] --"), [("KV292", 18)]),
        (policy(key=" # kyvsim: ignore[KV2] x"), [("KV222", 18), ("KV293", 18)]),
        (policy(key=" # kyvsim: ignore KV222"), [("KV222", 18), ("KV293", 18)]),
        (policy(key=" # kyvsim: ignore[]"), [("KV222", 18), ("KV293", 18)]),
    ],
)
def test_comments_that_do_not_apply_are_reported(text, codes):
    assert found(text) == codes


def test_errors_cannot_be_ignored_and_other_comments_are_kept_beside_them():
    text = policy(key=" # kyvsim: ignore[KV222] x", spec=" # kyvsim: ignore-file[KV012] x")
    text = text.replace("message", "mesage")
    assert [code for code, _ in found(text)] == ["KV012"]
    assert [code for code, _ in found(text, select=("KV3",), ignore=("KV",))] == ["KV012"]


def test_comments_on_other_files_are_not_unused_if_those_are_unknown():
    text = policy().replace("name: hosts", "name: hosts # kyvsim: ignore[KV208] two clusters")
    assert found(text) == [("KV291", 4), ("KV222", 18)]
    assert found(text, as_found=True) == [("KV222", 18)]


@pytest.mark.parametrize(
    ("selection", "codes"),
    [
        ({"select": ("KV22",)}, ["KV222"]),
        ({"select": ("KV3", "KV222")}, ["KV222"]),
        ({"select": ("KV3",)}, []),
        ({"ignore": ("KV2",)}, []),
        ({"select": ("KV2",), "ignore": ("KV222",)}, []),
    ],
)
def test_a_selection_is_by_prefixes(selection, codes):
    assert [code for code, _ in found(policy(), **selection)] == codes


def test_the_longest_prefix_decides_the_severity():
    levels = {"KV2": Severity.INFO, "KV222": Severity.ERROR, "KV22": Severity.WARNING}
    source = Source("p.yaml", policy(), ".")
    (one,) = lint([source], selection=Selection(severities=levels)).diagnostics
    assert one.severity is Severity.ERROR


def test_unused_comments_are_removed_by_fixes(tmp_path):
    file = tmp_path / "p.yaml"
    text = policy(
        spec="  # kyvsim: ignore[KV222] x", any="\n              # kyvsim: ignore-file[KV301] x"
    )
    file.write_text(text)
    (fixed,) = plan_fixes(lint([str(file)]))
    assert fixed.text == policy()
    # fixes that are not selected are not made
    alone = Selection(select=("KV222",))
    assert plan_fixes(lint([str(file)], selection=alone), selection=alone) == ()


KINDS = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [Pods, ConfigMap]}}]}%s
    validate: {message: m, pattern: {metadata: {name: "?*"}}}
"""
MANIFEST = """\
apiVersion: cli.kyverno.io/v1alpha1
kind: Test
metadata: {name: t}
policies: [p.yaml]
resources: [r.yaml]
results: [{policy: p, rule: r, resources: [a], kind: ConfigMap, result: pass}]
"""


@pytest.mark.parametrize(
    ("comment", "codes"),
    [
        ("", ["KV215"]),
        ("  # kyvsim: ignore[KV215] ours", []),
        ("  # kyvsim: ignore[KV216]", ["KV215"]),
    ],
)
def test_runs_ignore_the_same_warnings_and_report_no_comments(tmp_path, comment, codes):
    files = {"p.yaml": KINDS % comment, "kyverno-test.yaml": MANIFEST}
    files["r.yaml"] = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b}}"
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    paths = (str(tmp_path / "p.yaml"),), (str(tmp_path / "r.yaml"),)
    assert [one.code for one in open_application(ApplyInputs(*paths)).diagnostics] == codes
    (manifest,) = run_tests(SuiteRun((str(tmp_path),))).manifests
    assert [one.code for one in manifest.diagnostics] == codes
