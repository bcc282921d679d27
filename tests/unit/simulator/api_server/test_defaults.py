import pytest

from kyvsim.simulator.api_server.defaults import with_defaults


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
