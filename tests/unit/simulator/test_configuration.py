"""Requests that Kyverno skips whatever object they are about: evaluated once for all of them."""

import json

import pytest

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.model.request import Operation, UserInfo
from kyvsim.simulator.api_server import ApiRequest, ObjectStore
from kyvsim.simulator.configuration import CONFIG_MAP, passes_over


def sender(kind="Event", namespace="x", username="ada", groups=()):
    user = UserInfo(username, groups=groups)
    return ApiRequest(Operation.CREATE, ObjectKey("v1", kind, namespace, ""), user)


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
    ("filters", "one", "expected"),
    [
        ("[Event,*,*]", sender(), True),
        ("[Event,*,*]", sender("Pod"), False),
        ("[*,x,*]", sender("Pod"), True),
        ("[*,y,*]", sender("Pod"), False),
        # Some have the name, others do not.
        ("[Pod,x,web-*]", sender("Pod"), False),
        # What filters a namespace filters the Namespace itself, by its name.
        ("[*,x,*]", sender("Namespace", ""), False),
    ],
)
def test_filters_without_names_settle_it(configured, filters, one, expected):
    assert passes_over(one, configured(resourceFilters=filters)) is expected


def test_users_and_namespaces_settle_it_until_the_settings_change(configured):
    store = configured(excludeGroups="system:nodes", excludeUsernames="!eva")
    assert passes_over(sender("Pod", groups=("system:nodes",)), store)
    assert not passes_over(sender("Pod", username="eva", groups=("system:nodes",)), store)
    selector = {"namespaceSelector": {"matchLabels": {"team": "b"}}}
    configured(webhooks=json.dumps(selector))
    assert passes_over(sender("Pod"), store)
    assert not passes_over(sender("Node", namespace=""), store)
    # An object is looked at by its labels: whether it is selected is not known before.
    configured(webhooks=json.dumps({**selector, "objectSelector": {"matchLabels": {"a": "b"}}}))
    assert not passes_over(sender("Pod"), store)
