"""Policies of mode JSON over payloads, and over objects as if they were payloads."""

import json

import pytest

from kyvsim.api import ApplyInputs, open_application
from kyvsim.load.files import Source
from kyvsim.model.request import PayloadMode

POD = "{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop}}"


def policy(spec, kind="ValidatingPolicy"):
    """Return a policy of mode JSON."""
    text = {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": kind,
        "metadata": {"name": "p"},
        "spec": {"evaluation": {"mode": "JSON"}, **spec},
    }
    return Source("policy.yaml", json.dumps(text))


def run(given, *payloads, **more):
    """Return (rule, status, message) of all results, and the codes of what is told."""
    paths = tuple((PayloadMode.JSON, Source("p.json", json.dumps(one))) for one in payloads)
    found = open_application(ApplyInputs((given,), payloads=paths)._replace(**more))
    rows = [
        (result.rule.name, result.status.value, result.message)
        for response in found.responses
        for answer in response.responses
        for result in answer.results
    ]
    return rows, [one.code for one in found.diagnostics]


def expecting(test, **more):
    return policy({"validations": [{"expression": test, "message": "no"}], **more})


@pytest.mark.parametrize(
    ("test", "row"),
    [
        ("object.a > 1", ("", "pass", "success")),
        ("object.a > 2", ("", "fail", "no")),
        ("object.b == 1", ("", "error", "error: no such key: b")),
        ("oldObject == dyn(null)", ("", "pass", "success")),
        ("request.operation == 'CREATE'", ("", "error", "error: no such key: operation")),
        ("namespaceObject.metadata.name == ''", ("", "error", "error: no such key: metadata")),
    ],
)
def test_what_expressions_see(test, row):
    assert run(expecting(test), {"a": 2})[0] == [row]


def test_constraints_do_not_count_and_conditions_do():
    constraints = {
        "resourceRules": [
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "operations": ["CREATE"],
                "resources": ["configmaps"],
            }
        ]
    }
    assert run(expecting("true", matchConstraints=constraints), {})[0] == [("", "pass", "success")]
    unmet = [{"name": "a", "expression": "object.a == 1"}]
    assert run(expecting("true", matchConditions=unmet), {"a": 2.5})[0] == [("", "skip", "skip")]


def test_objects_are_judged_as_payloads():
    rows, _ = run(expecting("object.kind == 'Pod'"), resources=(Source("r.yaml", POD),))
    assert rows == [("", "pass", "success")]


def test_policies_on_objects_say_nothing_of_payloads():
    given = policy({"validations": [{"expression": "false"}], "evaluation": {}})
    assert run(given, {"a": 1})[0] == []


@pytest.mark.parametrize("payload", [{"kind": 5, "metadata": "x", "apiVersion": []}, {}])
def test_payloads_need_not_look_like_objects(payload):
    assert run(expecting("true"), payload)[0] == [("", "pass", "success")]


def images(test, **more):
    spec = {"attestors": [], "validations": [{"expression": test}]}
    return policy({**spec, **more}, "ImageValidatingPolicy")


def test_images_of_a_payload_are_what_expressions_find():
    found = [{"name": "all", "expression": "object.images"}]
    assert run(images("true", images=found), {"images": ["nginx:1"]})[0] == [
        ("p", "fail", "image nginx:1 does not have a digest")
    ]
    assert run(images("images == {}"), {"spec": {"containers": [{"image": "nginx:1"}]}})[0] == [
        ("p", "pass", "success")
    ]


def test_image_policies_on_payloads_know_no_request():
    rows, codes = run(images("request.operation == 'CREATE'"), {})
    assert rows[0][:2] == ("evaluation", "error")
    assert "undeclared reference to 'request'" in rows[0][2]
    assert "KV150" in codes
