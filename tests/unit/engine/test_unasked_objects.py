"""A cluster that stands in where only a part of the objects is at hand."""

import pytest

from kyvsim.engine.cluster_views import ALL_KINDS, UnaskedObjects


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
    view = UnaskedObjects()
    assert not view.asked
    assert not ask(view)
    assert view.asked == {kind}


def test_namespaces_are_known():
    there = named("Namespace", "a", labels={"b": "c"})
    view = UnaskedObjects(objects=[there])
    assert view.get("v1", "Namespace", "", "a") == there
    assert view.get("v1", "Namespace", "", "b") is None
    assert view.namespace_labels("a") == {"b": "c", "kubernetes.io/metadata.name": "a"}
    assert view.namespace_labels("b") == {}
    assert list(view.list("v1", "Namespace", "")) == [there]
    assert not view.asked


def test_kinds_of_which_all_are_at_hand_are_known():
    there = named("ConfigMap", "b", namespace="a")
    view = UnaskedObjects(frozenset({"Namespace", "ConfigMap"}), [there])
    assert view.get("v1", "ConfigMap", "a", "b") == there
    assert list(view.list("v1", "ConfigMap", "a")) == [there]
    assert view.get("v1", "ConfigMap", "a", "c") is None
    assert not view.asked


def test_no_kind_is_known_to_live_in_namespaces():
    view = UnaskedObjects()
    assert (view.is_namespaced("v1", "Pod"), view.has_ints, view.asked) == (False, False, set())
