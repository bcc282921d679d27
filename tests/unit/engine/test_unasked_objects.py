"""A cluster that stands in where only a part of the objects is at hand."""

import pytest

from kyvsim.engine.unasked_objects import UnaskedObjects


@pytest.mark.parametrize(
    "ask",
    [
        lambda view: view.get("v1", "ConfigMap", "a", "b"),
        lambda view: view.get("x.io/v1", "Namespace", "", "a"),
        lambda view: view.list("v1", "Pod", ""),
        lambda view: view.kind_of("v1", "pods"),
        lambda view: view.guesses("v1", "pods"),
        lambda view: view.is_namespaced("v1", "Pod"),
        lambda view: view.kinds(),
    ],
)
def test_whoever_asks_for_objects_is_remembered(ask):
    view = UnaskedObjects()
    assert not view.asked
    assert not ask(view)
    assert view.asked


def test_namespaces_are_known():
    there = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "a", "labels": {"b": "c"}},
    }
    view = UnaskedObjects([there])
    assert view.get("v1", "Namespace", "", "a") == there
    assert view.get("v1", "Namespace", "", "b") is None
    assert view.namespace_labels("a") == {"b": "c", "kubernetes.io/metadata.name": "a"}
    assert view.namespace_labels("b") == {}
    assert list(view.list("v1", "Namespace", "")) == [there]
    assert not view.asked
