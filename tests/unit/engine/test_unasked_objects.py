"""A cluster that stands in where only a part of the objects is at hand."""

import pytest

from kyvsim.engine.unasked_objects import UnaskedObjects


@pytest.mark.parametrize(
    "ask",
    [
        lambda view: view.get("v1", "ConfigMap", "a", "b"),
        lambda view: view.list("v1", "Namespace", ""),
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


def test_namespaces_are_known_not_to_be_there():
    view = UnaskedObjects()
    assert view.get("v1", "Namespace", "", "a") is None
    assert view.namespace_labels("a") == {}
    assert not view.asked
