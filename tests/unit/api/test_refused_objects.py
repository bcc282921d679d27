"""Objects that an API server refuses: one warning for each kind and cause."""

import pytest
import yaml

from kyvsim.api import ApplyInputs, open_application
from kyvsim.api.lint import lint
from kyvsim.api.refused_objects import refused_objects
from kyvsim.model.source import Document, Location

OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u"}


def pod(metadata=(), container=(), **spec):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", **dict(metadata)},
        "spec": {"containers": [{"name": "c", "image": "x", **dict(container)}], **spec},
    }


def thing(**metadata):
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t", **metadata}}


def told(*objects):
    documents = [
        Document(data, "r.yaml", index, lambda path: Location("/".join(map(str, path))))
        for index, data in enumerate(objects)
    ]
    return [(one.code, one.location.file, one.message) for one in refused_objects(documents)]


@pytest.mark.parametrize(
    ("obj", "path", "what"),
    [
        (pod({"labels": {"n": 1.0}}), "metadata/labels/n", "must be a string, not a number"),
        (
            pod({"annotations": {"n": True}}),
            "metadata/annotations/n",
            "must be a string, not a boolean",
        ),
        (pod({"finalizers": "x"}), "metadata/finalizers", "must be a list, not a string"),
        (pod({"name": "A_b"}), "metadata/name", "is invalid: "),
        (pod({"labels": {"a": "b c"}}), "metadata/labels", "is invalid: "),
        (pod(hostNetwork="true"), "spec/hostNetwork", "must be a boolean, not a string"),
        (pod(containers={"a": "b"}), "spec/containers", "must be a list, not an object"),
        (
            pod(container={"ports": [{"containerPort": "80"}]}),
            "spec/containers/0/ports/0/containerPort",
            "must be a number, not a string",
        ),
        (
            pod(container={"env": [{"name": "A", "value": 5}]}),
            "spec/containers/0/env/0/value",
            "must be a string, not an integer",
        ),
        (pod(container={"name": ""}), "spec/containers/0", "has an element without `name`"),
        (
            pod({"ownerReferences": [{**OWNER, "uid": ""}]}),
            "metadata/ownerReferences/0",
            "has an element without `uid`",
        ),
        (
            thing(ownerReferences=[{"name": "a", "kind": "B", "uid": "c"}]),
            "metadata/ownerReferences/0",
            "has an element without `apiVersion`",
        ),
        (thing(labels=[1]), "metadata/labels", "must be a map, not an array"),
    ],
)
def test_what_no_request_gets_past(obj, path, what):
    ((code, place, message),) = told(obj)
    assert (code, place) == ("KV233", path)
    field = ".".join(step for step in path.split("/") if not step.isdecimal())
    assert message.startswith(f"an API server refuses this {obj['kind']}: `{field}` {what}")


@pytest.mark.parametrize(
    "obj",
    [
        pod(),
        pod({"ownerReferences": [OWNER], "labels": {"a.b/c": "D-e_1"}, "annotations": {"x": ""}}),
        pod(container={"resources": {"limits": {"cpu": 1, "memory": "1Gi"}}, "unknown": 1}),
        pod(container={"livenessProbe": {"httpGet": {"port": 80}}}, nodeName=None),
        pod({"generateName": "a-", "name": None}),
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {}},
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "a"},
            "spec": {"ports": [{"port": 1, "targetPort": "x"}]},
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": {"name": "system:a"},
        },
        thing(),
        {"kind": "Thing"},
    ],
)
def test_what_is_left_out_or_unknown_is_no_fault(obj):
    assert told(obj) == []


def test_one_warning_for_each_kind_and_cause_has_the_first_as_an_example():
    ((_, _, message),) = told(pod({"name": "A"}), pod({"name": "B"}))
    assert '`metadata.name` is invalid (2 times): "A": a lowercase RFC 1123' in message


def test_one_warning_for_each_kind_and_cause():
    objects = [pod({"name": f"p{n}", "labels": {"n": n}}) for n in range(3)]
    assert [
        message.partition(": ")[2] for *_, message in told(*objects, thing(labels={"n": 1}))
    ] == [
        "`metadata.labels.n` must be a string, not an integer (3 times)",
        "`metadata.labels.n` must be a string, not an integer",
    ]


@pytest.fixture
def written(tmp_path):
    def write(name, data):
        path = tmp_path / name
        path.write_text(yaml.safe_dump(data), encoding="utf-8")
        return str(path)

    return write


POLICY = {
    "apiVersion": "kyverno.io/v1",
    "kind": "ClusterPolicy",
    "metadata": {"name": "p"},
    "spec": {
        "background": False,
        "rules": [
            {
                "name": "r",
                "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
                "validate": {"message": "m", "deny": {}},
            }
        ],
    },
}


def test_verdicts_stay_and_strict_makes_it_an_error(written):
    inputs = ApplyInputs(
        (written("p.yaml", POLICY),), (written("r.yaml", pod({"labels": {"n": 1}})),)
    )
    run = open_application(inputs)
    assert [one.code for one in run.diagnostics] == ["KV233"]
    assert [one.severity.value for one in run.strictly().diagnostics] == ["error"]
    (response,) = run.responses
    assert [one.status.value for answer in response.responses for one in answer.results] == ["fail"]


NATIVE = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicy",
    "metadata": {"name": "v"},
    "spec": {
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
        "validations": [{"expression": "object.metadata.name != 'a'"}],
    },
}
IN_CEL = {**NATIVE, "apiVersion": "policies.kyverno.io/v1", "kind": "ValidatingPolicy"}


@pytest.mark.parametrize("policy", [POLICY, IN_CEL, NATIVE], ids=["rules", "CEL", "Kubernetes"])
@pytest.mark.parametrize(
    ("metadata", "code", "place"),
    [
        ({"ownerReferences": [{"kind": "A", "name": "b", "apiVersion": "v1"}]}, "KV015", "uid"),
        ({"ownerReferences": [{"uid": "A", "name": "b", "apiVersion": "v1"}]}, "KV015", "kind"),
        ({"labels": {"a": 1}}, "KV013", "metadata.labels.a"),
        ({"finalizers": "a"}, "KV013", "metadata.finalizers"),
    ],
)
def test_policies_are_refused_with_their_place(written, policy, metadata, code, place):
    data = {**policy, "metadata": {**policy["metadata"], **metadata}}
    (found,) = lint([written("p.yaml", data)]).diagnostics
    assert (found.code, found.severity.value) == (code, "error")
    assert place in found.message
    assert found.location.line > 1
