"""Resource names that nothing knows."""

import pytest

from kyvsim.languages import unknown_resources
from kyvsim.model.diagnostic import Severity
from kyvsim.model.policy import Binding, Policy, PolicyFacts
from kyvsim.model.source import Document, Location

OX = {"apiVersion": "farm.example/v1", "kind": "Ox", "metadata": {"name": "a"}}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "oxen.farm.example"},
    "spec": {"group": "farm.example", "names": {"kind": "Ox", "plural": "oxen"}},
}


def policy_for(group, *resources, field="resourceRules"):
    rule = {"apiGroups": [group], "apiVersions": ["v1"], "resources": list(resources)}
    document = Document({}, "p.yaml", 0, lambda path: Location("/".join(map(str, path))))
    spec = {"matchConstraints": {field: [rule]}}
    facts = PolicyFacts("policies.kyverno.io/v1")
    return Policy("ValidatingPolicy", "p", "", {}, spec, (), document, facts)


def told(group, *resources, objects=(), field="resourceRules"):
    found = unknown_resources([policy_for(group, *resources, field=field)], objects)
    return [(one.code, one.location.file.rpartition("/")[2], one.message) for one in found]


SLIPS = [
    ("", "Pod", "did you mean `pods`?"),
    ("", "pod/exec", "did you mean `pods`?"),
    ("", "congifmaps", "did you mean `configmaps`?"),
    ("", "deployments", "it is a resource in apiGroup `apps`"),
    ("apps", "pods", 'it is a resource in the core apiGroup (`""`)'),
    ("", "pod", '`pod` in the core apiGroup (`""`): did you mean `pods`?'),
    ("*", "Deployment", "did you mean `deployments`?"),
]


@pytest.mark.parametrize(("group", "resource", "meant"), SLIPS)
def test_a_slip_is_told_with_what_was_meant(group, resource, meant):
    ((code, place, message),) = told(group, "*", resource)
    assert (code, place) == ("KV163", "1")
    assert message.endswith(meant)


@pytest.mark.parametrize("resource", ["pods", "*", "pods/*", "*/*", "pods/ephemeralcontainers"])
def test_what_is_known_is_no_matter(resource):
    assert told("", resource) == []
    assert told("*", resource) == []


def test_resources_without_a_definition_are_one_note_that_fails_no_strict_run():
    assert [one[0] for one in told("farm.example", "oxen", objects=[OX])] == ["KV164"]
    found = list(unknown_resources([policy_for("farm.example", "oxen", "cows", "oxen")], [OX]))
    assert [(one.code, one.severity) for one in found] == [("KV164", Severity.INFO)]
    assert "2 resources are not built in" in found[0].message
    assert "`cows.farm.example`, `oxen.farm.example`" in found[0].message
    assert [one[0] for one in told("farm.example", "oxen", field="excludeResourceRules")]


@pytest.mark.parametrize(("resource", "objects"), [("oxen", [DEFINITION]), ("oxs", [OX])])
def test_definitions_and_objects_make_resources_known(resource, objects):
    assert told("farm.example", resource, objects=objects) == []


def test_kyvernos_own_kinds_are_known():
    assert told("policies.kyverno.io", "validatingpolicies") == []
    assert told("kyverno.io", "clusterpolicies", "policies") == []


def test_names_in_bindings_are_looked_at_too():
    document = Document({}, "b.yaml", 0, lambda path: Location("/".join(map(str, path))))
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["Pod"]}
    kind = "ValidatingAdmissionPolicyBinding"
    match = {"resourceRules": [rule]}
    found = list(unknown_resources((), (), [Binding(kind, "b", "p", match, None, document)]))
    assert [one.code for one in found] == ["KV163"]
    assert found[0].location.file == "spec/matchResources/resourceRules/0/resources/0"
    assert not list(unknown_resources((), (), [Binding(kind, "b", "p", None, None, document)]))
