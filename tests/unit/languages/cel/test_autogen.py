"""Variants for the controllers of Pods."""

import pytest

from kyvsim.languages.cel.autogen import variants

RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}


def derived(text="true", rule=RULE, **more):
    spec = {
        "matchConstraints": {"resourceRules": [rule], **more.pop("constraints", {})},
        "validations": [{"expression": text}],
        **more,
    }
    return {one.name: one.spec for one in variants(spec)}


TEXTS = [
    ("object.spec.x", "object.spec.template.spec.x"),
    ("oldObject.spec", "oldObject.spec.template.spec"),
    ("object.specs", "object.spec.template.specs"),
    ("object.metadata.labels", "object.spec.template.metadata.labels"),
    ("object.metadata.namespace == 'a'", "object.metadata.namespace == 'a'"),
    ("object.metadata.namespaceX", "object.spec.template.metadata.namespaceX"),
    ("object.?spec", "object.?spec"),
    ("request.object.spec", "request.object.spec.template.spec"),
]


@pytest.mark.parametrize(("text", "changed"), TEXTS)
def test_texts(text, changed):
    assert derived(text)["defaults"]["validations"] == [{"expression": changed}]


def test_cron_jobs_have_a_longer_way():
    way = "object.spec.jobTemplate.spec.template.spec"
    assert derived("object.spec")["cronjobs"]["validations"] == [{"expression": way}]


def test_the_order_and_the_constraints():
    found = derived(constraints={"namespaceSelector": {"matchLabels": {"a": "b"}}})
    assert list(found) == ["cronjobs", "defaults"]
    constraints = found["defaults"]["matchConstraints"]
    assert constraints["namespaceSelector"] == {"matchLabels": {"a": "b"}}
    assert [(one["apiGroups"], one["resources"]) for one in constraints["resourceRules"]] == [
        (["apps"], ["daemonsets", "deployments", "replicasets", "statefulsets"]),
        (["batch"], ["jobs"]),
    ]


@pytest.mark.parametrize(
    "more",
    [
        {"rule": {**RULE, "resources": ["pods", "pods/ephemeralcontainers"]}},
        {"rule": {**RULE, "resources": ["*"]}},
        {"rule": {**RULE, "resourceNames": ["a"]}},
        {"constraints": {"objectSelector": {"matchLabels": {"a": "b"}}}},
        {"constraints": {"excludeResourceRules": [RULE]}},
        {"autogen": {"podControllers": {"controllers": []}}},
    ],
    ids=str,
)
def test_policies_that_are_not_derived(more):
    assert derived(**more) == {}


def test_unknown_controllers_are_passed_over():
    more = {"autogen": {"podControllers": {"controllers": ["jobs", "robots"]}}}
    assert list(derived(**more)) == ["defaults"]
