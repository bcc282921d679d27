import pytest

from kyvsim.kubernetes.pods import injected_references, references, target_of

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n"}}


def pod(**spec):
    return {**POD, "spec": spec}


def container(**fields):
    return pod(containers=[{"name": "c", **fields}])


CASES = [
    (pod(volumes=[{"name": "v", "configMap": {"name": "x"}}]), "ConfigMap"),
    (pod(volumes=[{"name": "v", "secret": {"secretName": "x"}}]), "Secret"),
    (
        pod(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "x"}}]),
        "PersistentVolumeClaim",
    ),
    (pod(volumes=[{"name": "v", "projected": {"sources": [{"secret": {"name": "x"}}]}}]), "Secret"),
    (pod(volumes=[{"name": "v", "csi": {"nodePublishSecretRef": {"name": "x"}}}]), "Secret"),
    (container(env=[{"name": "E", "valueFrom": {"configMapKeyRef": {"name": "x"}}}]), "ConfigMap"),
    (container(env=[{"name": "E", "valueFrom": {"secretKeyRef": {"name": "x"}}}]), "Secret"),
    (container(envFrom=[{"configMapRef": {"name": "x"}}]), "ConfigMap"),
    (container(envFrom=[{"secretRef": {"name": "x"}}]), "Secret"),
    (pod(imagePullSecrets=[{"name": "x"}]), "Secret"),
    (pod(serviceAccountName="x"), "ServiceAccount"),
]


@pytest.mark.parametrize(("obj", "kind"), CASES)
def test_every_place_that_names_an_object_is_found(obj, kind):
    (found,) = references(obj)
    assert found.target == (kind, "n", "x")
    assert not found.optional


def test_templates_of_controllers_are_read():
    template = {"template": {"spec": {"serviceAccountName": "x"}}}
    deployment = {"kind": "Deployment", "metadata": {}, "spec": template}
    cron_job = {"kind": "CronJob", "metadata": {}, "spec": {"jobTemplate": {"spec": template}}}
    for obj in (deployment, cron_job):
        assert [found.target for found in references(obj)] == [("ServiceAccount", "default", "x")]


def test_places_of_one_object_are_joined_and_optional_only_if_all_are():
    obj = pod(
        volumes=[{"name": "v", "secret": {"secretName": "x", "optional": True}}],
        containers=[{"name": "c", "envFrom": [{"secretRef": {"name": "x"}}]}],
    )
    (found,) = references(obj)
    assert found.places == ("volume `v`", "envFrom of container `c`")
    assert not found.optional


def test_only_added_references_count_and_known_objects_meet_them():
    before = pod(imagePullSecrets=[{"name": "old"}])
    after = pod(imagePullSecrets=[{"name": "old"}, {"name": "new"}, {"name": "gone"}])
    known = {("Secret", "n", "new"): "input s.yaml:1:1", ("Secret", "other", "gone"): "no"}
    found = injected_references(before, after, known)
    assert [(reference.target[2], met) for reference, met in found] == [
        ("new", "input s.yaml:1:1"),
        ("gone", None),
    ]


def test_the_default_service_account_is_always_there():
    ((_, met),) = injected_references(pod(), pod(serviceAccountName="default"), {})
    assert met == "in every namespace"


@pytest.mark.parametrize(
    "obj",
    [
        None,
        [],
        {"spec": "x"},
        pod(volumes="x", containers=[3]),
        pod(volumes=[{"name": 1, "secret": 4}]),
    ],
)
def test_odd_shapes_have_no_references(obj):
    assert references(obj) == []


def test_only_kinds_that_pods_name_are_targets():
    assert target_of({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}) == (
        "Secret",
        "default",
        "s",
    )
    assert target_of({"apiVersion": "x/v1", "kind": "Secret", "metadata": {"name": "s"}}) is None
    assert target_of(POD) is None
