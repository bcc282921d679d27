"""Overlays of a cluster, and records of what is read of it."""

import pytest

from kyvsim.engine.world import (
    ALL_KINDS,
    GivenObjects,
    OverlayView,
    view_of_part,
    view_of_whole,
)

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
    before = OverlayView(GivenObjects(objects), objects[0], None)
    assert read(before, version) == [("bank", "a"), ("shop", "b")]
    assert read(before, version, "shop") == [("shop", "b")]
    assert before.get(f"autoscaling/{version}", SCALER, "shop", "a") is None
    assert before.get(f"autoscaling/{version}", SCALER, "shop", "b") is not None
    assert before.get(f"autoscaling/{version}", SCALER, "bank", "a") is not None


def test_what_is_updated_is_there_as_it_was(objects):
    old = {**objects[0], "spec": {"at": "old"}}
    before = OverlayView(GivenObjects(objects), objects[0], old)
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
    before = OverlayView(GivenObjects([*objects, pod]), objects[0], None)
    assert before.get("v1", "Pod", "shop", "a") is pod
    assert list(before.list("v1", "Pod", "")) == [pod]


def test_the_rest_is_as_the_cluster_has_it(objects, thing):
    space = thing("Namespace", "shop", "", labels={"x": "y"})
    before = OverlayView(GivenObjects([*objects, space]), objects[0], None)
    assert before.kind_of("autoscaling/v1", "horizontalpodautoscalers") == SCALER
    assert list(before.kinds()) == [("autoscaling/v2", SCALER), ("v1", "Namespace")]
    assert before.namespace_labels("shop")["x"] == "y"
    assert before.is_namespaced("v1", "Pod") is False
    assert before.has_ints is False
    assert before.guesses("x.io/v1", "gizmos") is True
    assert before.guesses("v1", "pods") is False


SHOP = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"a": "b"}}}
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "shop"}}


@pytest.mark.parametrize(
    ("method", "arguments", "asks"),
    [
        ("get", ("v1", "Pod", "shop", "web"), True),
        ("get", ("v1", "Pod", "shop", "none"), True),
        ("get", ("v1", "Namespace", "", "shop"), False),
        ("get", ("x.io/v1", "Namespace", "", "shop"), True),
        ("list", ("v1", "Pod", ""), True),
        ("list", ("v1", "Namespace", ""), False),
        ("kind_of", ("v1", "pods"), True),
        ("guesses", ("v1", "pods"), True),
        ("is_namespaced", ("v1", "Pod"), True),
        ("kinds", (), True),
        ("namespace_labels", ("shop",), False),
    ],
)
def test_queries_are_answered_and_recorded(method, arguments, asks):
    view = GivenObjects((SHOP, POD))
    watched = view_of_whole(view)
    assert (bool(watched.queried), watched.has_ints) == (False, view.has_ints)
    said, plain = (getattr(one, method)(*arguments) for one in (watched, view))
    assert [said] == [plain] if method != "kinds" else list(said) == list(plain)
    assert bool(watched.queried) is asks


def test_records_stay():
    watched = view_of_whole(GivenObjects((SHOP, POD)))
    watched.get("v1", "Pod", "shop", "web")
    watched.get("v1", "Namespace", "", "shop")
    assert watched.queried


def named(kind, name, **metadata):
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, **metadata}}


@pytest.mark.parametrize(
    ("ask", "kind"),
    [
        (lambda view: view.get("v1", "ConfigMap", "a", "b"), "ConfigMap"),
        (lambda view: view.list("v1", "Pod", ""), "Pod"),
        (lambda view: view.kind_of("v1", "pods"), ALL_KINDS),
        (lambda view: view.guesses("v1", "pods"), ALL_KINDS),
        (lambda view: view.kinds(), ALL_KINDS),
    ],
)
def test_whoever_asks_for_objects_is_remembered(ask, kind):
    view = view_of_part()
    assert not view.queried
    ask(view)
    assert view.queried == {kind}


def test_namespaces_are_known():
    there = named("Namespace", "a", labels={"b": "c"})
    view = view_of_part(objects=[there])
    assert view.get("v1", "Namespace", "", "a") == there
    assert view.get("v1", "Namespace", "", "b") is None
    assert view.namespace_labels("a") == {"b": "c", "kubernetes.io/metadata.name": "a"}
    assert view.namespace_labels("b") == {}
    assert list(view.list("v1", "Namespace", "")) == [there]
    assert not view.queried


def test_kinds_of_which_all_are_at_hand_are_known():
    there = named("ConfigMap", "b", namespace="a")
    view = view_of_part(frozenset({"Namespace", "ConfigMap"}), [there])
    assert view.get("v1", "ConfigMap", "a", "b") == there
    assert list(view.list("v1", "ConfigMap", "a")) == [there]
    assert view.get("v1", "ConfigMap", "a", "c") is None
    assert not view.queried


def test_no_kind_is_known_to_live_in_namespaces():
    view = view_of_part()
    assert (view.is_namespaced("v1", "Pod"), view.has_ints, view.queried) == (False, False, set())
