"""Objects whose fields have wrong types are refused as by an API server that cannot read them."""

import pytest

from kyvsim.simulator.api_server.validation import refuse_change, refuse_unreadable


def thing(api_version, kind, **fields):
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, **fields}


def container(**fields):
    return {"containers": [{"name": "a", "image": "b", **fields}]}


@pytest.mark.parametrize(
    ("obj", "problem"),
    [
        (
            thing("v1", "Pod", spec=container(resources={"limits": "a"})),
            "json: cannot unmarshal string into Go struct field ",
        ),
        (
            thing("apps/v1", "Deployment", spec={"selector": {"matchLabels": "x"}}),
            "json: cannot unmarshal string into Go struct field ",
        ),
        (
            thing("apps/v1", "StatefulSet", spec={"replicas": "x"}),
            (
                "json: cannot unmarshal string into Go struct field StatefulSetSpec.spec.replicas "
                "of type int32"
            ),
        ),
        (
            thing("v1", "Service", spec={"ports": [{"port": 80.0, "nodePort": [1.0]}]}),
            "json: cannot unmarshal array into Go struct field ServicePort.spec.ports.nodePort of ",
        ),
        (
            thing("v1", "Service", spec={"type": []}),
            "json: cannot unmarshal array into Go struct field ServiceSpec.spec.type of type ",
        ),
        (
            thing("v1", "Namespace", spec=5.0),
            "json: cannot unmarshal number into Go struct field Namespace.spec of type v1.",
        ),
        (
            thing("v1", "Pod", spec={"volumes": 5.0}),
            "json: cannot unmarshal number into Go struct field PodSpec.spec.volumes of type []v1.",
        ),
        (
            thing("apiextensions.k8s.io/v1", "CustomResourceDefinition", spec={"names": 5.0}),
            (
                "json: cannot unmarshal number into Go struct field CustomResourceDefinitionSpec."
                "spec.names of type v1.CustomResourceDefinitionNames"
            ),
        ),
        (
            thing("v1", "Secret", data={"a": 5.0}),
            "json: cannot unmarshal number into Go struct field Secret.data of type []uint8",
        ),
        (
            thing("rbac.authorization.k8s.io/v1", "ClusterRole", rules=["x"]),
            "json: cannot unmarshal string into Go struct field ClusterRole.rules of type v1.",
        ),
        (
            thing("autoscaling/v2", "HorizontalPodAutoscaler", spec={"metrics": "x"}),
            "json: cannot unmarshal string into Go struct field ",
        ),
    ],
)
def test_a_wrong_type_is_refused(obj, problem):
    refused = refuse_unreadable(obj)
    assert (refused.code, refused.reason) == (400, "BadRequest")
    kind, version = obj["kind"], obj["apiVersion"].rpartition("/")[2]
    start = f'{kind} in version "{version}" cannot be handled as a {kind}: '
    assert refused.message.startswith(start + problem)
    changed = refuse_change(obj)
    assert (changed.code, changed.reason) == (500, "InternalError")
    assert problem in changed.message


@pytest.mark.parametrize(
    "obj",
    [
        thing("v1", "Pod", spec=container(resources={"limits": {"cpu": 1.0, "memory": "1Gi"}})),
        thing("v1", "Service", spec={"ports": [{"port": 80.0, "targetPort": "http"}]}),
        thing("v1", "Secret", data={"a": "YQ=="}, stringData={"b": "c"}),
        thing("example.com/v1", "Service", spec=5.0),
        thing("example.com/v1", "Widget", spec=[]),
        thing("v1", "Pod", spec={**container(), "unheardOf": 5.0}),
        thing(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            spec={
                "names": {"kind": "A", "plural": "as"},
                "versions": [
                    {
                        "name": "v1",
                        "schema": {
                            "openAPIV3Schema": {
                                "type": "object",
                                "properties": {"a": {"default": {"b": 1.5}, "maximum": 2.5}},
                                "additionalProperties": True,
                            }
                        },
                    }
                ],
            },
        ),
    ],
)
def test_what_fits_is_not(obj):
    assert refuse_unreadable(obj) is None
