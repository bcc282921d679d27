import pytest

from kyvsim.engine.given_objects import ClusterBefore, GivenObjects

SCALER = "HorizontalPodAutoscaler"


@pytest.fixture
def objects(thing):
    return [
        thing(SCALER, name, space, api_version="autoscaling/v2", spec={"at": name})
        for name, space in (("a", "shop"), ("b", "shop"), ("a", "bank"))
    ]


def read(cluster, version, namespace=""):
    found = cluster.list(f"autoscaling/{version}", SCALER, namespace)
    return [(one["metadata"]["namespace"], one["metadata"]["name"]) for one in found]


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_what_arrives_is_not_there_yet(objects, version):
    before = ClusterBefore(GivenObjects(objects), objects[0], None)
    assert read(before, version) == [("bank", "a"), ("shop", "b")]
    assert read(before, version, "shop") == [("shop", "b")]
    assert before.get(f"autoscaling/{version}", SCALER, "shop", "a") is None
    assert before.get(f"autoscaling/{version}", SCALER, "shop", "b") is not None
    assert before.get(f"autoscaling/{version}", SCALER, "bank", "a") is not None


def test_what_is_updated_is_there_as_it_was(objects):
    old = {**objects[0], "spec": {"at": "old"}}
    before = ClusterBefore(GivenObjects(objects), objects[0], old)
    assert before.get("autoscaling/v1", SCALER, "shop", "a") == {
        **old,
        "apiVersion": "autoscaling/v1",
    }
    assert [one["spec"]["at"] for one in before.list("autoscaling/v2", SCALER, "shop")] == [
        "old",
        "b",
    ]


def test_other_kinds_of_one_name_are_there(objects, thing):
    pod = thing("Pod", "a")
    before = ClusterBefore(GivenObjects([*objects, pod]), objects[0], None)
    assert before.get("v1", "Pod", "shop", "a") is pod
    assert list(before.list("v1", "Pod", "")) == [pod]


def test_the_rest_is_as_the_cluster_has_it(objects, thing):
    space = thing("Namespace", "shop", "", labels={"x": "y"})
    before = ClusterBefore(GivenObjects([*objects, space]), objects[0], None)
    assert before.kind_of("autoscaling/v1", "horizontalpodautoscalers") == SCALER
    assert list(before.kinds()) == [("autoscaling/v2", SCALER), ("v1", "Namespace")]
    assert before.namespace_labels("shop")["x"] == "y"
    assert before.is_namespaced("v1", "Pod") is False
    assert before.has_ints is False
    assert before.guesses("x.io/v1", "gizmos") is True
    assert before.guesses("v1", "pods") is False
