"""Defaults, admission plugins, and the fields of new objects."""

import pytest

from kyvsim.kubernetes.defaults import with_defaults
from kyvsim.simulator.api_server.pod_plugins import TOKEN_PATH
from kyvsim.simulator.api_server.server import qos_class


def spec_of(api_version, kind, **spec):
    return with_defaults({"apiVersion": api_version, "kind": kind, "spec": spec})["spec"]


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.27", "IfNotPresent"),
        (f"nginx@sha256:{'a' * 64}", "IfNotPresent"),
        ("NO IMAGE", "IfNotPresent"),
    ],
)
def test_an_image_is_pulled_by_its_tag(image, policy):
    spec = spec_of("v1", "Pod", containers=[{"name": "c", "image": image}])
    assert spec["containers"][0]["imagePullPolicy"] == policy


def test_a_pod_is_complete():
    limits = {"cpu": "1"}
    container = {
        "name": "c",
        "image": "nginx:1",
        "ports": [{"containerPort": 80}],
        "livenessProbe": {"httpGet": {"port": 80}},
        "resources": {"limits": limits},
    }
    spec = spec_of("v1", "Pod", containers=[container], volumes=[{"name": "v"}])
    (done,) = spec["containers"]
    assert done["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert done["livenessProbe"]["httpGet"] == {"port": 80, "path": "/", "scheme": "HTTP"}
    assert done["livenessProbe"]["periodSeconds"] == 10
    assert done["resources"]["requests"] == limits
    assert spec["volumes"] == [{"name": "v", "emptyDir": {}}]
    assert (spec["restartPolicy"], spec["dnsPolicy"]) == ("Always", "ClusterFirst")
    assert spec["enableServiceLinks"] is True


def test_a_template_is_no_pod():
    template = {"spec": {"containers": [{"name": "c", "image": "nginx:1"}]}}
    spec = spec_of("apps/v1", "Deployment", template=template)
    assert spec["template"]["spec"]["restartPolicy"] == "Always"
    assert "enableServiceLinks" not in spec["template"]["spec"]
    rolling = {"maxUnavailable": "25%", "maxSurge": "25%"}
    assert spec["strategy"] == {"type": "RollingUpdate", "rollingUpdate": rolling}


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({}, (1, 1)),
        ({"parallelism": 2}, (2, None)),
        ({"completions": 3}, (1, 3)),
        ({"parallelism": None}, (1, 1)),
    ],
)
def test_a_job_is_one_pod_unless_it_says_otherwise(given, found):
    spec = spec_of("batch/v1", "Job", **given)
    assert (spec["parallelism"], spec.get("completions")) == found


def test_what_is_given_stays():
    spec = spec_of("v1", "Service", type="NodePort", ports=[{"port": 80, "targetPort": "web"}])
    assert spec["type"] == "NodePort"
    assert spec["ports"] == [{"port": 80, "targetPort": "web", "protocol": "TCP"}]
    assert spec["externalTrafficPolicy"] == "Cluster"


@pytest.mark.parametrize(
    ("given", "types"),
    [({}, ["Ingress"]), ({"egress": [{}]}, ["Ingress", "Egress"]), ({"egress": []}, ["Ingress"])],
)
def test_a_network_policy_is_about_what_it_says(given, types):
    spec = spec_of("networking.k8s.io/v1", "NetworkPolicy", **given)
    assert spec["policyTypes"] == types


def test_data_of_another_shape_is_left_alone():
    for kind in ("Pod", "Service", "PersistentVolumeClaim"):
        odd = {"apiVersion": "v1", "kind": kind, "spec": "odd"}
        assert with_defaults(odd)["spec"] == "odd"
    pod = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": "odd", "volumes": ["odd"]}}
    assert with_defaults(pod)["spec"]["containers"] == "odd"


def test_services_have_addresses_of_their_own(admin, obj):
    def made(name, **spec):
        sent = obj("Service", name, "default", spec={"ports": [{"port": 80}], **spec})
        return admin.create(sent).object["spec"]

    first, second = made("a"), made("b", type="NodePort")
    assert first["clusterIP"] != second["clusterIP"]
    assert second["clusterIPs"] == [second["clusterIP"]]
    assert second["ports"][0]["nodePort"] == 30000
    assert made("c", clusterIP="None")["clusterIPs"] == ["None"]
    assert "clusterIP" not in made("d", type="ExternalName", externalName="example.com")


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1"}}, "Burstable"),
    ],
)
def test_a_pod_is_treated_as_it_asks(resources, expected):
    assert qos_class({"containers": [{"name": "c", "resources": resources}]}) == expected


def test_a_pod_gets_the_token_of_its_account(admin, pod):
    spec = admin.create(pod()).object["spec"]
    (volume,) = spec["volumes"]
    assert spec["serviceAccountName"] == spec["serviceAccount"] == "default"
    assert volume["name"].startswith("kube-api-access-")
    assert spec["containers"][0]["volumeMounts"] == [
        {"name": volume["name"], "mountPath": TOKEN_PATH, "readOnly": True}
    ]


def test_a_pod_or_its_account_may_decline_the_token(admin, obj, pod):
    spec = {**pod()["spec"], "automountServiceAccountToken": False}
    assert "volumes" not in admin.create(pod(spec=spec)).object["spec"]
    admin.create(obj("ServiceAccount", "quiet", "default", automountServiceAccountToken=False))
    spec = {**pod()["spec"], "serviceAccountName": "quiet"}
    assert "volumes" not in admin.create(pod("q", spec=spec)).object["spec"]


def test_a_pod_without_its_account_is_refused(admin, pod):
    spec = {**pod()["spec"], "serviceAccountName": "missing"}
    error = admin.create(pod(spec=spec)).error
    assert error.reason == "Forbidden"
    assert error.message == (
        'pods "p" is forbidden: error looking up service account default/missing: '
        'serviceaccount "missing" not found'
    )


def test_a_pod_pulls_images_as_its_account_does(admin, obj, pod):
    admin.create(obj("ServiceAccount", "a", "default", imagePullSecrets=[{"name": "s"}]))
    spec = {**pod()["spec"], "serviceAccountName": "a"}
    assert admin.create(pod(spec=spec)).object["spec"]["imagePullSecrets"] == [{"name": "s"}]


def test_a_pod_stands_a_failing_node_for_a_while(admin, pod):
    own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
    spec = {**pod()["spec"], "tolerations": [own]}
    found = admin.create(pod(spec=spec)).object["spec"]["tolerations"]
    assert [one["key"] for one in found] == [own["key"], "node.kubernetes.io/unreachable"]


def test_a_pod_has_the_priority_of_its_class(admin, obj, pod):
    high = obj("PriorityClass", "high", api_version="scheduling.k8s.io/v1", value=9)
    admin.create(high)
    spec = {**pod()["spec"], "priorityClassName": "high"}
    assert admin.create(pod(spec=spec)).object["spec"]["priority"] == 9
    assert admin.create(pod("q")).object["spec"]["priority"] == 0
