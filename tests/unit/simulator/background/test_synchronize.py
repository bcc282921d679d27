"""Synchronization: downstream objects, sources and triggers that change and go."""

import pytest

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.simulator.configuration import BACKGROUND

CLONE = {"name": "source", "namespace": "default"}
SOURCE = ObjectKey("v1", "ConfigMap", "default", "source")
LABELLED = {"any": [{"resources": {"kinds": ["Secret"], "selector": {"matchLabels": {"a": "b"}}}}]}
TRIGGER = ObjectKey("v1", "Secret", "default", "t")


@pytest.fixture
def trigger(obj):
    """Return a Secret that `LABELLED` matches."""
    return obj("Secret", "t", "default", metadata={"labels": {"a": "b"}})


@pytest.fixture
def by_secret(cluster_policy, generate, put, obj, trigger):
    """Return what lets a rule on labelled Secrets generate `made` in `shop`."""

    def start(**fields):
        put(obj("Namespace", "shop"))
        put(cluster_policy("p", generate(match=LABELLED, namespace="shop", **fields)), trigger)

    return start


@pytest.mark.parametrize(("synchronize", "restored"), [(True, "1"), (False, "9")])
def test_edit_of_others_is_undone_where_synchronized(
    by_secret, admin, settle, made, key_of_made, synchronize, restored
):
    by_secret(synchronize=synchronize)
    admin.merge(key_of_made, {"data": {"a": "9"}})
    settle()
    assert made()["data"] == {"a": restored}


@pytest.mark.parametrize("synchronize", [True, False])
def test_deleted_object_comes_again_where_synchronized(
    by_secret, admin, settle, made, key_of_made, synchronize
):
    by_secret(synchronize=synchronize)
    admin.delete(key_of_made)
    settle()
    assert (made() is not None) is synchronize


def test_edit_of_the_background_controller_stays(by_secret, cluster, settle, made, key_of_made):
    by_secret(synchronize=True)
    cluster.sim.client(BACKGROUND).merge(key_of_made, {"data": {"a": "9"}})
    settle()
    assert made()["data"] == {"a": "9"}


@pytest.mark.parametrize("synchronize", [True, False])
def test_object_goes_with_its_trigger_where_synchronized(
    by_secret, admin, settle, made, told, synchronize
):
    by_secret(synchronize=synchronize)
    admin.delete(TRIGGER)
    settle()
    assert (made() is None) is synchronize
    assert bool(told("delete downstream")) is synchronize


@pytest.mark.parametrize("synchronize", [True, False])
def test_object_goes_when_its_trigger_stops_matching(by_secret, admin, settle, made, synchronize):
    by_secret(synchronize=synchronize)
    admin.merge(TRIGGER, {"metadata": {"labels": {"a": "c"}}})
    settle()
    assert (made() is None) is synchronize


def test_object_goes_when_preconditions_stop_holding(
    cluster_policy, generate, put, obj, trigger, admin, settle, made
):
    condition = {"key": "{{request.object.metadata.labels.a}}", "operator": "Equals", "value": "b"}
    match = {"any": [{"resources": {"kinds": ["Secret"]}}]}
    rule = generate(
        match=match,
        rule={"preconditions": {"all": [condition]}},
        namespace="shop",
        synchronize=True,
    )
    put(obj("Namespace", "shop"), cluster_policy("p", rule), trigger)
    assert made() is not None
    admin.merge(TRIGGER, {"metadata": {"labels": {"a": "c"}}})
    settle()
    assert made() is None


def test_rule_that_lists_deletion_generates_then(
    cluster_policy, generate, put, obj, trigger, admin, settle, made
):
    match = {"any": [{"resources": {"kinds": ["Secret"], "operations": ["DELETE"]}}]}
    rule = generate(match=match, namespace="shop", synchronize=True)
    put(obj("Namespace", "shop"), cluster_policy("p", rule), trigger)
    assert made() is None
    admin.delete(TRIGGER)
    settle()
    assert made() is not None


@pytest.mark.parametrize("synchronize", [True, False])
def test_copies_follow_their_source(by_secret, obj, put, admin, settle, made, synchronize):
    put(obj("ConfigMap", "source", "default", data={"b": "2"}))
    by_secret(clone=CLONE, synchronize=synchronize)
    admin.merge(SOURCE, {"data": {"b": "3"}})
    settle()
    assert made()["data"] == {"b": "3" if synchronize else "2"}
    admin.delete(SOURCE)
    settle()
    assert (made() is None) is synchronize


def test_server_side_apply_keeps_fields_of_others(
    cluster_policy, generate, put, obj, trigger, admin, settle, made, key_of_made
):
    rule = generate(match=LABELLED, namespace="shop", synchronize=True)
    policy = cluster_policy("p", rule, useServerSideApply=True)
    put(obj("Namespace", "shop"), policy, trigger)
    admin.merge(key_of_made, {"data": {"a": "9", "own": "x"}})
    settle()
    assert made()["data"] == {"a": "1", "own": "x"}
