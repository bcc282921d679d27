"""What `lint` tells of bindings beside the policies that they are for."""

import json

import pytest

from kyvsim.api.lint import lint
from kyvsim.linting.references import powerless_exceptions

# bindings


VERSION = "admissionregistration.k8s.io/v1"
PODS = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}


def policy(name):
    spec = {
        "matchConstraints": {"resourceRules": [PODS]},
        "validations": [{"expression": "has(object.spec)"}],
    }
    kind = "ValidatingAdmissionPolicy"
    return {"apiVersion": VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def binding(name, actions=("Deny",)):
    kind = "ValidatingAdmissionPolicyBinding"
    spec = {"policyName": name, "validationActions": [*actions]}
    return {"apiVersion": VERSION, "kind": kind, "metadata": {"name": f"b-{name}"}, "spec": spec}


@pytest.fixture
def told(tmp_path):
    """Return what gives the codes that are told of objects in one file."""

    def ask(*objects):
        file = tmp_path / "all.json"
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*objects]}))
        return sorted(one.code for one in lint([str(file)]).diagnostics)

    return ask


@pytest.mark.parametrize(
    ("objects", "found"),
    [
        ([policy("a"), binding("a")], []),
        ([policy("a")], []),
        ([binding("a")], []),
        ([policy("a"), policy("b"), binding("a")], ["KV265"]),
        ([policy("a"), binding("b")], ["KV167", "KV265"]),
        ([policy("a"), binding("a"), binding("b")], ["KV167"]),
    ],
)
def test_policies_and_bindings(told, objects, found):
    assert told(*objects) == found


@pytest.mark.parametrize(
    ("actions", "found"),
    [
        (["Deny", "Warn"], ["KV266"]),
        (["Audit", "Deny", "Warn"], ["KV266"]),
        (["Audit", "Audit"], ["KV016"]),
        (["Audit", "Stop"], ["KV014"]),
        (["Deny", "Audit"], []),
        (["Warn", "Audit"], []),
    ],
)
def test_actions_that_a_cluster_refuses(told, actions, found):
    assert told(policy("a"), binding("a", actions)) == found


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ({**PODS, "resources": ["pods", "services"]}, ["KV269"]),
        ({**PODS, "operations": ["DELETE"]}, ["KV269"]),
        ({**PODS, "operations": ["*"]}, []),
        ({**PODS, "resources": ["*"]}, []),
        ({**PODS, "apiVersions": ["v1beta1"]}, []),
        (PODS, []),
    ],
)
def test_bindings_that_are_wider_than_their_policy(told, rule, found):
    bound = binding("a")
    bound["spec"]["matchResources"] = {"resourceRules": [rule]}
    assert told(policy("a"), bound) == found


# exception kinds


def test_rules_are_derived_once_for_each_policy(policy, exception):
    """Their number grows with the policies, not with the exceptions that name them."""
    derived = []
    named = policy({"validate": {"message": "no", "deny": {}}})
    exceptions = [exception(named.key, "r", name=f"e{n}") for n in range(5)]
    found = powerless_exceptions(exceptions, (named,), lambda one: derived.append(one) or ())
    assert [*found] == []
    assert derived == [named]


def excepting(kinds, *rules):
    match = {"any": [{"resources": {"kinds": ["Pod"]}}]}
    pattern = {"spec": {"=(hostNetwork)": False}}
    rule = {"name": "check", "match": match, "validate": {"message": "no", "pattern": pattern}}
    metadata = {"name": "hostnet"}
    policy = {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": metadata}
    spec = {
        "match": {"any": [{"resources": {"kinds": kinds}}]},
        "exceptions": [{"policyName": "hostnet", "ruleNames": one} for one in rules],
    }
    exception = {"apiVersion": "kyverno.io/v2", "kind": "PolicyException", "spec": spec}
    named = {**exception, "metadata": {"name": "a", "namespace": "b"}}
    return {**policy, "spec": {"rules": [rule]}}, named


@pytest.mark.parametrize(
    ("kinds", "rules", "found"),
    [
        (["Pod", "Deployment"], [["check"]], ["KV226"]),
        (["Pod", "Job", "CronJob"], [["check", "autogen-check"]], ["KV226"]),
        (["Pod", "Deployment"], [["check", "autogen-check"]], []),
        (["Pod", "Deployment"], [["check"], ["autogen-check"]], []),
        (["Pod", "Deployment"], [["*check"]], []),
        (["Pod"], [["check"]], []),
        (["Pod", "Service"], [["check"]], []),
        (["Deployment"], [["autogen-check"]], []),
    ],
)
def test_kinds_that_only_an_autogen_rule_matches(told, kinds, rules, found):
    assert told(*excepting(kinds, *rules)) == found
