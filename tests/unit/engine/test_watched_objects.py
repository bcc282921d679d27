"""Whether a rule looked at the objects of a run, and that what it sees is what is there."""

import pytest

from kyvsim.engine.cluster_views import WatchedObjects
from kyvsim.engine.given_objects import GivenObjects

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
def test_what_is_asked_is_answered_and_noted(method, arguments, asks):
    view = GivenObjects((SHOP, POD))
    watched = WatchedObjects(view)
    assert (watched.asked, watched.has_ints) == (False, view.has_ints)
    said, plain = (getattr(one, method)(*arguments) for one in (watched, view))
    assert [said] == [plain] if method != "kinds" else list(said) == list(plain)
    assert watched.asked is asks


def test_what_was_noted_stays():
    watched = WatchedObjects(GivenObjects((SHOP, POD)))
    watched.get("v1", "Pod", "shop", "web")
    watched.get("v1", "Namespace", "", "shop")
    assert watched.asked
