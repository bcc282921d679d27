import pytest

from kyvsim.kubernetes.objects import object_key

OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}


def said(response):
    assert response.error is not None
    assert response.error.reason == "Invalid"
    return response.error.message


@pytest.mark.parametrize(
    ("kind", "name", "problem"),
    [
        ("ConfigMap", "No_Name", "a lowercase RFC 1123 subdomain must consist of"),
        ("ConfigMap", "a" * 254, "must be no more than 253 characters"),
        ("Namespace", "a.b", "must not contain dots"),
    ],
)
def test_a_name_has_a_form(admin, obj, kind, name, problem):
    place = "" if kind == "Namespace" else "default"
    message = said(admin.create(obj(kind, name, place)))
    assert f'metadata.name: Invalid value: "{name}": {problem}' in message


def test_roles_may_have_other_names(admin, obj):
    rbac = "rbac.authorization.k8s.io/v1"
    assert admin.create(obj("ClusterRole", "system:Some_role", api_version=rbac)).ok


def test_a_label_has_at_most_63_bytes(admin, obj):
    meta = {"labels": {"a": "b" * 64}}
    message = said(admin.create(obj("ConfigMap", "a", "default", metadata=meta)))
    assert message == (
        f'ConfigMap "a" is invalid: metadata.labels: Invalid value: "{"b" * 64}": '
        "must be no more than 63 bytes"
    )


@pytest.mark.parametrize(
    ("owners", "problem"),
    [
        ([{**OWNER, "uid": ""}], '.uid: Invalid value: "": uid must not be empty'),
        ([{"uid": "u", "name": "n", "apiVersion": "v1"}], ".kind: Invalid value"),
        (
            [{**OWNER, "apiVersion": ""}],
            '.apiVersion: Invalid value: "": version must not be empty',
        ),
        (
            [{**OWNER, "controller": True}, {**OWNER, "uid": "w", "controller": True}],
            ": Invalid value: Only one reference can have Controller set to true. Found",
        ),
    ],
)
def test_owners_are_whole(admin, obj, owners, problem):
    made = admin.create(obj("ConfigMap", "a", "default", metadata={"ownerReferences": owners}))
    assert f"metadata.ownerReferences{problem}" in said(made)


def test_a_job_with_a_long_name_is_refused_for_its_label(admin, obj):
    name = f"rfc-{'p' * 60}"
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox"}]}
    sent = obj("Job", name, "default", "batch/v1", spec={"template": {"spec": pod}})
    message = said(admin.create(sent))
    assert message == (
        f'Job.batch "{name}" is invalid: spec.template.labels: Invalid value: "{name}": '
        "must be no more than 63 bytes"
    )


def test_a_job_says_how_its_pods_restart(admin, obj, pod):
    sent = obj("Job", "j", "default", "batch/v1", spec={"template": {"spec": pod()["spec"]}})
    path = "spec.template.spec.restartPolicy"
    assert f'{path}: Required value: valid values: "OnFailure", "Never"' in said(admin.create(sent))


def test_a_mount_needs_its_volume(admin, pod):
    container = {"name": "c", "image": "i", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}
    message = said(admin.create(pod(spec={"containers": [container]})))
    assert 'spec.containers[0].volumeMounts[0].name: Not found: "v"' in message


def test_several_problems_are_all_told(admin, pod):
    message = said(admin.create(pod(spec={"containers": [{"name": "C"}]})))
    assert '[spec.containers[0].name: Invalid value: "C"' in message
    assert message.endswith(", spec.containers[0].image: Required value]")


def test_a_selector_fits_its_template(admin, deployment):
    sent = deployment(selector={"matchLabels": {"app": "other"}})
    message = said(admin.create(sent))
    shown = 'spec.template.metadata.labels: Invalid value: {"app":"web"}'
    assert message.endswith(f"{shown}: `selector` does not match template `labels`")


@pytest.mark.parametrize("selector", [{}, {"matchLabels": {}}, {"matchExpressions": []}])
@pytest.mark.parametrize(
    ("kind", "named"),
    [
        ("DaemonSet", "daemonset"),
        ("Deployment", "deployment"),
        ("ReplicaSet", "deployment"),
        ("StatefulSet", "statefulset"),
    ],
)
def test_an_empty_selector_is_no_missing_one(admin, deployment, kind, named, selector):
    sent = {**deployment(selector=selector), "kind": kind}
    message = said(admin.create(sent))
    assert f"spec.selector: Invalid value: {{}}: empty selector is invalid for {named}" in message
    missing = {name: one for name, one in sent["spec"].items() if name != "selector"}
    assert "spec.selector: Required value" in said(admin.create({**sent, "spec": missing}))


def test_a_pod_changes_only_in_some_fields(admin, pod):
    made = admin.create(pod()).object
    spec = made["spec"]
    other = {**spec, "containers": [{**spec["containers"][0], "image": "nginx:2"}]}
    assert admin.update({**made, "spec": other}).ok
    other = {
        **spec,
        "containers": [{**spec["containers"][0], "env": [{"name": "A", "value": "b"}]}],
    }
    message = said(admin.merge(object_key(made), {"spec": other}))
    assert "spec: Forbidden: pod updates may not change fields other than" in message
    more = [*spec["containers"], {"name": "d", "image": "nginx:1"}]
    message = said(admin.merge(object_key(made), {"spec": {"containers": more}}))
    assert "spec.containers: Forbidden: pod updates may not add or remove containers" in message


def test_a_selector_stays(admin, deployment):
    made = admin.create(deployment()).object
    labels = {"metadata": {"labels": {"app": "x"}}}
    changed = {"selector": {"matchLabels": {"app": "x"}}, "template": labels}
    message = said(admin.merge(object_key(made), {"spec": changed}))
    assert message.endswith("spec.selector: Invalid value: field is immutable")


def test_a_sealed_config_map_stays(admin, obj):
    made = admin.create(obj("ConfigMap", "a", "default", data={"k": "1"}, immutable=True)).object
    message = said(admin.merge(object_key(made), {"data": {"k": "2"}}))
    assert "data: Forbidden: field is immutable when `immutable` is set" in message


def test_a_definition_says_what_it_defines(admin, obj):
    api_version = "apiextensions.k8s.io/v1"
    spec = {"group": "example.com", "names": {"plural": "gizmos"}, "versions": [{}]}
    bare = obj("CustomResourceDefinition", "gizmos.example.com", api_version=api_version, spec=spec)
    assert said(admin.create(bare)).endswith(
        "[spec.scope: Required value, spec.names.kind: Required value, "
        "spec.versions[0].name: Required value]"
    )
