"""Tables of `kubectl get`, by kind."""

from datetime import UTC, datetime

import pytest

from kyvsim.chainsaw.errors import UnsupportedError
from kyvsim.chainsaw.kubectl.output import print_table

NOW = datetime(2024, 1, 1, 0, 1, tzinfo=UTC)
META = {"name": "x", "namespace": "n", "creationTimestamp": "2024-01-01T00:00:00Z"}
POLICY = {"spec": {"admission": True, "background": False}}
READY = {"conditions": [{"type": "Ready", "status": "True", "message": "Ready"}]}
WAITING = [{"ready": False, "restartCount": 2, "state": {"waiting": {"reason": "ErrImagePull"}}}]
PEERS = {"podSelector": {"matchLabels": {"b": "2", "a": "1"}}}
COUNTS = {"pass": 1, "fail": 2, "warn": 0, "error": 0, "skip": 3}


def obj(api_version, kind, **fields):
    return {"apiVersion": api_version, "kind": kind, "metadata": META, **fields}


@pytest.mark.parametrize(
    ("shown", "cells"),
    [
        (obj("v1", "Secret", type="Opaque", data={"a": "b"}), "x Opaque 1 60s"),
        (
            obj(
                "v1",
                "Pod",
                spec={"containers": [{}]},
                status={"phase": "Pending", "containerStatuses": WAITING},
            ),
            "x 0/1 ErrImagePull 2 60s",
        ),
        (
            obj("apps/v1", "Deployment", spec={"replicas": 2}, status={"readyReplicas": 1}),
            "x 1/2 0 0 60s",
        ),
        (obj("apps/v1", "ReplicaSet", spec={"replicas": 2}, status={"replicas": 1}), "x 2 1 0 60s"),
        (obj("networking.k8s.io/v1", "NetworkPolicy", spec=PEERS), "x a=1,b=2 60s"),
        (
            obj(
                "rbac.authorization.k8s.io/v1",
                "RoleBinding",
                roleRef={"kind": "ClusterRole", "name": "view"},
            ),
            "x ClusterRole/view 60s",
        ),
        (obj("rbac.authorization.k8s.io/v1", "Role"), "x 2024-01-01T00:00:00Z"),
        (obj("kyverno.io/v1", "Policy", **POLICY, status=READY), "x true false True 60s Ready"),
        (
            obj("wgpolicyk8s.io/v1alpha2", "PolicyReport", scope={"kind": "Pod"}, summary=COUNTS),
            "x Pod 1 2 0 0 3 60s",
        ),
    ],
)
def test_columns_are_those_of_kubectl(shown, cells, cluster):
    text = print_table([shown], cluster.sim.store, NOW, namespaces=False, headings=False)
    assert text.split() == cells.split()


def test_columns_are_as_wide_as_their_widest_cell_and_three_blanks(cluster):
    longer = obj("v1", "ConfigMap") | {"metadata": {**META, "name": "longer-name"}}
    text = print_table(
        [obj("v1", "ConfigMap", data={"a": "b"}), longer],
        cluster.sim.store,
        NOW,
        namespaces=True,
        headings=True,
    )
    assert text == (
        "NAMESPACE   NAME          DATA   AGE\n"
        "n           x             1      60s\n"
        "n           longer-name   0      60s\n"
    )


def test_table_of_an_unknown_layout_is_not_simulated(cluster):
    with pytest.raises(UnsupportedError, match="the table of `kubectl get` for a Service"):
        print_table([obj("v1", "Service")], cluster.sim.store, NOW, namespaces=False, headings=True)
