"""Variants of MutatingPolicies for the controllers of Pods."""

import pytest

from kyvsim.languages.cel.autogen import mutation_variants

RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
WRAPPED = "Object{spec: Object.spec{template: Object.spec.template{"


def derived(text):
    spec = {
        "matchConstraints": {"resourceRules": [RULE]},
        "matchConditions": [{"name": "c", "expression": text}],
        "variables": [{"name": "v", "expression": text}],
        "mutations": [
            {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": text}},
            {"patchType": "JSONPatch", "jsonPatch": {"expression": text}},
        ],
    }
    return {one.name: one.spec for one in mutation_variants(spec)}


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
    spec = derived(text)["defaults"]
    assert spec["mutations"][0]["applyConfiguration"]["expression"] == changed
    assert spec["matchConditions"] == [{"name": "c", "expression": changed}]


def test_variables_and_json_patches_stay_as_they_are():
    spec = derived("object.spec.x")["defaults"]
    assert spec["variables"] == [{"name": "v", "expression": "object.spec.x"}]
    assert spec["mutations"][1]["jsonPatch"] == {"expression": "object.spec.x"}


def test_cron_jobs_have_a_longer_way():
    found = derived("Object{a: 1}")["cronjobs"]["mutations"][0]["applyConfiguration"]
    way = "Object{spec: Object.spec{jobTemplate: Object.spec.jobTemplate{spec: "
    assert found["expression"] == (
        f"{way}Object.spec.jobTemplate.spec{{template: "
        "Object.spec.jobTemplate.spec.template{a: 1}}}}}"
    )
