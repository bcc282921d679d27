"""Where kyvsim differs from Kyverno's command line on purpose, as the list of differences says.

docs/coming-from-kyverno.md, "Every difference"
"""

import json

import pytest

from kyvsim.api import ApplyInputs, open_application
from kyvsim.api.apply import render_document
from kyvsim.report.formats import RUN_FORMATS as FORMATS
from kyvsim.report.style import RenderOptions

KINDS = {"any": [{"resources": {"kinds": ["Service"]}}]}
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"ports": [{"port": 2, "name": "b"}, {"port": 1, "name": "a"}]},
}
SORTED = "{{ sort_by(request.object.spec.ports, &name)[0].name }}"
FIRST = "{{ request.object.spec.ports[0].name }}"


@pytest.fixture
def run(tmp_path):
    """A function that applies policies to objects, and gives the run with what JSON says of it."""

    def write(name, documents):
        path = tmp_path / f"{name}.yaml"
        path.write_text("\n---\n".join(map(json.dumps, documents)), encoding="utf-8")
        return (str(path),)

    def apply(policies, objects, exceptions=()):
        application = open_application(
            ApplyInputs(
                write("policies", policies),
                write("objects", objects),
                exceptions=write("exceptions", exceptions) if exceptions else (),
            )
        )
        return application, json.loads(
            "".join(render_document(FORMATS["json"].write, application, RenderOptions()))
        )

    return apply


def policy(*rules, **spec):
    return {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "p"},
        "spec": {"background": False, **spec, "rules": list(rules)},
    }


def equals(key, value):
    return {"key": key, "operator": "Equals", "value": value}


def test_sort_by_leaves_the_object_as_it_is(run):
    deny = {"conditions": {"all": [equals(SORTED, "a"), equals(FIRST, "b")]}}
    check = {"name": "r", "match": KINDS, "validate": {"message": f"first {FIRST}", "deny": deny}}
    _, found = run([policy(check)], [SERVICE])
    assert [(one["result"], one["message"]) for one in found["results"]] == [("fail", "first b")]


def test_sort_by_does_not_sort_what_is_mutated(run):
    change = {
        "name": "r",
        "match": KINDS,
        "preconditions": {"all": [equals(SORTED, "a")]},
        "mutate": {"patchStrategicMerge": {"metadata": {"labels": {"x": "y"}}}},
    }
    _, found = run([policy(change)], [SERVICE])
    (changed,) = found["mutated"]
    assert [one["name"] for one in changed["object"]["spec"]["ports"]] == ["b", "a"]


def merging(name, value):
    patch = {"metadata": {"labels": {name: value}}}
    return {"name": name, "match": KINDS, "mutate": {"patchStrategicMerge": patch}}


def test_rules_after_an_error_of_a_mutation_see_the_object_as_it_was(run):
    """Kyverno's command line goes on with an empty object: the last two have no result there."""
    broken = merging("broken", "{{ request.object.spec.absent }}")
    pattern = {"metadata": {"labels": {"label": "a", "X(broken)": "null"}}, "spec": {"type": "?*"}}
    checked = {"name": "checked", "match": KINDS, "validate": {"message": "m", "pattern": pattern}}
    _, found = run([policy(broken, merging("label", "a"), checked)], [SERVICE])
    assert [(one["rule"], one["result"]) for one in found["results"]] == [
        ("broken", "error"),
        ("label", "pass"),
        ("checked", "fail"),
    ]
    (changed,) = found["mutated"]
    assert changed["object"]["metadata"]["labels"] == {"label": "a"}


def generating(name, api_version, kind):
    target = {"apiVersion": api_version, "kind": kind, "name": "deny", "namespace": "shop"}
    body = {**target, "synchronize": False, "data": {"spec": {}}}
    return {"name": name, "match": KINDS, "generate": body}


def test_an_exception_counts_for_a_generate_rule(run):
    exception = {
        "apiVersion": "kyverno.io/v2",
        "kind": "PolicyException",
        "metadata": {"name": "e", "namespace": "x"},
        "spec": {"exceptions": [{"policyName": "p", "ruleNames": ["r"]}], "match": KINDS},
    }
    rule = generating("r", "networking.k8s.io/v1", "NetworkPolicy")
    _, found = run([policy(rule)], [SERVICE], [exception])
    assert [one["result"] for one in found["results"]] == ["skip"]
    assert found["generated"] == []


def test_two_generated_objects_of_one_name_and_plural_are_both_there(run):
    rules = [
        generating("a", "cilium.io/v2", "CiliumNetworkPolicy"),
        generating("b", "networking.k8s.io/v1", "NetworkPolicy"),
    ]
    _, found = run([policy(*rules)], [SERVICE])
    assert [one["object"]["kind"] for one in found["generated"]] == [
        "CiliumNetworkPolicy",
        "NetworkPolicy",
    ]


def test_an_unscored_policy_in_cel_only_warns(run):
    unscored = {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "ValidatingPolicy",
        "metadata": {"name": "p", "annotations": {"policies.kyverno.io/scored": "false"}},
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["services"],
                    }
                ]
            },
            "validations": [{"expression": "false", "message": "no"}],
        },
    }
    _, found = run([unscored], [SERVICE])
    assert [one["result"] for one in found["results"]] == ["warn"]
    assert found["summary"] == {"pass": 0, "fail": 0, "warn": 1, "error": 0, "skip": 0}
    assert found["ending"]["exitStatus"] == 0


@pytest.mark.parametrize("kind", ["Ingress", "Ing*", "*"])
def test_targets_of_any_kind_are_found(run, kind):
    """The reference's stand-in for a cluster knows a kind by its name and an `s` alone."""
    ingress = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "entry", "namespace": "shop"},
        "spec": {"rules": []},
    }
    target = {"apiVersion": "networking.k8s.io/v1", "kind": kind}
    patch = {"metadata": {"labels": {"owner": "web"}}}
    mutate = {"targets": [target], "patchStrategicMerge": patch}
    rule = {"name": "label", "match": KINDS, "mutate": mutate}
    _, said = run([policy(rule)], [SERVICE, ingress])
    assert [one["message"] for one in said["results"]] == [
        "mutated Ingress/entry in namespace shop"
    ]
