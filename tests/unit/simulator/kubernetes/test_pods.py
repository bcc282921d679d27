"""The scheduler and the kubelet."""

import pytest

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
