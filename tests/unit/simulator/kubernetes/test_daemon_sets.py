from kyvsim.kubernetes.objects import ObjectKey


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
