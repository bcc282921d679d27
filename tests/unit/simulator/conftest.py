"""A cluster to send requests to."""

import pytest

from kyvsim.api.simulate import readers
from kyvsim.model.release import NEWEST
from kyvsim.simulator.api_server.server import ADMIN
from kyvsim.simulator.cluster import open_cluster
from kyvsim.simulator.context import SimulationSettings


@pytest.fixture
def release():
    """Return the release of Kyverno in the cluster; tests of several override it."""
    return NEWEST


@pytest.fixture
def cluster(release):
    """Return a fresh cluster."""
    return open_cluster(readers(), SimulationSettings(release=release))


@pytest.fixture
def make_cluster():
    """Return what makes a cluster with settings."""
    return lambda **settings: open_cluster(readers(), SimulationSettings(**settings))


@pytest.fixture
def admin(cluster):
    """Return the API as its administrator sees it."""
    return cluster.sim.client(ADMIN)


@pytest.fixture
def obj():
    """Return what makes an object."""

    def make(kind, name="", namespace="", api_version="v1", **fields):
        meta = {**({"name": name} if name else {}), **fields.pop("metadata", {})}
        if namespace:
            meta["namespace"] = namespace
        return {"apiVersion": api_version, "kind": kind, "metadata": meta, **fields}

    return make


@pytest.fixture
def cluster_policy(obj):
    """Return what makes a ClusterPolicy of rules; a rule without a match looks at Pods."""

    def make(name, *rules, **spec):
        pods = {"any": [{"resources": {"kinds": ["Pod"]}}]}
        written = [
            {"name": f"rule-{index}", "match": pods, **rule} for index, rule in enumerate(rules)
        ]
        spec = {"background": False, **spec, "rules": written}
        return obj("ClusterPolicy", name, api_version="kyverno.io/v1", spec=spec)

    return make


@pytest.fixture
def put(cluster, admin):
    """Return what creates objects, each after the one before has settled; all must be granted."""

    def create(*objects):
        for one in objects:
            response = admin.create(one)
            assert response.ok, response.error
            cluster.sim.scheduler.settle(30)
        return response.object

    return create


@pytest.fixture
def pod(obj):
    """Return what makes a Pod."""

    def make(name="p", namespace="default", labels=None, **fields):
        spec = {"containers": [{"name": "c", "image": "nginx:1.27"}]}
        meta = {"labels": labels} if labels else {}
        return obj("Pod", name, namespace, metadata=meta, **{"spec": spec, **fields})

    return make


@pytest.fixture
def deployment(obj, pod):
    """Return what makes a Deployment of the Pods that `pod` makes."""

    def make(name="web", namespace="default", **fields):
        held = {"app": name}
        template = {"metadata": {"labels": held}, "spec": pod()["spec"]}
        spec = {"selector": {"matchLabels": held}, "template": template, **fields}
        return obj("Deployment", name, namespace, "apps/v1", spec=spec)

    return make
