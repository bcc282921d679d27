"""What `lint` says of Kubernetes' admission policies that compile."""

import json

import pytest

from kyvsim.api.lint import lint

PODS = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["pods"],
    "operations": ["CREATE"],
}
CONTROLLERS = {
    **PODS,
    "apiGroups": ["apps", "batch"],
    "resources": ["deployments", "daemonsets", "statefulsets", "replicasets", "jobs"],
}
IMAGES = "object.spec.containers.all(c, c.image.startsWith('r/'))"


@pytest.fixture
def told(tmp_path):
    """Return what gives the codes that are told of a policy."""

    def ask(kind, rules, **spec):
        head = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind}
        constraints = {"resourceRules": rules}
        file = tmp_path / "p.json"
        body = {"metadata": {"name": "p"}, "spec": {"matchConstraints": constraints, **spec}}
        file.write_text(json.dumps({**head, **body}))
        return [one.code for one in lint([str(file)]).diagnostics]

    return ask


def validated(*texts):
    return {"validations": [{"expression": text} for text in texts]}


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        (validated("has(object.spec)"), []),
        (validated("true"), ["KV240"]),
        (validated("false", "has(object.spec)"), []),
        (
            {**validated("has(object.spec)"), "variables": [{"name": "v", "expression": "1"}]},
            ["KV242"],
        ),
        (validated("oldObject.spec.dnsPolicy == 'None'"), ["KV248"]),
        (validated("oldObject == null || oldObject.spec.dnsPolicy == 'None'"), []),
        (validated("object == null || has(object.spec)"), []),
        (validated("object.spec.priority + 1 > 3"), ["KV252"]),
        (validated(IMAGES), ["KV257"]),
        (validated(IMAGES + " && !has(object.spec.initContainers)"), []),
        (
            {"validations": [{"expression": "has(object.spec)", "message": "m"}]},
            [],
        ),
        (
            {
                "validations": [
                    {"expression": "has(object.spec)", "message": "m", "messageExpression": "'n'"}
                ]
            },
            [],
        ),
        (
            {
                **validated("has(object.spec)"),
                "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
            },
            [],
        ),
        (validated("object.spec ||"), ["KV156"]),
    ],
)
def test_validations(told, spec, found):
    assert told("ValidatingAdmissionPolicy", [PODS], **spec) == found


TEMPLATES = validated("has(object.spec.template.spec.hostNetwork)")


@pytest.mark.parametrize(
    ("rules", "spec", "found"),
    [
        ([CONTROLLERS], TEMPLATES, ["KV268"]),
        ([CONTROLLERS, PODS], TEMPLATES, []),
        ([CONTROLLERS, {**PODS, "resources": ["replicationcontrollers"]}], TEMPLATES, []),
        ([{**CONTROLLERS, "resources": CONTROLLERS["resources"][:3]}], TEMPLATES, []),
        ([CONTROLLERS, {**PODS, "resources": ["*"]}], TEMPLATES, []),
        ([CONTROLLERS], validated("has(object.metadata.labels)"), []),
    ],
)
def test_controllers_that_are_named(told, rules, spec, found):
    assert told("ValidatingAdmissionPolicy", rules, **spec) == found


REPLACED = "[JSONPatch{op: 'replace', path: '/metadata/labels/a', value: 'b'}]"
LABELS = "JSONPatch{op: 'add', path: '/metadata/labels', value: {}}"
ATOMIC = "Object{spec: Object.spec{tolerations: []}}"
UNKNOWN = "Object{spec: Object.spec{nodeselector: {'a': 'b'}}}"


@pytest.mark.parametrize(
    ("field", "text", "found"),
    [
        ("jsonPatch", REPLACED, ["KV261"]),
        ("jsonPatch", REPLACED.replace("]", f", {LABELS}]"), ["KV267", "KV382"]),
        (
            "jsonPatch",
            f"has(object.metadata.labels) && has(object.metadata.labels.a) ? {REPLACED} : []",
            [],
        ),
        ("jsonPatch", "[JSONPatch{op: 'add', path: '/spec/nodeselector', value: {}}]", ["KV260"]),
        ("applyConfiguration", ATOMIC, ["KV258"]),
        ("applyConfiguration", UNKNOWN, ["KV259"]),
        ("applyConfiguration", "Object{spec: Object.spec{hostNetwork: false}}", []),
    ],
)
def test_mutations(told, field, text, found):
    types = {"jsonPatch": "JSONPatch", "applyConfiguration": "ApplyConfiguration"}
    mutation = {"patchType": types[field], field: {"expression": text}}
    spec = {"mutations": [mutation], "reinvocationPolicy": "Never"}
    assert told("MutatingAdmissionPolicy", [PODS], **spec) == found


@pytest.fixture
def checked(tmp_path):
    """Return what checks a policy with audit annotations and a binding with match resources."""

    def check(annotations, matching):
        spec = {
            "variables": [{"name": "own", "expression": "string(object.metadata.name)"}],
            "validations": [{"expression": "object.metadata.name != 'x'"}],
            "auditAnnotations": [
                {"key": f"k{index}", "valueExpression": text}
                for index, text in enumerate(annotations)
            ],
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["pods"],
                    }
                ]
            },
        }
        bound = {"policyName": "v", "validationActions": ["Deny"], "matchResources": matching}
        documents = [
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": kind,
                "metadata": {"name": "v"},
                "spec": one,
            }
            for kind, one in (
                ("ValidatingAdmissionPolicy", spec),
                ("ValidatingAdmissionPolicyBinding", bound),
            )
        ]
        file = tmp_path / "p.yaml"
        file.write_text("\n---\n".join(map(json.dumps, documents)))
        return [(one.code, one.severity.value) for one in lint([str(file)]).diagnostics]

    return check


@pytest.mark.parametrize(
    ("annotations", "matching", "found"),
    [
        (["variables.own"], {"objectSelector": {"matchLabels": {"a": "b"}}}, []),
        (["variables.own + nope", "variables.other"], {}, [("KV156", "error")] * 2),
        (["object.metadata."], {}, [("KV156", "error")]),
        (["'a' + variables.own", "null"], {}, []),
        (["1 + 1", "true", "object.metadata.name", "['a']"], {}, [("KV156", "error")] * 4),
        (
            ["variables.own"],
            {"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "Exist"}]}},
            [("KV161", "error")],
        ),
        (
            ["variables.own"],
            {"objectSelector": {"matchLabels": {"a b": "c"}}},
            [("KV161", "error")],
        ),
    ],
)
def test_audit_annotations_and_selectors_of_bindings(checked, annotations, matching, found):
    assert checked(annotations, matching) == found
