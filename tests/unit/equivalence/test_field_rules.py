import pytest

from kyvsim.equivalence.field_rules import is_accepted
from kyvsim.equivalence.objects import (
    CONTROLLERS,
    KindName,
    smallest,
    template_path,
    unwrapped,
    with_template_metadata,
    wrapped,
)
from kyvsim.kubernetes.objects import found_at, replaced
from kyvsim.schema.merge_types import find_type

POD = smallest(KindName("", "v1", "Pod"))
KINDS = [
    KindName("", "v1", "ConfigMap"),
    KindName("", "v1", "Namespace"),
    KindName("", "v1", "Pod"),
    KindName("", "v1", "Service"),
    KindName("networking.k8s.io", "v1", "Ingress"),
    KindName("rbac.authorization.k8s.io", "v1", "ClusterRole"),
    *(KindName(group, "v1", kind) for group, kind in CONTROLLERS),
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_the_smallest_object_of_a_kind_is_taken(kind):
    assert is_accepted(smallest(kind), find_type)


def changed(**spec):
    return {**POD, "spec": {**POD["spec"], **spec}}


@pytest.mark.parametrize(
    "spec",
    [
        {"hostNetwork": "yes"},
        {"hostNetwork": None},
        {"containers": []},
        {"containers": [{"name": "a"}]},
        {"unknownField": 1},
        {"restartPolicy": "Sometimes"},
        {"volumes": []},
        {"topologySpreadConstraints": [{}]},
        {"containers": [{"name": "a", "image": "b", "resources": {"limits": {"cpu": "much"}}}]},
        {"containers": [{"name": "a", "image": "b", "resources": {"limits": {"cpu": 1}}}]},
        {"volumes": [{"name": "a", "hostPath": {}}]},
        {"volumes": [{"name": "a", "emptyDir": {"sizeLimit": False}}]},
        {"volumes": [{"name": "a", "emptyDir": {"sizeLimit": "-1Gi"}}]},
        {"containers": [{"name": "a", "image": "b", "resources": {"limits": {"memory": "-1"}}}]},
        {"containers": [{"name": "a", "image": "b", "startupProbe": {}}]},
        {"containers": [{"name": "a", "image": "b", "lifecycle": {"preStop": {}}}]},
        {"containers": [{"name": "a", "image": "b", "ports": [{"containerPort": 70000}]}]},
        {"containers": [{"name": "a", "image": "b", "env": [{"name": "A", "valueFrom": {}}]}]},
        {"nodeSelector": {"disk": "*"}},
        {"terminationGracePeriodSeconds": -1},
        {"tolerations": [{"operator": "Like"}]},
    ],
    ids=repr,
)
def test_what_no_server_hands_on_is_told_apart(spec):
    assert not is_accepted(changed(**spec), find_type)


@pytest.mark.parametrize(
    "spec",
    [
        {"hostNetwork": True},
        {"restartPolicy": "Never"},
        {"containers": [{"name": "a", "image": "b", "resources": {"limits": {"cpu": "500m"}}}]},
        {"volumes": [{"name": "a", "hostPath": {"path": "/a"}}]},
        {"volumes": [{"name": "a", "emptyDir": {"sizeLimit": "1Gi"}}]},
        {"containers": [{"name": "a", "image": "b", "startupProbe": {"httpGet": {"port": 80}}}]},
        {"containers": [{"name": "a", "image": "b", "ports": [{"containerPort": 8080}]}]},
        {"nodeSelector": {"disk": "ssd"}},
        {"priority": -5},
    ],
    ids=repr,
)
def test_what_fits_is_taken(spec):
    assert is_accepted(changed(**spec), find_type)


@pytest.mark.parametrize(("group", "kind"), CONTROLLERS)
def test_a_controller_of_a_pod_leads_back_to_it(group, kind):
    found = unwrapped(wrapped(POD, KindName(group, "v1", kind)))
    assert found["spec"]["containers"] == POD["spec"]["containers"]
    assert found["metadata"]["name"] == POD["metadata"]["name"]
    assert unwrapped(POD) is None


@pytest.mark.parametrize(
    ("kind", "metadata"),
    [
        (KindName("", "v1", "Namespace"), {"name": "a", "namespace": "b"}),
        (KindName("example.com", "v1", "Odd"), {"name": "a", "namespace": 1}),
        (KindName("example.com", "v1", "Odd"), {"name": "a", "labels": {"b": True}}),
        (KindName("", "v1", "ConfigMap"), {"name": "a", "labels": {"b": "*"}}),
        (KindName("", "v1", "ConfigMap"), {"name": "a", "namespace": "A_b"}),
    ],
    ids=str,
)
def test_metadata_are_checked_for_every_kind(kind, metadata):
    assert is_accepted(smallest(kind), find_type)
    assert not is_accepted({**smallest(kind), "metadata": metadata}, find_type)


@pytest.mark.parametrize("image", ["!*:latest", "*:*", "a b", "Nginx", "", "nginx:"])
def test_images_that_no_registry_has_are_told_apart(image):
    for name in ("containers", "initContainers"):
        spec = {name: [{"name": "b", "image": image}]}
        assert not is_accepted(changed(**spec), find_type)


@pytest.mark.parametrize(
    "image", ["nginx", "localhost:5000/a/b:1.0", "a.example.com/b@sha256:" + "0" * 64]
)
def test_images_that_a_registry_may_have_are_taken(image):
    assert is_accepted(changed(containers=[{"name": "b", "image": image}]), find_type)


def test_controllers_need_a_template():
    controller = smallest(KindName("", "v1", "ReplicationController"))
    assert is_accepted(controller, find_type)
    assert not is_accepted({**controller, "spec": {}}, find_type)
    for template in ({}, {"metadata": {}}, {"spec": {}}, {"spec": {"containers": []}}):
        assert not is_accepted({**controller, "spec": {"template": template}}, find_type)


@pytest.mark.parametrize("key", CONTROLLERS, ids=lambda key: key[1])
def test_templates_have_metadata_where_a_server_hands_them_on(key):
    made = wrapped(POD, KindName(key[0], "v1", key[1]))
    bare = replaced(made, template_path(made), {"spec": POD["spec"]})
    whole = with_template_metadata(bare)
    assert found_at(whole, template_path(made)) == {"metadata": {}, "spec": POD["spec"]}
    assert with_template_metadata(whole) is whole
    assert with_template_metadata(POD) is POD


@pytest.mark.parametrize(("api_version", "kind"), [("v1", ""), ("v1", "pod"), ("", "Pod")])
def test_what_has_no_kind_is_no_object(api_version, kind):
    assert not is_accepted({**POD, "apiVersion": api_version, "kind": kind}, find_type)


RESOURCE = {"resource": {"kind": "A", "name": "a"}}


@pytest.mark.parametrize(
    ("path", "backend", "accepted"),
    [
        ("/a", RESOURCE, True),
        ("/*", {"service": {"name": "a", "port": {"number": 80}}}, True),
        ("a", RESOURCE, False),
        ("/a", {"resource": {"kind": "A"}}, False),
        ("/a", {"resource": {}}, False),
        ("/a", {"service": {"name": "a"}}, False),
        ("/a", {}, False),
    ],
)
def test_an_ingress_leads_somewhere(path, backend, accepted):
    paths = [{"path": path, "pathType": "Prefix", "backend": backend}]
    ingress = smallest(KindName("networking.k8s.io", "v1", "Ingress"))
    obj = {**ingress, "spec": {"rules": [{"http": {"paths": paths}}]}}
    assert is_accepted(obj, find_type) is accepted
