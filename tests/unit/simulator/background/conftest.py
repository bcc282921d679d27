"""Rules that work in the background, and the objects that they write."""

import pytest

from kyvsim.kubernetes.objects import ObjectKey

NAMESPACES = {"any": [{"resources": {"kinds": ["Namespace"]}}]}


@pytest.fixture
def generate():
    """Return what makes a rule that generates a ConfigMap `made` in each Namespace."""

    def make(called="gen", match=NAMESPACES, rule=None, **fields):
        target = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "made",
            "namespace": "{{request.object.metadata.name}}",
        }
        if "clone" not in fields and "foreach" not in fields:
            fields = {"data": {"data": {"a": "1"}}, **fields}
        if "foreach" in fields:
            target = {}
        body = {"name": called, "match": match, "generate": {**target, **fields}}
        return {**body, **(rule or {})}

    return make


@pytest.fixture
def settle(cluster):
    """Return what lets everything happen that is due soon."""
    return lambda: cluster.sim.scheduler.settle(30)


@pytest.fixture
def made(cluster):
    """Return what gives the ConfigMap that rules generate in a namespace, or None."""
    return lambda namespace="shop", name="made": cluster.sim.store.get(
        "v1", "ConfigMap", namespace, name
    )


@pytest.fixture
def told(cluster):
    """Return what lists events of the timeline by action: object, outcome, message."""

    def events(action):
        return [one for one in cluster.sim.timeline.events if one.action == action]

    return events


@pytest.fixture
def key_of_made():
    """Return the key of the ConfigMap that rules generate in the namespace `shop`."""
    return ObjectKey("v1", "ConfigMap", "shop", "made")


@pytest.fixture
def background_may(obj):
    """Return what makes a ClusterRole that lets the background controller do everything to kinds.

    Its rules are aggregated by the label.
    """

    def make(group, *resources):
        rule = {"apiGroups": [group], "resources": list(resources), "verbs": ["*"]}
        label = "rbac.kyverno.io/aggregate-to-background-controller"
        return obj(
            "ClusterRole",
            "more",
            api_version="rbac.authorization.k8s.io/v1",
            metadata={"labels": {label: "true"}},
            rules=[rule],
        )

    return make
