from kyvsim.kube.objects import ObjectKey, object_key
from kyvsim.sim.server.client import ADMIN


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


def test_workloads_can_be_left_out(make_cluster, workload):
    cluster = make_cluster(workloads=False)
    cluster.parts.client(ADMIN).create(workload("ReplicaSet"))
    cluster.parts.scheduler.settle(30)
    assert not cluster.parts.store.list("v1", "Pod", "")


def test_its_pods_go_with_it(admin, workload, put, run, names):
    put(workload("ReplicaSet"))
    admin.delete(ObjectKey("apps/v1", "ReplicaSet", "default", "w"))
    run(1)
    assert names("v1", "Pod") == []
