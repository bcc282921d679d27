"""Objects that an API server refuses, and its messages."""

import pytest

from kyvsim.kubernetes.objects import object_key
from kyvsim.schema.node import NamedSchemas
from kyvsim.simulator.api_server.validation import refuse_change, refuse_unreadable, schema_errors

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


# Custom kinds are served once they are defined, and checked by their schema.

NAMES = {"plural": "gizmos", "singular": "gizmo", "kind": "Gizmo"}
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {"size": {"type": "integer", "default": 3}},
        }
    },
}


@pytest.fixture
def definition(obj):
    version = {"name": "v1", "served": True, "schema": {"openAPIV3Schema": SCHEMA}}
    spec = {"group": "example.com", "names": NAMES, "scope": "Namespaced", "versions": [version]}
    api_version = "apiextensions.k8s.io/v1"
    return obj("CustomResourceDefinition", "gizmos.example.com", api_version=api_version, spec=spec)


@pytest.fixture
def gizmo(obj):
    return lambda **spec: obj("Gizmo", "g", "default", "example.com/v1", spec=spec)


def test_a_kind_is_unknown_before_it_is_defined(admin, gizmo):
    assert 'no matches for kind "Gizmo"' in admin.create(gizmo()).error.message


def test_a_defined_kind_is_pruned_and_completed(put, definition, gizmo):
    assert put(definition, gizmo(colour="red"))["spec"] == {"size": 3}


def test_a_defined_kind_is_refused_by_its_schema(put, admin, definition, gizmo):
    put(definition)
    error = admin.create(gizmo(size="big")).error
    assert error.message == (
        'Gizmo.example.com "g" is invalid: spec.size: Invalid value: "string": '
        'spec.size in body must be of type integer: "string"'
    )


def test_policies_are_stored_with_their_defaults(put, cluster_policy):
    stored = put(cluster_policy("p", {"validate": {"message": "m", "deny": {}}}))
    assert stored["spec"]["admission"] is True
    assert stored["spec"]["rules"][0]["skipBackgroundRequests"] is True


# Objects of custom kinds that do not fit are refused with the API server's words.

ONE_OF = "must validate one and only one schema (oneOf)."
EITHER = [{"required": ["a"]}, {"required": ["b"]}]
TEXT = {"type": "string"}


def problems(spec, old=None, **words):
    properties = {"spec": {"type": "object", **words}}
    schema = NamedSchemas().node({"type": "object", "properties": properties})
    return schema_errors({"spec": spec}, old, schema)


@pytest.mark.parametrize(
    ("node", "spec", "told"),
    [
        (
            {"properties": {"a": {"type": "integer"}}},
            {"a": "x"},
            'spec.a: Invalid value: "string": spec.a in body must be of type integer: "string"',
        ),
        ({"required": ["a"]}, {}, "spec.a: Required value"),
        (
            {"properties": {"a": {**TEXT, "enum": ["x", "y"]}}},
            {"a": "z"},
            'spec.a: Unsupported value: "z": supported values: "x", "y"',
        ),
        (
            {"properties": {"a": {**TEXT, "pattern": "^b+$"}}},
            {"a": "z"},
            "spec.a: Invalid value: \"z\": spec.a in body should match '^b+$'",
        ),
        (
            {"properties": {"a": {"type": "integer", "minimum": 1}}},
            {"a": 0},
            "spec.a: Invalid value: 0: spec.a in body should be greater than or equal to 1",
        ),
        (
            {"properties": {"a": {**TEXT, "maxLength": 2}}},
            {"a": "abc"},
            "spec.a: Too long: may not be more than 2 bytes",
        ),
        (
            {"properties": {"a": {"type": "array", "minItems": 1}}},
            {"a": []},
            "spec.a: Invalid value: 0: spec.a in body should have at least 1 items",
        ),
        (
            {"properties": {"a": {"type": "array", "x-kubernetes-list-type": "set"}}},
            {"a": ["x", "x"]},
            'spec.a[1]: Duplicate value: "x"',
        ),
        (
            {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"a": 1, "b": 1},
            f'<nil>: Invalid value: "": "spec" {ONE_OF} Found 2 valid alternatives',
        ),
        (
            {"not": {"required": ["a", "b"]}},
            {"a": 1, "b": 1},
            '<nil>: Invalid value: "": "spec" must not validate the schema (not)',
        ),
    ],
)
def test_what_does_not_fit_is_told(node, spec, told):
    assert problems(spec, **node) == [told]


def test_numbers_may_be_texts_where_a_schema_says_so():
    words = {"properties": {"a": {"x-kubernetes-int-or-string": True}}}
    assert not problems({"a": 1}, **words)
    assert not problems({"a": "1"}, **words)
    assert "must be of type integer,string" in problems({"a": []}, **words)[0]


def test_what_keeps_a_choice_from_fitting_is_told_after_it():
    assert problems({}, oneOf=EITHER) == [
        f'<nil>: Invalid value: "": "spec" {ONE_OF} Found none valid',
        "spec.a: Required value",
    ]


def test_what_one_of_all_objects_to_is_told_before_them():
    assert problems({"a": 1}, allOf=EITHER) == [
        "spec.b: Required value",
        '<nil>: Invalid value: "": "spec" must validate all the schemas (allOf)',
    ]


def test_rules_in_cel_are_asked_where_nothing_else_is_wrong():
    rules = [{"rule": "self.a >= oldSelf.a", "message": "only upwards"}]
    before = {"spec": {"a": 2}}
    words = {"properties": {"a": "integer"}, "x-kubernetes-validations": rules}
    assert problems({"a": 1}, before, **words) == ['spec: Invalid value: "object": only upwards']
    assert problems({"a": 3}, before, **words) == []
    assert "only upwards" not in str(problems({"a": "x"}, before, **words))


# Objects whose fields have wrong types are refused as by an API server that cannot read them.


def thing(api_version, kind, **fields):
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, **fields}


def container(**fields):
    return {"containers": [{"name": "a", "image": "b", **fields}]}


@pytest.mark.parametrize(
    ("obj", "problem"),
    [
        (
            thing("v1", "Pod", spec=container(resources={"limits": "a"})),
            "json: cannot unmarshal string into Go struct field ",
        ),
        (
            thing("apps/v1", "Deployment", spec={"selector": {"matchLabels": "x"}}),
            "json: cannot unmarshal string into Go struct field ",
        ),
        (
            thing("apps/v1", "StatefulSet", spec={"replicas": "x"}),
            (
                "json: cannot unmarshal string into Go struct field StatefulSetSpec.spec.replicas "
                "of type int32"
            ),
        ),
        (
            thing("v1", "Service", spec={"ports": [{"port": 80.0, "nodePort": [1.0]}]}),
            "json: cannot unmarshal array into Go struct field ServicePort.spec.ports.nodePort of ",
        ),
        (
            thing("v1", "Service", spec={"type": []}),
            "json: cannot unmarshal array into Go struct field ServiceSpec.spec.type of type ",
        ),
        (
            thing("v1", "Namespace", spec=5.0),
            "json: cannot unmarshal number into Go struct field Namespace.spec of type v1.",
        ),
        (
            thing("v1", "Pod", spec={"volumes": 5.0}),
            "json: cannot unmarshal number into Go struct field PodSpec.spec.volumes of type []v1.",
        ),
        (
            thing("apiextensions.k8s.io/v1", "CustomResourceDefinition", spec={"names": 5.0}),
            (
                "json: cannot unmarshal number into Go struct field CustomResourceDefinitionSpec."
                "spec.names of type v1.CustomResourceDefinitionNames"
            ),
        ),
        (
            thing("v1", "Secret", data={"a": 5.0}),
            "json: cannot unmarshal number into Go struct field Secret.data of type []uint8",
        ),
        (
            thing("rbac.authorization.k8s.io/v1", "ClusterRole", rules=["x"]),
            "json: cannot unmarshal string into Go struct field ClusterRole.rules of type v1.",
        ),
        (
            thing("autoscaling/v2", "HorizontalPodAutoscaler", spec={"metrics": "x"}),
            "json: cannot unmarshal string into Go struct field ",
        ),
    ],
)
def test_a_wrong_type_is_refused(obj, problem):
    refused = refuse_unreadable(obj)
    assert (refused.code, refused.reason) == (400, "BadRequest")
    kind, version = obj["kind"], obj["apiVersion"].rpartition("/")[2]
    start = f'{kind} in version "{version}" cannot be handled as a {kind}: '
    assert refused.message.startswith(start + problem)
    changed = refuse_change(obj)
    assert (changed.code, changed.reason) == (500, "InternalError")
    assert problem in changed.message


@pytest.mark.parametrize(
    "obj",
    [
        thing("v1", "Pod", spec=container(resources={"limits": {"cpu": 1.0, "memory": "1Gi"}})),
        thing("v1", "Service", spec={"ports": [{"port": 80.0, "targetPort": "http"}]}),
        thing("v1", "Secret", data={"a": "YQ=="}, stringData={"b": "c"}),
        thing("example.com/v1", "Service", spec=5.0),
        thing("example.com/v1", "Widget", spec=[]),
        thing("v1", "Pod", spec={**container(), "unheardOf": 5.0}),
        thing(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            spec={
                "names": {"kind": "A", "plural": "as"},
                "versions": [
                    {
                        "name": "v1",
                        "schema": {
                            "openAPIV3Schema": {
                                "type": "object",
                                "properties": {"a": {"default": {"b": 1.5}, "maximum": 2.5}},
                                "additionalProperties": True,
                            }
                        },
                    }
                ],
            },
        ),
    ],
)
def test_what_fits_is_not(obj):
    assert refuse_unreadable(obj) is None
