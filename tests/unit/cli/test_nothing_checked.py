"""Every command ends alike where there was nothing to check; the rule: README, "Exit status"."""

from pathlib import Path

import pytest

POLICY = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: labels}
spec:
  rules:
  - name: owner
    match: {any: [{resources: {kinds: [KIND]}}]}
    preconditions: {all: [{key: "{{ request.operation }}", operator: Equals, value: WHEN}]}
    validate: {message: needs a label, pattern: {metadata: {labels: {owner: "?*"}}}}
"""
NATIVE = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: native}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}
  matchConditions: [{name: sometimes, expression: "WHEN"}]
  validations: [{expression: "has(object.metadata)"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: native}
spec: {policyName: native, validationActions: [Deny]}
"""
CONFIG = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: default, labels: {owner: a}}
"""
SKIPPED = """\
apiVersion: chainsaw.kyverno.io/v1alpha1
kind: Test
metadata: {name: later}
spec:
  skip: true
  steps: [{try: [{script: {content: "true"}}]}]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("other.yaml", POLICY.replace("KIND", "Secret").replace("WHEN", "CREATE")),
        ("never.yaml", POLICY.replace("KIND", "ConfigMap").replace("WHEN", "DELETE")),
        ("checks.yaml", POLICY.replace("KIND", "ConfigMap").replace("WHEN", "CREATE")),
        ("native.yaml", NATIVE.replace("WHEN", "true")),
        ("native-never.yaml", NATIVE.replace("WHEN", "false")),
        ("config.yaml", CONFIG),
        ("later/chainsaw-test.yaml", SKIPPED),
    ):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")
    Path("empty").mkdir()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "arguments",
    [
        ("apply", "empty", "-r", "config.yaml"),
        ("apply", "checks.yaml", "-r", "empty"),
        ("test", "empty"),
        ("test", "empty", "--lenient"),
        ("chainsaw", "empty"),
        ("simulate", "empty"),
        ("lint", "empty"),
        ("migrate", "empty"),
        ("examples", "empty"),
        ("equal", "checks.yaml", "empty"),
        ("diff", "checks.yaml", "empty", "-r", "config.yaml"),
        ("upgrade", "empty"),
    ],
)
def test_a_path_without_anything_to_read_is_an_error(kyvsim, arguments):
    status, out, err = kyvsim(*arguments)
    assert (status, "INCOMPLETE: 1 error in 1 input" in out + err) == (2, True)
    assert "empty: error KV0" in out + err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("apply", "other.yaml", "-r", "config.yaml"), "NOTHING CHECKED: no rule matched"),
        (("apply", "never.yaml", "-r", "config.yaml"), "NOTHING CHECKED: 1 of 1 result skipped"),
        (("apply", "checks.yaml", "-r", "config.yaml"), "PASSED: 1 passed"),
        (("simulate", "other.yaml", "-r", "config.yaml"), "NOTHING CHECKED: no rule matched"),
        (("simulate", "never.yaml", "-r", "config.yaml"), "NOTHING CHECKED: 2 of 2 results skip"),
        (("simulate", "checks.yaml", "-r", "config.yaml"), "PASSED: "),
        (("simulate", "checks.yaml"), "NOTHING CHECKED: no rule matched"),
        (("simulate", "native-never.yaml", "-r", "config.yaml"), "NOTHING CHECKED: 1 of 1 result"),
        (("simulate", "native.yaml", "-r", "config.yaml"), "PASSED: "),
        (("chainsaw", "later"), "NOTHING CHECKED: 1 of 1 test skipped"),
    ],
)
def test_inputs_in_which_nothing_was_checked_are_never_passed(kyvsim, arguments, line):
    status, out, err = kyvsim(*arguments)
    assert (status, line in out) == (0, True), out + err
