"""Exceptions that are made of failures: given to the same run, they let it pass."""

import json

import pytest
import yaml

from kyvsim.__main__ import main

RULES = """
apiVersion: kyverno.io/v1
kind: %s
metadata: {name: team%s}
spec:
  rules:
  - name: label
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: none, pattern: {metadata: {labels: {team: "?*"}}}}
  - name: restricted
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {podSecurity: {level: restricted, version: latest}}
  - name: namespaces
    match: {any: [{resources: {kinds: [Namespace]}}]}
    validate: {message: none, pattern: {metadata: {labels: {team: "?*"}}}}
"""
IN_CEL = """
apiVersion: policies.kyverno.io/v1
kind: %s
metadata: {name: team%s}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}
  validations: [{expression: has(object.metadata.labels) && 'team' in object.metadata.labels}]
"""
NATIVE = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: native}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}
  validations: [{expression: "false"}]
"""
POD = {"containers": [{"name": "web", "image": "nginx"}]}
TEMPLATE = {"template": {"metadata": {"labels": {"a": "b"}}, "spec": POD}}
OBJECTS = {
    "Pod": {"apiVersion": "v1", "spec": POD},
    "Deployment": {"apiVersion": "apps/v1", "spec": TEMPLATE},
    "CronJob": {"apiVersion": "batch/v1", "spec": {"jobTemplate": {"spec": TEMPLATE}}},
    "Namespace": {"apiVersion": "v1"},
}


def named(kind, name="o'brien"):
    where = {} if kind == "Namespace" else {"namespace": "shop"}
    return {**OBJECTS[kind], "kind": kind, "metadata": {"name": name, **where}}


@pytest.fixture
def asked(tmp_path, capsys, monkeypatch):
    """A function that applies a policy, and returns status, output and what is said beside it."""
    monkeypatch.chdir(tmp_path)

    def ask(policy, objects, *more):
        (tmp_path / "policy.yaml").write_text(policy)
        (tmp_path / "objects.yaml").write_text(yaml.safe_dump_all(objects))
        with pytest.raises(SystemExit) as ended:
            main(["apply", "policy.yaml", "-r", "objects.yaml", *more])
        return ended.value.code, *capsys.readouterr()

    return ask


@pytest.mark.parametrize(
    "policy",
    [
        RULES % ("ClusterPolicy", ""),
        RULES % ("Policy", ", namespace: shop"),
        IN_CEL % ("ValidatingPolicy", ""),
        IN_CEL % ("NamespacedValidatingPolicy", ", namespace: shop"),
    ],
    ids=["ClusterPolicy", "Policy", "ValidatingPolicy", "NamespacedValidatingPolicy"],
)
def test_what_failed_passes_by_them(asked, tmp_path, policy):
    objects = [named(kind) for kind in OBJECTS]
    status, text, _ = asked(policy, objects, "--generate-exceptions")
    assert status == 1
    (tmp_path / "exceptions.yaml").write_text(text)
    status, _, said = asked(policy, objects, "-e", "exceptions.yaml")
    # Objects that are cut short are ones that an API server refuses (KV233).
    expected = ("KV233", " is deprecated and will be removed in a future release")
    rest = [one for one in said.splitlines() if not any(text in one for text in expected)]
    assert (status, rest) == (0, [])
    others = [named(kind, "other") for kind in OBJECTS]
    assert asked(policy, others, "-e", "exceptions.yaml")[0] == 1


@pytest.mark.parametrize(
    ("kind", "kinds", "names", "rules"),
    [
        ("Pod", ["Pod"], ["a"], ["label"]),
        ("Deployment", ["Deployment", "Pod"], ["a", "a-*"], ["autogen-label", "label"]),
        (
            "CronJob",
            ["CronJob", "Job", "Pod"],
            ["a", "a-*"],
            ["autogen-cronjob-label", "autogen-label", "label"],
        ),
    ],
)
def test_what_controllers_make_is_let_off_too(asked, kind, kinds, names, rules):
    policy = (RULES % ("ClusterPolicy", "")).partition("  - name: restricted")[0]
    _, text, _ = asked(policy, [named(kind, "a")], "--generate-exceptions")
    found = yaml.safe_load(text)
    assert found["metadata"]["name"] == f"team-{rules[0]}-{kind.lower()}-shop-a"
    assert found["spec"]["exceptions"] == [{"policyName": "team", "ruleNames": rules}]
    resources = {"kinds": kinds, "names": names, "namespaces": ["shop"]}
    assert found["spec"]["match"] == {"all": [{"resources": resources}]}


@pytest.mark.parametrize(
    ("given", "written"), [((), "720h0m0s"), (("90m",), "1h30m0s"), (("0",), None), (("0s",), None)]
)
def test_how_long_they_are_kept(asked, given, written):
    policy, more = IN_CEL % ("ValidatingPolicy", ""), ["--generated-exception-ttl"] * len(given)
    _, text, _ = asked(policy, [named("Pod")], "--generate-exceptions", *more, *given)
    labels = yaml.safe_load(text)["metadata"].get("labels")
    assert labels == (written and {"cleanup.kyverno.io/ttl": written})


def test_objects_of_one_name_have_exceptions_of_their_own(asked):
    policy = IN_CEL % ("ValidatingPolicy", "")
    _, text, _ = asked(policy, [named("Pod"), named("Deployment")], "--generate-exceptions")
    first, second = [one["metadata"]["name"] for one in yaml.safe_load_all(text)]
    assert first != second


def test_names_that_no_server_takes_are_changed(asked):
    policy = IN_CEL % ("ValidatingPolicy", "")
    names = ["A:b_c", "x" * 300]
    _, text, _ = asked(policy, [named("Pod", one) for one in names], "--generate-exceptions")
    first, second = [one["metadata"]["name"] for one in yaml.safe_load_all(text)]
    assert first == "team-pod-shop-a-b-c"
    assert len(second) == 253


def test_failures_without_exceptions_are_told(asked):
    nameless = {**named("Pod"), "metadata": {"generateName": "web-"}}
    _, text, said = asked(NATIVE, [named("Pod", "web")], "--generate-exceptions")
    assert text == ""
    assert (
        "exempt 1 of the failures (first: ValidatingAdmissionPolicy native, Pod shop/web)" in said
    )
    policy = IN_CEL % ("ValidatingPolicy", "")
    as_json = ("--generate-exceptions", "--output-format", "json")
    _, text, said = asked(policy, [named("Pod"), nameless, nameless], *as_json)
    assert len(json.loads(text)["items"]) == 1
    assert "no exception can exempt 2 of the failures (first: ValidatingPolicy team" in said
