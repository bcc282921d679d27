"""Objects that an API server refuses: one warning for each kind and cause."""

import pytest
import yaml

from kyvsim.api import ApplyInputs, open_application
from kyvsim.api.lint import lint
from kyvsim.api.refused_objects import refused_objects
from kyvsim.cli.main import run
from kyvsim.model.source import Document, Location

OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u"}


def pod(metadata=(), container=(), **spec):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", **dict(metadata)},
        "spec": {"containers": [{"name": "c", "image": "x", **dict(container)}], **spec},
    }


MOUNT = {"name": "v", "mountPath": "/v"}


def workload(kind="Deployment", spec=(), selector=None, template=None):
    labels = {"labels": {"app": "a"}}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "a"},
        "spec": {
            "selector": selector or {"matchLabels": {"app": "a"}},
            "template": {"metadata": labels, "spec": pod()["spec"], **(template or {})},
            **dict(spec),
        },
    }


def thing(**metadata):
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t", **metadata}}


def other(api_version, kind, **parts):
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, **parts}


RBAC = "rbac.authorization.k8s.io/v1"
ROLE_REF = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
SERVICE = {"service": {"name": "s", "port": {"number": 1}}}


def ingress(**path):
    return other("networking.k8s.io/v1", "Ingress", spec={"rules": [{"http": {"paths": [path]}}]})


def autoscaler(**spec):
    scaled = {"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "maxReplicas": 2}
    return other("autoscaling/v2", "HorizontalPodAutoscaler", spec={**scaled, **spec})


def told(*objects):
    documents = [
        Document(data, "r.yaml", index, lambda path: Location("/".join(map(str, path))))
        for index, data in enumerate(objects)
    ]
    return [(one.code, one.location.file, one.message) for one in refused_objects(documents)]


@pytest.mark.parametrize(
    ("obj", "path", "what"),
    [
        (pod({"labels": {"n": 1.0}}), "metadata/labels/n", "must be a string, not a number"),
        (
            pod({"annotations": {"n": True}}),
            "metadata/annotations/n",
            "must be a string, not a boolean",
        ),
        (pod({"finalizers": "x"}), "metadata/finalizers", "must be a list, not a string"),
        (pod({"name": "A_b"}), "metadata/name", "is invalid: "),
        (pod({"labels": {"a": "b c"}}), "metadata/labels", "is invalid: "),
        (pod(hostNetwork="true"), "spec/hostNetwork", "must be a boolean, not a string"),
        (pod(containers={"a": "b"}), "spec/containers", "must be a list, not an object"),
        (
            pod(container={"ports": [{"containerPort": "80"}]}),
            "spec/containers/0/ports/0/containerPort",
            "must be a number, not a string",
        ),
        (
            pod(container={"env": [{"name": "A", "value": 5}]}),
            "spec/containers/0/env/0/value",
            "must be a string, not an integer",
        ),
        (pod(container={"name": ""}), "spec/containers/0", "has an element without `name`"),
        (pod(containers=[None]), "spec/containers/0", "has an element without `name`"),
        (pod(initContainers=[None]), "spec/initContainers/0", "has an element without `name`"),
        (pod(volumes=[None]), "spec/volumes/0", "has an element without `name`"),
        (
            pod(container={"volumeMounts": [None]}),
            "spec/containers/0/volumeMounts/0",
            "has an element without `mountPath`",
        ),
        (
            pod({"ownerReferences": [{**OWNER, "uid": ""}]}),
            "metadata/ownerReferences/0",
            "has an element without `uid`",
        ),
        (
            thing(ownerReferences=[{"name": "a", "kind": "B", "uid": "c"}]),
            "metadata/ownerReferences/0",
            "has an element without `apiVersion`",
        ),
        (thing(labels=[1]), "metadata/labels", "must be a map, not an array"),
        (pod({"namespace": "Shop"}), "metadata/namespace", 'is invalid: "Shop": a lowercase'),
        *(
            (
                pod(container={"resources": {part: {"memory": value}}}),
                f"spec/containers/0/resources/{part}/memory",
                f"must be a quantity such as 100m or 1Gi: {shown}",
            )
            for part, value, shown in (
                ("limits", "12 Gi", '"12 Gi"'),
                ("requests", "1GB", '"1GB"'),
                ("limits", True, "true"),
            )
        ),
        (
            pod(volumes=[{"name": "v", "emptyDir": {"sizeLimit": "lots"}}]),
            "spec/volumes/0/emptyDir/sizeLimit",
            'must be a quantity such as 100m or 1Gi: "lots"',
        ),
        (
            other("v1", "ResourceQuota", spec={"hard": {"cpu": "four"}}),
            "spec/hard/cpu",
            'must be a quantity such as 100m or 1Gi: "four"',
        ),
        *(
            (
                pod({"creationTimestamp": value}),
                "metadata/creationTimestamp",
                f"must be a time such as 2026-01-31T08:00:00Z: {shown}",
            )
            for value, shown in (("yesterday", '"yesterday"'), ("", '""'), (1.0, "1.0"))
        ),
        (
            other("coordination.k8s.io/v1", "Lease", spec={"renewTime": "2026-01-31"}),
            "spec/renewTime",
            'must be a time such as 2026-01-31T08:00:00Z: "2026-01-31"',
        ),
        (
            other("v1", "Secret", data={"password": "top secret!"}),
            "data/password",
            "must be base64 (`stringData` takes plain text)",
        ),
        (other("v1", "Secret", data={"a": "YQ"}), "data/a", "must be base64"),
        (
            pod(restartPolicy="always"),
            "spec/restartPolicy",
            'has an unknown value: did you mean `Always`?: "always"',
        ),
        (pod(hostNetwrk=True), "spec/hostNetwrk", "is not a field: did you mean `hostNetwork`?"),
        (
            pod(container={"limits": {"cpu": 1}}),
            "spec/containers/0/limits",
            "is not a field: it is in `resources.limits`",
        ),
        (
            {**workload(), "apiVersion": "v1"},
            "apiVersion",
            "has no such kind: did you mean `apps/v1`?",
        ),
        (
            other("apps/v1", "NetworkPolicy", spec={"podSelector": {}}),
            "apiVersion",
            "has no such kind: did you mean `networking.k8s.io/v1`?",
        ),
        (other("apps/v1", "Service"), "apiVersion", "has no such kind: did you mean `v1`?"),
        (
            other("batch/v1beta1", "CronJob"),
            "apiVersion",
            "has no such kind: did you mean `batch/v1`?",
        ),
        (
            other("extensions/v1beta1", "Ingress"),
            "apiVersion",
            "has no such kind: did you mean `networking.k8s.io/v1`?",
        ),
        (
            other("autoscaling/v2beta2", "HorizontalPodAutoscaler"),
            "apiVersion",
            "has no such kind: did you mean `autoscaling/v2`?",
        ),
        (other("v1", "ConfigMap", binaryData={"a": "%"}), "binaryData/a", "must be base64"),
    ],
)
def test_what_no_request_gets_past(obj, path, what):
    ((code, place, message),) = told(obj)
    assert (code, place) == ("KV233", path)
    field = ".".join(step for step in path.split("/") if not step.isdecimal())
    assert message.startswith(f"an API server rejects this {obj['kind']}: `{field}` {what}")


@pytest.mark.parametrize(
    "obj",
    [
        pod(),
        pod({"ownerReferences": [OWNER], "labels": {"a.b/c": "D-e_1"}, "annotations": {"x": ""}}),
        pod(container={"resources": {"limits": {"cpu": 1, "memory": "1Gi"}}, "unknown": 1}),
        pod(container={"livenessProbe": {"httpGet": {"port": 80}}}, nodeName=None),
        pod(restartPolicy="", dnsPolicy="None", somethingOfTomorrow=1),
        other("example.com/v1", "Deployment", spec={"replicas": "many"}),
        other("example.com/v1", "Pod", spec=["a"]),
        other("example.com/v1", "Pod", spec={"containers": ["a"]}),
        pod({"generateName": "a-", "name": None}),
        pod({"ownerReferences": []}, volumes=[{"name": "v"}], container={"volumeMounts": [MOUNT]}),
        workload(),
        workload("StatefulSet", {"template": None}),
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}},
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "a"},
            "spec": {"ports": [{"port": 1, "targetPort": "x"}]},
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": {"name": "system:a"},
        },
        thing(),
        {"kind": "Thing"},
        pod(container={"resources": {"limits": {"cpu": "100m", "a.b/gpu": 1, "memory": "1e3"}}}),
        pod({"creationTimestamp": "2024-01-01T00:00:00Z"}, container={"ports": []}),
        other(RBAC, "RoleBinding"),
        other(RBAC, "RoleBinding", subjects=[], roleRef=ROLE_REF),
        other(RBAC, "ClusterRole", aggregationRule={"clusterRoleSelectors": [{}]}),
        other("batch/v1", "CronJob", spec={"schedule": "* * * * *"}),
        ingress(path="/", pathType="Prefix", backend=SERVICE),
        autoscaler(),
        pod({"creationTimestamp": None}),
        pod({"managedFields": [{"manager": "m", "time": "2024-01-01T00:00:00.5+02:00"}]}),
        other("coordination.k8s.io/v1", "Lease", spec={"renewTime": "2024-01-01T00:00:00.000001Z"}),
        other("v1", "Secret", data={"a": "YQ==", "b": "", "c": "YWJj\nZGVm\n", "d": None}),
        other("v1", "Secret", stringData={"a": "top secret!"}),
        other("v1", "ConfigMap", data={"a": "top secret!"}, binaryData={"a": "YWJj"}),
    ],
)
def test_what_is_left_out_or_unknown_is_no_fault(obj):
    assert told(obj) == []


@pytest.mark.parametrize(
    ("obj", "path", "what"),
    [
        (pod(container={"image": ""}), "spec/containers/0/image", "is required"),
        (pod(containers=[]), "spec/containers", "is required"),
        (
            pod(containers=[{"name": "c", "image": "x"}] * 2),
            "spec/containers/1/name",
            'is a duplicate: "c"',
        ),
        (
            pod(initContainers=[{"name": "c", "image": "x"}]),
            "spec/containers/0/name",
            'is a duplicate: "c"',
        ),
        (
            pod(container={"volumeMounts": [MOUNT]}),
            "spec/containers/0/volumeMounts/0/name",
            'is not found: "v"',
        ),
        (pod(container={"name": "A"}), "spec/containers/0/name", 'is invalid: "A": a lowercase'),
        (
            workload(selector={"matchLabels": {"app": "b"}}),
            "spec/template/metadata/labels",
            "is inv",
        ),
        (workload("DaemonSet", {"selector": None}), "spec/selector", "is required"),
        (workload(template={"spec": {}}), "spec/template/spec/containers", "is required"),
        (
            {**workload("Job"), "apiVersion": "batch/v1"},
            "spec/template/spec/restartPolicy",
            'is required: valid values: "OnFailure", "Never"',
        ),
        (
            pod(container={"ports": [{"name": "http"}]}),
            "spec/containers/0/ports/0/containerPort",
            "is required",
        ),
        (
            other("v1", "Service", spec={"ports": [{"port": 1}, {"name": "b"}]}),
            "spec/ports/1/port",
            "is invalid: 0: must be between 1 and 65535",
        ),
        (
            ingress(path="/", backend=SERVICE),
            "spec/rules/0/http/paths/0/pathType",
            "is required: pathType must be specified",
        ),
        (
            ingress(pathType="Exact", backend={"resource": {"kind": "A"}}),
            "spec/rules/0/http/paths/0/backend/resource/name",
            "is required",
        ),
        (other(RBAC, "RoleBinding", subjects=[{"kind": "User", "name": "a"}]), "roleRef", "is req"),
        (
            other(RBAC, "ClusterRoleBinding", roleRef=ROLE_REF, subjects=[{"kind": "User"}]),
            "subjects/0/name",
            "is required",
        ),
        (
            other(RBAC, "Role", rules=[{"apiGroups": [""], "resources": ["pods"]}]),
            "rules/0/verbs",
            "is required: verbs must contain at least one value",
        ),
        (other("batch/v1", "CronJob", spec={"suspend": True}), "spec/schedule", "is required"),
        (autoscaler(maxReplicas=None), "spec/maxReplicas", "is invalid: 0: must be greater than 0"),
        (autoscaler(scaleTargetRef={"kind": "A"}), "spec/scaleTargetRef/name", "is required"),
        (
            other("v1", "PersistentVolumeClaim", spec={"accessModes": ["ReadWriteOnce"]}),
            "spec/resources",
            "is required",
        ),
        (other("storage.k8s.io/v1", "StorageClass", parameters={"a": "b"}), "provisioner", "is re"),
    ],
)
def test_what_validation_refuses_is_reported_unless_rules_mutate(obj, path, what):
    ((code, place, message),) = told(obj)
    assert (code, place) == ("KV233", path)
    assert what in message
    document = Document(obj, "r.yaml", 0, lambda _: Location("r.yaml"))
    assert refused_objects([document], is_final=False) == ()


@pytest.mark.parametrize(
    "review", [{"subResource": "exec"}, {"operation": "DELETE", "oldObject": {"kind": "Pod"}}]
)
def test_reviews_of_objects_that_are_there_already_are_not_validated(review):
    document = Document(pod(containers=[]), "r.yaml", 0, lambda _: Location("r.yaml"))
    assert refused_objects([document._replace(review=review)]) == ()


def test_one_warning_for_each_kind_and_cause_has_the_first_as_an_example():
    ((_, _, message),) = told(pod({"name": "A"}), pod({"name": "B"}))
    assert '`metadata.name` is invalid (2 times): "A": a lowercase RFC 1123' in message


def test_one_warning_for_each_kind_and_cause():
    objects = [pod({"name": f"p{n}", "labels": {"n": n}}) for n in range(3)]
    assert [
        message.partition(": ")[2] for *_, message in told(*objects, thing(labels={"n": 1}))
    ] == [
        "`metadata.labels.n` must be a string, not an integer (put it in quotes) (3 times)",
        "`metadata.labels.n` must be a string, not an integer (put it in quotes)",
    ]


@pytest.mark.parametrize(
    ("kustomized", "file", "expected"),
    [
        ("", "patch.yaml", ["spec/selector", "spec/replicas"]),
        ("kustomization.yaml", "patch.yaml", ["spec/replicas"]),
        ("kustomization.yml", "patches/patch.yaml", ["spec/replicas"]),
        ("kustomization.yaml", "deeper/patches/patch.yaml", ["spec/selector", "spec/replicas"]),
    ],
)
def test_patches_of_a_kustomization_need_not_be_whole(tmp_path, kustomized, file, expected):
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    if kustomized:
        (tmp_path / kustomized).touch()
    objects = [workload(spec={"selector": None}), workload(spec={"replicas": "2"})]
    documents = [
        Document(data, str(path), index, lambda at: Location("/".join(map(str, at))))
        for index, data in enumerate(objects)
    ]
    assert [one.location.file for one in refused_objects(documents)] == expected


@pytest.fixture
def written(tmp_path):
    def write(name, data):
        path = tmp_path / name
        path.write_text(yaml.safe_dump(data), encoding="utf-8")
        return str(path)

    return write


POLICY = {
    "apiVersion": "kyverno.io/v1",
    "kind": "ClusterPolicy",
    "metadata": {"name": "p"},
    "spec": {
        "background": False,
        "rules": [
            {
                "name": "r",
                "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
                "validate": {"message": "m", "deny": {}},
            }
        ],
    },
}


def test_verdicts_stay_and_strict_makes_it_an_error(written):
    inputs = ApplyInputs(
        (written("p.yaml", POLICY),), (written("r.yaml", pod({"labels": {"n": 1}})),)
    )
    run = open_application(inputs)
    assert [one.code for one in run.diagnostics] == ["KV233"]
    assert [one.severity.value for one in run.strictly().diagnostics] == ["error"]
    (response,) = run.responses
    assert [one.status.value for answer in response.responses for one in answer.results] == ["fail"]


@pytest.fixture
def many(tmp_path):
    """Return a file of some blocks in which a few objects are refused for three causes."""
    objects = [
        pod({"name": f"p{number}", "annotations": {"a": "x" * 900}}) for number in range(400)
    ]
    for number in (7, 200, 399):
        objects[number]["metadata"]["labels"] = {"rank": number}
    objects[250]["spec"]["containers"][0]["image"] = ""
    objects[0]["metadata"]["name"] = "A"
    path = tmp_path / "r.yaml"
    path.write_text(yaml.safe_dump_all(objects), encoding="utf-8")
    return str(path)


@pytest.fixture
def command(capsys):
    def invoke(*arguments):
        status = run(arguments)
        return status, *capsys.readouterr()

    return invoke


@pytest.mark.slow
@pytest.mark.parametrize("name", ["apply", "diff", "explain"])
@pytest.mark.parametrize("form", ["text", "json"])
def test_output_is_the_same_for_every_number_of_processes(written, many, command, name, form):
    policy = written("p.yaml", POLICY)
    policies = (policy, policy) if name == "diff" else (policy,)
    runs = {
        command(name, *policies, "-r", many, "--output-format", form, *jobs)
        for jobs in (((), ("-j", "1"), ("-j", "3")) if name == "apply" else ((),))
    }
    ((_, out, err),) = runs
    assert (
        "`metadata.labels.rank` must be a string, not a number (put it in quotes) (3 times)"
        in out + err
    )
    assert "`spec.containers.image` is required" in out + err
    assert "`metadata.name` is invalid" in out + err


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "3"])
def test_strict_is_an_error_for_every_number_of_processes(written, many, command, jobs):
    status, _, err = command("apply", written("p.yaml", POLICY), "-r", many, "-j", jobs, "--strict")
    assert status == 2
    assert "error KV233" in err


def test_resources_of_tests_are_checked(written, tmp_path, command):
    written("p.yaml", POLICY)
    written("r.yaml", pod({"labels": {"n": 1}}))
    row = {"policy": "p", "rule": "r", "resources": ["a"], "kind": "Pod", "result": "fail"}
    manifest = {
        "apiVersion": "cli.kyverno.io/v1alpha1",
        "kind": "Test",
        "metadata": {"name": "t"},
        "policies": ["p.yaml"],
        "resources": ["r.yaml"],
        "results": [row],
    }
    written("kyverno-test.yaml", manifest)
    status, out, err = command("test", str(tmp_path))
    assert status == 0
    assert "warning KV233" in out + err
    assert command("test", str(tmp_path), "--strict")[0] == 2


NATIVE = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicy",
    "metadata": {"name": "v"},
    "spec": {
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "operations": ["CREATE"],
                    "resources": ["pods"],
                }
            ]
        },
        "validations": [{"expression": "object.metadata.name != 'a'"}],
    },
}
IN_CEL = {**NATIVE, "apiVersion": "policies.kyverno.io/v1", "kind": "ValidatingPolicy"}


@pytest.mark.parametrize("policy", [POLICY, IN_CEL, NATIVE], ids=["rules", "CEL", "Kubernetes"])
@pytest.mark.parametrize(
    ("metadata", "code", "place"),
    [
        ({"ownerReferences": [{"kind": "A", "name": "b", "apiVersion": "v1"}]}, "KV015", "uid"),
        ({"ownerReferences": [{"uid": "A", "name": "b", "apiVersion": "v1"}]}, "KV015", "kind"),
        ({"labels": {"a": 1}}, "KV013", "metadata.labels.a"),
        ({"finalizers": "a"}, "KV013", "metadata.finalizers"),
    ],
)
def test_policies_are_refused_with_their_place(written, policy, metadata, code, place):
    data = {**policy, "metadata": {**policy["metadata"], **metadata}}
    (found,) = lint([written("p.yaml", data)]).diagnostics
    assert (found.code, found.severity.value) == (code, "error")
    assert place in found.message
    assert found.location.line > 1
