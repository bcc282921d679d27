"""A new cluster."""

import pytest

from kyvsim.api.simulate import readers
from kyvsim.kubernetes.objects import object_key
from kyvsim.model.simulation import CI, Installation
from kyvsim.simulator.api_server.server import ADMIN
from kyvsim.simulator.cluster import open_cluster
from kyvsim.simulator.context import SimulationSettings

CONFIG = {"config": {"resourceFilters": ["[Event,*,*]"]}}


@pytest.mark.parametrize("installation", [CI, Installation("own.yaml", CONFIG)])
def test_what_happens_in_a_cluster_does_not_change_the_next_one(installation):
    settings = SimulationSettings(installation=installation)
    first = open_cluster(readers(), settings).sim
    before = first.store.every()
    roles = first.store.list("rbac.authorization.k8s.io/v1", "ClusterRole", "")
    assert first.client(ADMIN).delete(object_key(roles[0])).ok
    meta = {"name": "a", "namespace": "default"}
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
    assert first.client(ADMIN).create(made).ok
    second = open_cluster(readers(), settings).sim
    assert second.store.every() == before
    assert len(second.store.changes) == second.store.revision


def test_installations_of_one_name_have_their_own_objects():
    def filters(installation):
        sim = open_cluster(readers(), SimulationSettings(installation=installation)).sim
        return sim.store.get("v1", "ConfigMap", "kyverno", "kyverno")["data"]["resourceFilters"]

    assert filters(CI) != filters(Installation(CI.name, CONFIG))
