"""Requests that Kyverno skips: by filters, users and the selectors of its webhooks."""

import json

import pytest

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.model.request import Operation, UserInfo
from kyvsim.simulator.api_server import ApiRequest, ObjectStore, Review
from kyvsim.simulator.configuration import CONFIG_MAP, is_excluded, is_filtered, is_selected


@pytest.fixture
def configured():
    """Return what makes a store with Kyverno's settings, and a Namespace `x`."""
    store = ObjectStore()

    def put(**data):
        api_version, kind, namespace, name = CONFIG_MAP
        meta = {"namespace": namespace, "name": name}
        store.put({"apiVersion": api_version, "kind": kind, "metadata": meta, "data": data})
        return store

    labelled = {"name": "x", "labels": {"team": "a"}}
    store.put({"apiVersion": "v1", "kind": "Namespace", "metadata": labelled})
    return put


@pytest.mark.parametrize(
    ("filters", "kind", "namespace", "name", "expected"),
    [
        ("[Event,*,*]", "Event", "x", "one", True),
        ("[Event,*,*]", "Pod", "x", "one", False),
        ("[*,x,*]", "Pod", "x", "one", True),
        ("[*,y,*]", "Pod", "x", "one", False),
        ("[Pod,x,web-*]", "Pod", "x", "web-1", True),
        ("[Pod,x,web-*]", "Pod", "x", "one", False),
        # What filters a namespace filters the Namespace itself, by its name.
        ("[*,x,*]", "Namespace", "", "x", True),
    ],
)
def test_objects_are_filtered_by_kind_namespace_and_name(
    configured, filters, kind, namespace, name, expected
):
    store = configured(resourceFilters=filters)
    assert is_filtered(ObjectKey("v1", kind, namespace, name), store) is expected


def test_users_are_excluded_unless_their_name_takes_it_back(configured):
    store = configured(excludeGroups="system:nodes", excludeUsernames="!eva")
    assert is_excluded(UserInfo("ada", groups=("system:nodes",)), store)
    assert not is_excluded(UserInfo("eva", groups=("system:nodes",)), store)


def test_namespaces_are_selected_by_the_settings_of_now(configured):
    def review(kind, namespace):
        meta = {"name": "one", "namespace": namespace, "labels": {"a": "c"}}
        obj = {"apiVersion": "v1", "kind": kind, "metadata": meta}
        request = ApiRequest(Operation.CREATE, ObjectKey("v1", kind, namespace, "one"), UserInfo())
        return Review(request, "uid", obj, None)

    store = configured()
    assert is_selected("x", review("Pod", "x"), store)
    selector = {"namespaceSelector": {"matchLabels": {"team": "b"}}}
    configured(webhooks=json.dumps(selector))
    assert not is_selected("x", review("Pod", "x"), store)
    assert is_selected("", review("Node", ""), store)
    configured(webhooks=json.dumps({"objectSelector": {"matchLabels": {"a": "b"}}}))
    assert not is_selected("x", review("Pod", "x"), store)
