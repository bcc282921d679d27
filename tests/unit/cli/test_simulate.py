"""`kyvsim simulate`: what options and endings do to the exit status."""

import json
from pathlib import Path

import pytest

POLICY = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: make}
spec:
  rules:
  - name: settings
    match: {any: [{resources: {kinds: [Namespace], names: [team-*]}}]}
    generate:
      apiVersion: v1
      kind: ConfigMap
      name: settings
      namespace: "{{ request.object.metadata.name }}"
      data: {data: {a: b}}
"""
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: team-a}\n"
WIDGET = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w, namespace: default}\n"
DENIES = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: none}
spec:
  rules:
  - name: none
    match: {any: [{resources: {kinds: [Namespace]}}]}
    validate: {failureAction: Enforce, message: never, deny: {}}
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Return what writes files by their names, in a folder that is the current one."""
    monkeypatch.chdir(tmp_path)

    def write(**texts):
        for name, text in texts.items():
            Path(f"{name}.yaml").write_text(text, encoding="utf-8")

    return write


def test_what_cannot_be_created_is_no_success(files, kyvsim):
    files(policy=POLICY, widget=WIDGET)
    status, out, _ = kyvsim("simulate", "policy.yaml", "-r", "widget.yaml")
    assert status == 1
    assert "NOT MET  admitted: create Widget default/w (widget.yaml:1:1)" in out
    assert "CustomResourceDefinition" in out


def test_what_a_policy_denies_is_part_of_the_story(files, kyvsim):
    files(policy=DENIES, namespace=NAMESPACE)
    status, out, _ = kyvsim("simulate", "policy.yaml", "-r", "namespace.yaml")
    assert status == 0
    assert "denied" in out


def test_another_order_that_ends_worse_is_a_failure(files, kyvsim):
    files(policy=POLICY, namespace=NAMESPACE)
    given = ("simulate", "policy.yaml", "-r", "namespace.yaml")
    assert kyvsim(*given)[0] == 0
    status, out, _ = kyvsim(*given, "--interleavings", "all", "-o", "json")
    found = json.loads(out)
    assert status == 1
    (other,) = found["interleavings"]["otherwise"]
    assert {"what": "missing", "text": "ConfigMap team-a/settings"} in other["differences"]
    assert [one["code"] for one in found["hazards"]] == ["KH012"]


def test_as_many_orders_are_tried_as_wished(files, kyvsim):
    files(policy=POLICY, namespace=NAMESPACE)
    given = ("simulate", "policy.yaml", "-r", "namespace.yaml", "-o", "json")
    found = json.loads(kyvsim(*given, "--interleavings", "2")[1])["interleavings"]
    assert (found["orders"], found["complete"], found["otherwise"]) == (2, False, [])
    assert "interleavings" not in json.loads(kyvsim(*given)[1])


@pytest.mark.parametrize("wrong", ["0", "-1", "some", "1.5"])
def test_a_number_of_orders_is_a_number(files, kyvsim, wrong):
    files(policy=POLICY)
    status, out, err = kyvsim("simulate", "policy.yaml", "--interleavings", wrong)
    assert (status, out) == (2, "")
    assert f"--interleavings {wrong}: must be a positive number or `all`" in err


def test_two_runs_are_compared_and_the_first_one_counts(files, kyvsim):
    files(policy=POLICY, denies=DENIES, namespace=NAMESPACE, widget=WIDGET)
    given = ("simulate", "policy.yaml", "--compare", "denies.yaml", "-r", "namespace.yaml")
    status, out, err = kyvsim(*given, "-o", "json")
    assert (status, "error" in err) == (0, False)
    found = json.loads(out)
    assert {"what": "missing", "text": "Namespace team-a"} in found["compared"]["differences"]
    assert found["summary"]["denied"] == 0
    assert found["compared"]["summary"]["denied"] == 1
    denied = [one for one in found["compared"]["pairs"] if one["difference"] == "differs"]
    events = found["events"], found["compared"]["events"]
    (pair,) = ((events[0][one["event"]], events[1][one["other"]]) for one in denied)
    assert [one["outcome"] for one in pair] == ["done", "denied"]
    assert (
        kyvsim("simulate", "policy.yaml", "--compare", "denies.yaml", "-r", "widget.yaml")[0] == 1
    )


def test_what_cannot_be_compared_is_told_and_the_first_run_is_shown(files, kyvsim):
    files(policy=POLICY, namespace=NAMESPACE, bad="kind: [")
    given = ("simulate", "policy.yaml", "-r", "namespace.yaml", "--compare")
    status, out, err = kyvsim(*given, "bad.yaml")
    assert status == 2
    assert "bad.yaml" in err
    assert "ConfigMap team-a/settings" in out
    assert "compared with" not in out


def test_orders_of_steps_are_not_compared(files, kyvsim):
    files(policy=POLICY)
    given = ("simulate", "policy.yaml", "--compare", "policy.yaml", "--interleavings", "2")
    status, out, err = kyvsim(*given)
    assert (status, out) == (2, "")
    assert "--compare cannot be combined with --interleavings: it compares one run of each" in err


ADMISSION_POLICY = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: small-names}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [namespaces]}
  validations: [{expression: object.metadata.name != 'team-a', message: not that one}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: small-names}
spec: {policyName: small-names, validationActions: [Deny]}
"""
EXCEPTION = """
apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {name: team-a, namespace: default}
spec: {policyRefs: [{name: none, kind: ValidatingPolicy}]}
"""
DENIES_IN_CEL = """
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: none}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [namespaces]}
  validations: [{expression: "false", message: never}]
"""


def test_admission_policies_of_kubernetes_may_be_given_as_policies(files, kyvsim):
    files(policy=ADMISSION_POLICY, namespace=NAMESPACE)
    status, out, problems = kyvsim("simulate", "policy.yaml", "-r", "namespace.yaml")
    assert (status, problems) == (0, "")
    assert "denied request: not that one" in " ".join(out.split())
    files(policy=ADMISSION_POLICY.replace("!= 'team-a'", "!="))
    status, _, problems = kyvsim("simulate", "policy.yaml", "-r", "namespace.yaml")
    assert (status, "KV156" in problems) == (2, True)


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("count", [False, True])
def test_exceptions_count_where_the_installation_says_so(files, kyvsim, beside, count):
    text = DENIES_IN_CEL if beside else f"{DENIES_IN_CEL}---{EXCEPTION}"
    files(policy=text, exception=EXCEPTION, namespace=NAMESPACE)
    options = ["--exception", "exception.yaml"] if beside else []
    options += ["--install", "ci"] if count else []
    _, out, problems = kyvsim("simulate", "policy.yaml", "-r", "namespace.yaml", *options)
    assert ("denied" in out) is not count
    assert ("KV055" in problems, "KV019" in problems) == (not count, False)


@pytest.mark.parametrize("other", ["--compare=policy.yaml", "--interleavings=all"])
def test_one_run_is_explained_and_not_several(files, kyvsim, other):
    files(policy=POLICY, namespace=NAMESPACE)
    given = ("simulate", "policy.yaml", "-r", "namespace.yaml", "--explain", "team-a")
    status, out, err = kyvsim(*given, other)
    assert (status, out) == (2, "")
    assert f"cannot be combined with {other.partition('=')[0]}" in err
