from kyvsim.kubernetes.objects import object_key
from kyvsim.simulator.api_server.subresources import scale_request


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
