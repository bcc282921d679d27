"""What is told of namespaces that are not there, and of templates that are not filled in."""

import pytest

PODS = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["pods"],
    "operations": ["CREATE", "UPDATE"],
}
VOLUMES = {**PODS, "resources": ["persistentvolumes"]}
NAME = "namespaceObject.metadata.name == 'a'"


@pytest.mark.parametrize(
    ("text", "rules", "found"),
    [
        (NAME, [VOLUMES], ["KV262"]),
        (NAME, [{**PODS, "resources": ["persistentvolumes", "pods"]}], ["KV262"]),
        ("has(namespaceObject.metadata.labels)", [VOLUMES], ["KV262"]),
        (NAME, [PODS], []),
        (NAME, [{**PODS, "resources": ["namespaces"]}], []),
        (NAME, [{**PODS, "resources": ["*"]}], []),
        (f"namespaceObject == null || {NAME}", [VOLUMES], []),
        (f"!has(namespaceObject.metadata) || {NAME}", [VOLUMES], []),
        (f"object.kind != 'Pod' || {NAME}", [VOLUMES, PODS], []),
        (f"!has(object.metadata.namespace) || {NAME}", [VOLUMES, PODS], []),
        ("namespaceObject.?metadata.?name.orValue('') == 'a'", [VOLUMES], []),
    ],
)
def test_fields_of_a_namespace(written, text, rules, found):
    spec = {"matchConstraints": {"resourceRules": rules}, "validations": [{"expression": text}]}
    assert [code for code, _ in written("ValidatingPolicy", spec)] == found


@pytest.mark.parametrize(
    ("text", "interpolate", "found"),
    [
        ("((object.metadata.name))", "none", ["KV263"]),
        ("a-(( request.namespace ))-b", "none", ["KV263"]),
        ("((string(object.metadata.name)))", "none", ["KV263"]),
        ("((object.metadata.name))", "cel", []),
        ("(( kept as it is ))", "none", []),
        ("((a))", "none", []),
        ("$((object.a + 1))", "none", []),
        (r"\((object.metadata.name))", "none", []),
    ],
)
def test_templates(written, text, interpolate, found):
    value = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n  a: {text}\n"
    template = {"value": value, "interpolate": interpolate}
    spec = {
        "matchConstraints": {"resourceRules": [PODS]},
        "generate": [{"template": template}],
    }
    assert [code for code, _ in written("GeneratingPolicy", spec)] == found
