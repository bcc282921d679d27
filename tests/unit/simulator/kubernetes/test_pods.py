"""The scheduler and the kubelet."""

import pytest

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.simulator.api_server.server import ADMIN

KEY = ("v1", "Pod", "default", "p")
MISSING = 'configmap "shop-opa-data" not found'


def container(name, **fields):
    return {"name": name, "image": "nginx:1.27", **fields}


def waits(status):
    return {
        one["name"]: one["state"].get("waiting", {}).get("reason")
        for one in status["containerStatuses"]
    }


def ready(status):
    return next(one["status"] for one in status["conditions"] if one["type"] == "Ready")


@pytest.fixture
def hanging(pod):
    """Return what makes a Pod of two containers, the first of which mounts a volume."""

    def make(**source):
        mounted = container("a", volumeMounts=[{"name": "opa", "mountPath": "/opa"}])
        volumes = [{"name": "opa", **source}]
        return pod(spec={"containers": [mounted, container("b")], "volumes": volumes})

    return make


def test_a_pod_starts(admin, pod, put, told):
    put(pod())
    status = admin.get(*KEY)["status"]
    assert (status["phase"], ready(status)) == ("Running", "True")
    assert told("kubelet") == [("start", "done", "1/1 ready")]


def test_a_missing_volume_keeps_every_container(admin, hanging, obj, put, told):
    put(hanging(configMap={"name": "shop-opa-data"}))
    status = admin.get(*KEY)["status"]
    assert (status["phase"], ready(status)) == ("Pending", "False")
    assert waits(status) == {"a": "ContainerCreating", "b": "ContainerCreating"}
    why = f'0/2 ready: MountVolume.SetUp failed for volume "opa" : {MISSING}'
    assert told("kubelet") == [("wait", "waiting", why)]
    put(obj("ConfigMap", "shop-opa-data", "default"))
    status = admin.get(*KEY)["status"]
    assert (status["phase"], ready(status)) == ("Running", "True")
    assert told("kubelet")[1:] == [("start", "done", "2/2 ready")]


def test_a_missing_variable_keeps_its_own_container(admin, pod, obj, put, told):
    lacking = container("b", envFrom=[{"configMapRef": {"name": "shop-opa-data"}}])
    put(pod(spec={"containers": [container("a"), lacking]}))
    status = admin.get(*KEY)["status"]
    assert (status["phase"], ready(status)) == ("Running", "False")
    assert waits(status) == {"a": None, "b": "CreateContainerConfigError"}
    assert status["containerStatuses"][1]["state"]["waiting"]["message"] == MISSING
    assert told("kubelet") == [("wait", "waiting", f"1/2 ready: container b: {MISSING}")]
    put(obj("ConfigMap", "shop-opa-data", "default"))
    assert told("kubelet")[1:] == [("start", "done", "2/2 ready")]


@pytest.mark.parametrize(
    "source",
    [
        {"configMap": {"name": "none", "optional": True}},
        {"secret": {"secretName": "none", "optional": True}},
        {"projected": {"sources": [{"configMap": {"name": "none", "optional": True}}]}},
        {"emptyDir": {}},
    ],
)
def test_what_is_optional_keeps_nothing(admin, hanging, put, source):
    put(hanging(**source))
    assert admin.get(*KEY)["status"]["phase"] == "Running"


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ({"secret": {"secretName": "none"}}, 'secret "none" not found'),
        ({"projected": {"sources": [{"secret": {"name": "none"}}]}}, 'secret "none" not found'),
        (
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "k", "path": "k"}]}},
            "references non-existent config key: k",
        ),
    ],
)
def test_a_volume_says_what_it_lacks(hanging, put, told, source, why):
    put(hanging(**source))
    assert told("kubelet")[0][2].endswith(f'volume "opa" : {why}')


def test_a_volume_that_nothing_mounts_is_not_looked_at(admin, pod, put):
    volumes = [{"name": "v", "configMap": {"name": "none"}}]
    put(pod(spec={"containers": [container("a")], "volumes": volumes}))
    assert admin.get(*KEY)["status"]["phase"] == "Running"


def test_a_variable_says_which_key_is_missing(pod, put, told):
    source = {"configMapKeyRef": {"name": "kube-root-ca.crt", "key": "k"}}
    one = container("a", env=[{"name": "K", "valueFrom": source}])
    put(pod(spec={"containers": [one]}))
    why = "couldn't find key k in ConfigMap default/kube-root-ca.crt"
    assert told("kubelet")[0][2] == f"0/1 ready: container a: {why}"


def test_an_init_container_keeps_those_after_it(admin, pod, put):
    first = container("first", envFrom=[{"secretRef": {"name": "none"}}])
    put(pod(spec={"initContainers": [first], "containers": [container("a")]}))
    status = admin.get(*KEY)["status"]
    assert waits(status) == {"a": "PodInitializing"}
    state = status["initContainerStatuses"][0]["state"]
    assert state["waiting"]["reason"] == "CreateContainerConfigError"


def test_a_missing_pull_secret_is_a_warning(admin, pod, put, told):
    spec = {"containers": [container("a")], "imagePullSecrets": [{"name": "none"}]}
    put(pod(spec=spec))
    assert admin.get(*KEY)["status"]["phase"] == "Running"
    assert ("warn", "done", 'secret "none" not found') in told("kubelet")


def test_a_pod_without_its_claim_gets_no_node(admin, hanging, obj, put, told):
    put(hanging(persistentVolumeClaim={"claimName": "data"}))
    assert "nodeName" not in admin.get(*KEY)["spec"]
    why = '0/1 nodes are available: persistentvolumeclaim "data" not found.'
    assert told("kube-scheduler") == [("wait", "waiting", why)]
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    put(obj("PersistentVolumeClaim", "data", "default", spec=wanted))
    assert admin.get(*KEY)["status"]["phase"] == "Running"


def test_the_kubelet_can_be_left_out(make_cluster, pod):
    cluster = make_cluster(kubelet=False)
    cluster.sim.client(ADMIN).create(pod())
    cluster.sim.scheduler.settle(30)
    assert cluster.sim.store.get(*KEY)["status"]["phase"] == "Pending"


@pytest.mark.parametrize(
    ("probes", "seconds"),
    [
        ({"readinessProbe": {"initialDelaySeconds": 5}}, 5),
        ({"readinessProbe": {"successThreshold": 3, "periodSeconds": 4}}, 8),
        ({"readinessProbe": {"initialDelaySeconds": 5, "successThreshold": 2}}, 15),
        (
            {
                "startupProbe": {"initialDelaySeconds": 20},
                "readinessProbe": {"initialDelaySeconds": 1},
            },
            21,
        ),
    ],
)
def test_a_container_with_probes_is_ready_later(admin, pod, put, run, told, probes, seconds):
    probes = {name: {"tcpSocket": {"port": 80}, **one} for name, one in probes.items()}
    put(pod(spec={"containers": [container("a", **probes), container("b")]}))
    status = admin.get(*KEY)["status"]
    assert (status["phase"], ready(status)) == ("Running", "False")
    assert [one["ready"] for one in status["containerStatuses"]] == [False, True]
    run(seconds - 0.5)
    assert ready(admin.get(*KEY)["status"]) == "False"
    run(0.5)
    now = admin.get(*KEY)["status"]
    assert ready(now) == "True"
    assert now["containerStatuses"][0]["state"] == status["containerStatuses"][0]["state"]
    assert told("kubelet") == [
        ("start", "done", f"1/2 ready: container a: probed for {seconds}s"),
        ("start", "done", "2/2 ready"),
    ]


@pytest.mark.parametrize("probe", [{}, {"readinessProbe": {"tcpSocket": {"port": 80}}}])
def test_a_container_without_delays_is_ready_at_once(admin, pod, put, probe):
    put(pod(spec={"containers": [container("a", **probe)]}))
    assert ready(admin.get(*KEY)["status"]) == "True"


def sleeper(pod, command, **fields):
    """Return a Pod whose container runs a command."""
    return pod(spec={"containers": [container("c", command=["sh", "-c", command], **fields)]})


def lifetime(cluster, admin, grace_period=None):
    """Delete the Pod; return the seconds until it is gone."""
    begin = cluster.sim.clock.elapsed
    assert admin.delete(ObjectKey(*KEY), grace_period=grace_period).ok
    assert cluster.sim.scheduler.run_until(lambda: admin.get(*KEY) is None, 1000)
    return round(cluster.sim.clock.elapsed - begin, 1)


def test_a_deleted_pod_ends_before_it_is_gone(admin, pod, put, run, told):
    put(pod())
    admin.delete(ObjectKey(*KEY))
    before = admin.get(*KEY)
    meta = before["metadata"]
    assert (meta["deletionGracePeriodSeconds"], meta["generation"]) == (30, 2)
    assert meta["deletionTimestamp"] > meta["creationTimestamp"]
    assert (before["status"]["phase"], ready(before["status"])) == ("Running", "True")
    run(1.1)
    assert admin.get(*KEY) is None
    assert told("kubelet")[1:] == [("delete", "done", "its containers ended after 1s")]


@pytest.mark.parametrize(
    ("command", "fields", "grace_period", "seconds"),
    [
        ("nginx", {}, None, 1.0),
        ("sleep 120s", {}, None, 30.0),
        ("sleep 120s", {}, 5, 5.0),
        ("sleep 120s", {}, 0, 0.0),
        ("nginx", {"lifecycle": {"preStop": {"sleep": {"seconds": 10}}}}, None, 11.0),
        ("nginx", {"lifecycle": {"preStop": {"exec": {"command": ["sleep", "7"]}}}}, None, 8.0),
        ("nginx", {"lifecycle": {"preStop": {"sleep": {"seconds": 50}}}}, None, 30.0),
    ],
)
def test_its_containers_get_a_grace_period(
    cluster, admin, pod, put, command, fields, grace_period, seconds
):
    put(sleeper(pod, command, **fields))
    assert lifetime(cluster, admin, grace_period) == seconds


def test_a_killed_pod_has_failed(cluster, admin, pod, put):
    put(sleeper(pod, "sleep 1h"))
    seen = []
    cluster.sim.store.watch(lambda change: seen.append(change.new), {("v1", "Pod")})
    lifetime(cluster, admin)
    status = seen[-2]["status"]
    assert status["phase"] == "Failed"
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 137


def test_a_later_deletion_only_shortens_the_grace_period(cluster, admin, pod, put, run):
    put(sleeper(pod, "sleep 1h"))
    admin.delete(ObjectKey(*KEY), grace_period=20)
    first = admin.get(*KEY)
    run(2)
    admin.delete(ObjectKey(*KEY))
    admin.delete(ObjectKey(*KEY), grace_period=25)
    assert admin.get(*KEY) == first
    assert lifetime(cluster, admin, 4) == 4.0


def deny_deletions(cluster_policy, kind):
    """Return a policy that denies each deletion of a kind."""
    deletion = {"key": "{{ request.operation }}", "operator": "Equals", "value": "DELETE"}
    deny = {"failureAction": "Enforce", "deny": {"conditions": {"any": [deletion]}}}
    match = {"any": [{"resources": {"kinds": [kind], "operations": ["DELETE"]}}]}
    return cluster_policy("keep", {"match": match, "validate": deny})


def test_only_a_shorter_grace_period_is_admitted_again(admin, pod, put, cluster_policy):
    put(sleeper(pod, "sleep 1h"))
    admin.delete(ObjectKey(*KEY), grace_period=20)
    put(deny_deletions(cluster_policy, "Pod"))
    denied = [not admin.delete(ObjectKey(*KEY), grace_period=one).ok for one in (None, 20, 30, 5)]
    assert denied == [False, False, False, True]


def test_another_deletion_of_a_namespace_with_content_is_not_admitted(
    admin, obj, put, cluster_policy
):
    key = ObjectKey("v1", "Namespace", "", "left")
    held = {"finalizers": ["example.com/wait"]}
    put(obj("Namespace", "left"), obj("ConfigMap", "held", "left", metadata=held))
    admin.delete(key)
    put(deny_deletions(cluster_policy, "Namespace"), obj("Namespace", "other"))
    assert admin.delete(key).ok
    assert not admin.delete(key._replace(name="other")).ok


def test_a_pod_that_does_not_run_is_gone_at_once(make_cluster, pod):
    admin = make_cluster(kubelet=False).sim.client(ADMIN)
    admin.create(pod())
    admin.delete(ObjectKey(*KEY))
    assert admin.get(*KEY) is None


def test_a_finalizer_keeps_a_pod_that_has_ended(admin, pod, put, run):
    put({**pod(), "metadata": {**pod()["metadata"], "finalizers": ["example.com/wait"]}})
    admin.delete(ObjectKey(*KEY))
    run(60)
    left = admin.get(*KEY)
    assert left["metadata"]["deletionGracePeriodSeconds"] == 0
    assert left["status"]["phase"] == "Succeeded"
    admin.merge(ObjectKey(*KEY), {"metadata": {"finalizers": None}})
    assert admin.get(*KEY) is None


def test_another_pod_of_the_name_gets_its_own_time(cluster, admin, pod, put, run):
    put(sleeper(pod, "sleep 1h"))
    admin.delete(ObjectKey(*KEY))
    run(10)
    admin.delete(ObjectKey(*KEY), grace_period=0)
    put(sleeper(pod, "sleep 1h"))
    assert lifetime(cluster, admin) == 30.0


def test_kyverno_does_not_review_the_kubelets_deletion(cluster, admin, pod, put, cluster_policy):
    # The kubelet is in the group system:nodes, which the configuration of Kyverno excludes.
    deny = {"conditions": {"any": [{"key": "{{ request.operation }}", "operator": "Equals"}]}}
    deny["conditions"]["any"][0]["value"] = "DELETE"
    admins = {"any": [{"subjects": [{"kind": "User", "name": ADMIN.username}]}]}
    put(
        cluster_policy(
            "guard",
            {"exclude": admins, "validate": {"failureAction": "Enforce", "deny": deny}},
        )
    )
    put(pod())
    other = cluster.sim.client(ADMIN._replace(username="other", groups=("system:masters",)))
    assert "guard" in other.delete(ObjectKey(*KEY)).error.message
    assert lifetime(cluster, admin) == 1.0
