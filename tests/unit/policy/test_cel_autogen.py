"""Variants for the controllers of Pods."""

import pytest

from kyvsim.policy.cel_autogen import (
    custom_workload,
    extraction_variants,
    mutation_variants,
    pod_templates,
    variants,
)
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


# Custom workloads


def extracted(*controllers, **more):
    spec = {
        "matchConstraints": {"resourceRules": [more.pop("rule", RULE)], **more},
        "autogen": {"podControllers": {"controllers": list(controllers)}},
        "validations": [{"expression": "object.spec.x"}],
    }
    return [one.spec.data for one in extraction_variants(read_cel_policy(spec))]


def test_custom_workloads_have_one_variant_whose_expressions_stay():
    names = ("b.v1.two.io", "jobs", "a.v1.one.io", "c.v1.one.io", "d.v2.one.io")
    (found,) = extracted(*names, namespaceSelector={"matchLabels": {"a": "b"}})
    assert found["validations"] == [{"expression": "object.spec.x"}]
    constraints = found["matchConstraints"]
    assert constraints["namespaceSelector"] == {"matchLabels": {"a": "b"}}
    rules = constraints["resourceRules"]
    assert {tuple(one["operations"]) for one in rules} == {("CREATE",)}
    assert [(one["apiGroups"], one["apiVersions"], one["resources"]) for one in rules] == [
        (["one.io"], ["v1"], ["a", "c"]),
        (["one.io"], ["v2"], ["d"]),
        (["two.io"], ["v1"], ["b"]),
    ]


@pytest.mark.parametrize("name", ["jobs", "jobsets", "jobsets.v1", ".v1.a", "a..b", "a.v1."])
def test_other_names_have_no_such_variant(name):
    assert extracted(name) == []


def test_neither_do_policies_on_more_than_pods():
    assert extracted("a.v1.b.io", rule={**RULE, "resources": ["pods", "services"]}) == []


def test_the_group_of_a_custom_workload_may_have_dots():
    assert custom_workload("jobsets.v1alpha2.jobset.x-k8s.io") == (
        "jobset.x-k8s.io",
        "v1alpha2",
        "jobsets",
    )


TEMPLATE = {"spec": {"containers": [{"name": "c", "image": ""}]}}


@pytest.mark.parametrize(
    ("spec", "paths"),
    [
        ({"a": TEMPLATE, "b": [1, {"c": TEMPLATE}]}, ["spec.a", "spec.b[1].c"]),
        ({"a": [[TEMPLATE]]}, ["spec.a[0][0]"]),
        (TEMPLATE, ["spec"]),
        ({"a": {**TEMPLATE, "inner": TEMPLATE}}, ["spec.a"]),
        ({"a": {**TEMPLATE, "metadata": {}}}, ["spec.a"]),
        ({"a": {**TEMPLATE, "metadata": None}}, []),
        (TEMPLATE["spec"], []),
        ({"a": {"spec": {"containers": []}}}, []),
        ({"a": {"spec": {"containers": {}}}}, []),
        ({"a": {"spec": {"containers": [{"name": "", "image": "x"}]}}}, []),
        ({"a": {"spec": {"containers": [{"name": "c"}]}}}, []),
        ({"a": {"spec": {"containers": ["c"]}}}, []),
        ({"a": {"spec": {"initContainers": [{"name": "c", "image": "x"}]}}}, []),
        ([TEMPLATE], []),
        ("text", []),
    ],
)
def test_pod_templates_are_mappings_that_look_like_one(spec, paths):
    assert [*pod_templates({"spec": spec, "status": {"a": TEMPLATE}})] == paths


def test_what_is_no_object_has_no_templates():
    assert pod_templates(None) == {}
    assert pod_templates({}) == {}
