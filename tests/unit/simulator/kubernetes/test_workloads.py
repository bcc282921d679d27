"""The controllers of Deployments, ReplicaSets, StatefulSets and DaemonSets."""

import pytest

from kyvsim.kubernetes.objects import ObjectKey, object_key
from kyvsim.simulator.api_server.metadata import is_terminating
from kyvsim.simulator.api_server.server import ADMIN, scale_request
from kyvsim.simulator.context import LONGEST_RETRY
from kyvsim.simulator.kubernetes.controller import WorkQueue


def test_a_deployment_has_a_replica_set_and_pods(admin, deployment, put):
    put(deployment(replicas=2))
    (replica_set,) = admin.list("apps/v1", "ReplicaSet", "default")
    pods = admin.list("v1", "Pod", "default")
    mark = replica_set["metadata"]["labels"]["pod-template-hash"]
    assert replica_set["metadata"]["name"] == f"web-{mark}"
    assert [one["metadata"]["labels"] for one in pods] == [
        {"app": "web", "pod-template-hash": mark}
    ] * 2
    assert {one["metadata"]["generateName"] for one in pods} == {f"web-{mark}-"}
    assert {one["metadata"]["ownerReferences"][0]["name"] for one in pods} == {f"web-{mark}"}
    status = admin.get("apps/v1", "Deployment", "default", "web")["status"]
    assert (status["replicas"], status["readyReplicas"], status["availableReplicas"]) == (2, 2, 2)


def test_scaling_makes_and_deletes_pods(admin, deployment, put, run, names):
    made = put(deployment(replicas=1))
    for wanted in (3, 1, 0):
        admin.send(scale_request(admin.get(*object_key(made)), wanted, admin.user))
        run(5)
        assert len(names("v1", "Pod")) == wanted


def test_another_template_gets_another_replica_set(admin, deployment, put, run):
    made = put(deployment())
    template = made["spec"]["template"]
    changed = {**template, "metadata": {"labels": {"app": "web", "version": "2"}}}
    admin.merge(object_key(made), {"spec": {"template": changed}})
    run(5)
    sets = admin.list("apps/v1", "ReplicaSet", "default")
    assert sorted(one["spec"]["replicas"] for one in sets) == [0, 1]
    (pod,) = admin.list("v1", "Pod", "default")
    assert pod["metadata"]["labels"]["version"] == "2"


def test_old_pods_stay_while_new_ones_hang(admin, deployment, put, run, names):
    made = put(deployment())
    spec = made["spec"]["template"]["spec"]
    source = [{"configMapRef": {"name": "missing"}}]
    spec = {**spec, "containers": [{**spec["containers"][0], "envFrom": source}]}
    admin.merge(object_key(made), {"spec": {"template": {"spec": spec}}})
    run(5)
    assert len(names("v1", "Pod")) == 2
    status = admin.get(*object_key(made))["status"]
    assert (status["updatedReplicas"], status["availableReplicas"]) == (1, 1)


def test_a_pod_that_is_gone_is_made_again(admin, workload, put, run, names):
    put(workload("ReplicaSet"))
    (before,) = admin.list("v1", "Pod", "default")
    admin.delete(object_key(before))
    run(5)
    (after,) = names("v1", "Pod")
    assert after != before["metadata"]["name"]


def test_a_denied_pod_is_tried_again(admin, workload, pod, obj, put, run):
    spec = {**pod()["spec"], "serviceAccountName": "missing"}
    template = {"metadata": {"labels": {"app": "w"}}, "spec": spec}
    put(workload("ReplicaSet", template=template))
    found = admin.get("apps/v1", "ReplicaSet", "default", "w")["status"]["conditions"][0]
    assert (found["type"], found["reason"]) == ("ReplicaFailure", "FailedCreate")
    assert 'serviceaccount "missing" not found' in found["message"]
    admin.create(obj("ServiceAccount", "missing", "default"))
    run(10)
    status = admin.get("apps/v1", "ReplicaSet", "default", "w")["status"]
    assert status["readyReplicas"] == 1
    assert "conditions" not in status


def test_denials_of_pods_do_not_wake_the_controller_for_ever(
    admin, deployment, cluster_policy, put, run, told
):
    deny = {"failureAction": "Enforce", "message": "not here", "deny": {}}
    guard = cluster_policy("guard", {"validate": deny})
    pods_only = {"pod-policies.kyverno.io/autogen-controllers": "none"}
    put({**guard, "metadata": {"name": "guard", "annotations": pods_only}}, deployment())
    run(3600)
    (found,) = admin.list("apps/v1", "ReplicaSet", "default")
    (condition,) = found["status"]["conditions"]
    assert condition["reason"] == "FailedCreate"
    tried = [one for one in told("replicaset-controller") if one[:2] == ("create", "denied")]
    # Each attempt waits twice as long as the one before it, and five minutes at most.
    assert 15 < len(tried) < 25


def test_a_controller_that_fails_for_a_year_waits_no_longer(cluster):
    key = ObjectKey("v1", "ConfigMap", "default", "m")
    times = []

    def work(_):
        times.append(cluster.sim.clock.elapsed)
        return False

    WorkQueue(cluster.sim, "some", work).add(key)
    while len(times) < 1040:
        cluster.sim.scheduler.step(float("inf"))
    assert times[-1] - times[-2] == LONGEST_RETRY


def test_workloads_can_be_left_out(make_cluster, workload):
    cluster = make_cluster(workloads=False)
    cluster.sim.client(ADMIN).create(workload("ReplicaSet"))
    cluster.sim.scheduler.settle(30)
    assert not cluster.sim.store.list("v1", "Pod", "")


def test_its_pods_go_with_it(admin, workload, put, run, names):
    put(workload("ReplicaSet"))
    admin.delete(ObjectKey("apps/v1", "ReplicaSet", "default", "w"))
    run(2)
    assert names("v1", "Pod") == []


CLAIM = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
KEY = ObjectKey("apps/v1", "StatefulSet", "default", "w")


def test_pods_have_numbers_and_claims(admin, workload, put, names):
    put(workload("StatefulSet", replicas=2, serviceName="web", volumeClaimTemplates=[CLAIM]))
    assert names("v1", "Pod") == ["w-0", "w-1"]
    assert names("v1", "PersistentVolumeClaim") == ["data-w-0", "data-w-1"]
    spec = admin.get("v1", "Pod", "default", "w-1")["spec"]
    assert (spec["hostname"], spec["subdomain"]) == ("w-1", "web")
    assert {"name": "data", "persistentVolumeClaim": {"claimName": "data-w-1"}} in spec["volumes"]


def test_the_second_waits_for_the_first(workload, pod, put, names, obj):
    container = {**pod()["spec"]["containers"][0], "envFrom": [{"configMapRef": {"name": "late"}}]}
    template = {"metadata": {"labels": {"app": "w"}}, "spec": {"containers": [container]}}
    put(workload("StatefulSet", replicas=2, template=template))
    assert names("v1", "Pod") == ["w-0"]
    put(obj("ConfigMap", "late", "default"))
    assert names("v1", "Pod") == ["w-0", "w-1"]


def test_the_last_goes_first(admin, workload, put, run, names):
    put(workload("StatefulSet", replicas=3))
    admin.merge(KEY, {"spec": {"replicas": 1}})
    run(5)
    assert names("v1", "Pod") == ["w-0"]


def test_another_template_replaces_the_pods(admin, workload, put, run):
    put(workload("StatefulSet", replicas=2))
    labels = {"app": "w", "version": "2"}
    admin.merge(KEY, {"spec": {"template": {"metadata": {"labels": labels}}}})
    run(20)
    pods = admin.list("v1", "Pod", "default")
    assert [one["metadata"]["labels"]["version"] for one in pods] == ["2", "2"]


def test_each_node_has_a_pod(admin, obj, workload, put, run, names):
    put(workload("DaemonSet"))
    assert len(names("v1", "Pod")) == 1
    put(obj("Node", "second"))
    assert len(names("v1", "Pod")) == 2
    status = admin.get("apps/v1", "DaemonSet", "default", "w")["status"]
    assert (status["desiredNumberScheduled"], status["currentNumberScheduled"]) == (2, 2)
    admin.delete(ObjectKey("v1", "Node", "", "second"))
    run(5)
    assert len(names("v1", "Pod")) == 1


def sleeping(pod):
    """Return the template of Pods that take their whole grace period to end."""
    container = {**pod()["spec"]["containers"][0], "command": ["sleep", "1h"]}
    return {"metadata": {"labels": {"app": "w"}}, "spec": {"containers": [container]}}


@pytest.mark.parametrize(
    ("kind", "waits"),
    [("ReplicaSet", False), ("Deployment", False), ("StatefulSet", True), ("DaemonSet", True)],
)
def test_who_waits_for_a_deleted_pod(admin, workload, pod, put, run, kind, waits):
    put(workload(kind, template=sleeping(pod)))
    (first,) = admin.list("v1", "Pod", "default")
    admin.delete(object_key(first))
    run(10)
    active = [one for one in admin.list("v1", "Pod", "default") if not is_terminating(one)]
    assert not active if waits else len(active) == 1
    run(30)
    (now,) = admin.list("v1", "Pod", "default")
    assert now["metadata"]["uid"] != first["metadata"]["uid"]


def test_a_deployment_that_recreates_waits_for_deleted_pods(admin, workload, pod, put, run):
    template = sleeping(pod)
    put(workload("Deployment", template=template, strategy={"type": "Recreate"}))
    (first,) = admin.list("v1", "Pod", "default")
    labels = {"app": "w", "version": "2"}
    change = {"spec": {"template": {"metadata": {"labels": labels}}}}
    admin.merge(ObjectKey("apps/v1", "Deployment", "default", "w"), change)
    run(10)
    assert [one["metadata"]["uid"] for one in admin.list("v1", "Pod", "default")] == [
        first["metadata"]["uid"]
    ]
    run(30)
    (now,) = admin.list("v1", "Pod", "default")
    assert now["metadata"]["labels"]["version"] == "2"


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("ReplicaSet", "availableReplicas"),
        ("Deployment", "availableReplicas"),
        ("StatefulSet", "availableReplicas"),
        ("DaemonSet", "numberAvailable"),
    ],
)
def test_a_ready_pod_is_available_after_min_ready_seconds(admin, workload, run, kind, field):
    made = workload(kind, minReadySeconds=60)
    admin.create(made)
    available = []
    for seconds in (30, 35):
        run(seconds)
        available.append(admin.get(*object_key(made))["status"].get(field, 0))
        assert admin.list("v1", "Pod", "default")[0]["status"]["phase"] == "Running"
    assert available == [0, 1]


def test_a_rollout_waits_until_new_pods_are_available(admin, workload, put, run, names):
    made = put(workload("Deployment"))
    labels = {"app": "w", "version": "2"}
    template = {"metadata": {"labels": labels}}
    admin.merge(object_key(made), {"spec": {"template": template, "minReadySeconds": 60}})
    run(50)
    status = admin.get(*object_key(made))["status"]
    assert (status["readyReplicas"], status["availableReplicas"]) == (2, 1)
    assert len(names("v1", "Pod")) == 2
    run(20)
    assert len(names("v1", "Pod")) == 1


def test_the_second_pod_waits_until_the_first_is_available(admin, workload, run, names):
    admin.create(workload("StatefulSet", replicas=2, minReadySeconds=60))
    run(50)
    assert names("v1", "Pod") == ["w-0"]
    run(20)
    assert names("v1", "Pod") == ["w-0", "w-1"]


def test_another_waiting_time_counts_for_pods_that_are_ready(admin, workload, run):
    made = workload("Deployment", minReadySeconds=3600)
    admin.create(made)
    run(60)
    assert "availableReplicas" not in admin.get(*object_key(made))["status"]
    admin.merge(object_key(made), {"spec": {"minReadySeconds": None}})
    run(5)
    (replica_set,) = admin.list("apps/v1", "ReplicaSet", "default")
    assert "minReadySeconds" not in replica_set["spec"]
    assert admin.get(*object_key(made))["status"]["availableReplicas"] == 1
