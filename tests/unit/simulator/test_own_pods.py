"""Kyverno's own Pods and Leases, and what kind installs."""

import pytest

from kyvsim.api.simulate import readers
from kyvsim.kubernetes.objects import ObjectKey, labels
from kyvsim.simulator.api_server.server import ADMIN
from kyvsim.simulator.cluster import open_cluster
from kyvsim.simulator.context import SimulationSettings

LEASE = ("coordination.k8s.io/v1", "Lease", "kyverno")


@pytest.fixture
def cluster():
    """Return a cluster with Kyverno's Pods."""
    return open_cluster(readers(), SimulationSettings(own_pods=True))


def status(cluster, component):
    """Return the status of the container of a component."""
    (pod,) = [
        one
        for one in cluster.sim.store.list("v1", "Pod", "kyverno")
        if labels(one)["app.kubernetes.io/component"] == component
    ]
    (container,) = pod["status"]["containerStatuses"]
    return container["name"], container["ready"], container["restartCount"]


def hold(cluster, lease, holder):
    """Let another holder take a Lease, and wait half a minute."""
    client = cluster.sim.client(ADMIN)
    response = client.merge(ObjectKey(*LEASE, lease), {"spec": {"holderIdentity": holder}})
    assert response.error is None
    cluster.sim.scheduler.run_until(lambda: False, 30.0)


def test_pods_run_without_any_event(cluster):
    names = [one["metadata"]["name"] for one in cluster.sim.store.list("v1", "Pod", "")]
    assert [name.rsplit("-", 2)[0] for name in names] == [
        f"kyverno-{one}-controller" for one in ("admission", "background", "cleanup", "reports")
    ]
    cluster.sim.scheduler.run_until(lambda: False, 60.0)
    assert status(cluster, "admission-controller") == ("kyverno", True, 0)
    assert list(cluster.sim.timeline.events) == []


def test_the_deployments_of_kind_are_available_and_may_be_scanned(cluster):
    found = {
        one["metadata"]["name"]: (one["metadata"]["namespace"], one["status"]["availableReplicas"])
        for one in cluster.sim.store.list("apps/v1", "Deployment", "")
    }
    assert found == {
        "coredns": ("kube-system", 2),
        "local-path-provisioner": ("local-path-storage", 1),
    }
    assert cluster.sim.store.get("v1", "Namespace", "", "local-path-storage") is not None


def test_simulations_have_none_by_default():
    store = open_cluster(readers()).sim.store
    assert not store.list("v1", "Pod", "")
    assert not store.list(*LEASE[:2], "")


@pytest.mark.parametrize(
    ("lease", "component"),
    [
        ("kyverno", "admission-controller"),
        ("kyverno-background-controller", "background-controller"),
        ("kyverno-cleanup-controller", "cleanup-controller"),
        ("kyverno-reports-controller", "reports-controller"),
    ],
)
def test_a_container_restarts_when_another_holder_takes_its_lease(cluster, lease, component):
    before = cluster.sim.store.get(*LEASE, lease)["spec"]["holderIdentity"]
    hold(cluster, lease, "other")
    assert status(cluster, component)[1:] == (True, 1)
    after = cluster.sim.store.get(*LEASE, lease)["spec"]
    assert after["holderIdentity"] == before
    hold(cluster, lease, "other")
    assert status(cluster, component)[1:] == (True, 2)


def test_a_restart_stops_a_controller_whose_restart_is_simulated(cluster):
    hold(cluster, "kyverno-background-controller", "other")
    actions = [(one.actor, one.action) for one in cluster.sim.timeline.events]
    assert ("background", "begin") in actions


def test_the_same_holder_restarts_nothing(cluster):
    lease = "kyverno-cleanup-controller"
    hold(cluster, lease, cluster.sim.store.get(*LEASE, lease)["spec"]["holderIdentity"])
    assert status(cluster, "cleanup-controller")[2] == 0
