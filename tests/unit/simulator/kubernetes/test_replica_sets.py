from kyvsim.kubernetes.objects import ObjectKey, object_key
from kyvsim.simulator.api_server.server import ADMIN
from kyvsim.simulator.context import LONGEST_RETRY
from kyvsim.simulator.kubernetes.controller import WorkQueue


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
    run(1)
    assert names("v1", "Pod") == []
