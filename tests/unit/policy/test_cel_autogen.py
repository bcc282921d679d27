"""Variants for the controllers of Pods."""

import pytest

from kyvsim.policy.cel_autogen import mutation_variants, variants
from kyvsim.policy.cel_policy import read_cel_policy

# autogen


RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}


def derived(text="true", rule=RULE, **more):
    spec = {
        "matchConstraints": {"resourceRules": [rule], **more.pop("constraints", {})},
        "validations": [{"expression": text}],
        **more,
    }
    return {one.name: one.spec.data for one in variants(read_cel_policy(spec))}


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


def test_autogen_cron_jobs_have_a_longer_way():
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


# mutation variants


WRAPPED = "Object{spec: Object.spec{template: Object.spec.template{"


def derived_mutation_variants(text):
    spec = {
        "matchConstraints": {"resourceRules": [RULE]},
        "matchConditions": [{"name": "c", "expression": text}],
        "variables": [{"name": "v", "expression": text}],
        "mutations": [
            {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": text}},
            {"patchType": "JSONPatch", "jsonPatch": {"expression": text}},
        ],
    }
    return {one.name: one.spec.data for one in mutation_variants(read_cel_policy(spec))}


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("object.spec.x", "object.spec.template.spec.x"),
        ("oldObject.metadata.labels", "oldObject.spec.template.metadata.labels"),
        ("Object.metadata.annotations{}", "Object.spec.template.metadata.annotations{}"),
        ("object.metadata.name", "object.metadata.name"),
        ("xobject.spec", "xobject.spec"),
        ("Object{}", "Object{}"),
        (
            "Object{spec: Object.spec{a: 1}}",
            WRAPPED + "spec: Object.spec.template.spec{a: 1}}}}",
        ),
        ("Object {a: 1} ", WRAPPED + "a: 1}}}"),
        ("Object{a: '}'}", WRAPPED + "a: '}}}'}"),
        ("true ? Object{a: 1} : Object{}", "true ? Object{a: 1} : Object{}"),
    ],
)
def test_expressions(text, changed):
    spec = derived_mutation_variants(text)["defaults"]
    assert spec["mutations"][0]["applyConfiguration"]["expression"] == changed
    assert spec["matchConditions"] == [{"name": "c", "expression": changed}]


def test_variables_and_json_patches_stay_as_they_are():
    spec = derived_mutation_variants("object.spec.x")["defaults"]
    assert spec["variables"] == [{"name": "v", "expression": "object.spec.x"}]
    assert spec["mutations"][1]["jsonPatch"] == {"expression": "object.spec.x"}


def test_mutation_variants_cron_jobs_have_a_longer_way():
    found = derived_mutation_variants("Object{a: 1}")["cronjobs"]["mutations"][0][
        "applyConfiguration"
    ]
    way = "Object{spec: Object.spec{jobTemplate: Object.spec.jobTemplate{spec: "
    assert found["expression"] == (
        f"{way}Object.spec.jobTemplate.spec{{template: "
        "Object.spec.jobTemplate.spec.template{a: 1}}}}}"
    )
