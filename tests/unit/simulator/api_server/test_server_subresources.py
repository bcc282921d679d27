import pytest

from kyvsim.kubernetes.objects import object_key
from kyvsim.simulator.api_server.server import eviction_request, exec_request, scale_request


@pytest.fixture
def deny(cluster_policy, put):
    """Return what denies requests to a kind or subresource, where `key` is the object's own."""

    def make(kind, key, value):
        match = {"any": [{"resources": {"kinds": [kind]}}]}
        condition = {"key": key, "operator": "Equals", "value": value}
        body = {"failureAction": "Enforce", "message": "no", "deny": {"conditions": [condition]}}
        return put(cluster_policy("deny", {"match": match, "validate": body}))

    return make


def test_a_scale_changes_the_number_of_replicas(admin, deployment):
    made = admin.create(deployment(replicas=1)).object
    shown = admin.send(scale_request(made, 3, admin.user))
    assert shown.ok
    now = admin.get(*object_key(made))
    assert (now["spec"]["replicas"], now["metadata"]["generation"]) == (3, 2)
    assert now["spec"]["template"] == made["spec"]["template"]


def test_rules_see_the_scale(admin, deployment, deny, put):
    deny("Deployment/scale", "{{ request.object.spec.replicas }}", 3)
    made = put(deployment(replicas=1))
    now = admin.get(*object_key(made))
    assert admin.send(scale_request(now, 2, admin.user)).ok
    assert "no" in admin.send(scale_request(now, 3, admin.user)).error.message


def test_an_eviction_deletes_the_pod(cluster, admin, pod, put):
    key = object_key(put(pod()))
    assert admin.send(eviction_request(key, admin.user)).ok
    assert admin.get(*key)["metadata"]["deletionGracePeriodSeconds"] == 30
    cluster.sim.scheduler.advance(2)
    assert admin.get(*key) is None


def test_a_denied_eviction_deletes_nothing(admin, pod, deny, put):
    deny("Pod/eviction", "{{ request.operation }}", "CREATE")
    key = object_key(put(pod()))
    assert not admin.send(eviction_request(key, admin.user)).ok
    assert admin.get(*key)


def test_rules_see_a_command(admin, pod, deny, put):
    deny("Pod/exec", "{{ request.object.command[0] }}", "sh")
    key = object_key(put(pod()))
    assert admin.send(exec_request(key, admin.user, ("ls",))).ok
    assert not admin.send(exec_request(key, admin.user, ("sh",))).ok


def test_an_ephemeral_container_is_added_and_nothing_else(admin, pod, put):
    made = put(pod())
    added = [{"name": "debug", "image": "busybox"}]
    spec = {**made["spec"], "ephemeralContainers": added, "containers": []}
    now = admin.update({**admin.get(*object_key(made)), "spec": spec}, "ephemeralcontainers").object
    assert now["spec"]["ephemeralContainers"][0]["imagePullPolicy"] == "Always"
    assert now["spec"]["containers"] == made["spec"]["containers"]
