"""Names in manifests that lead to nothing, and objects that an API server rejects."""

import pytest
import yaml

from kyvsim.api.lint import lint
from kyvsim.load.files import Source


def found(*objects, folder=""):
    text = yaml.safe_dump_all(objects)
    return [(one.code, one.message) for one in lint([Source("m.yaml", text, folder)]).diagnostics]


def pod(**container):
    spec = {"containers": [{"name": "c", "image": "nginx:1.27", **container}]}
    metadata = {"name": "p", "namespace": "shop", "labels": {"app": "a"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def other(kind, api_version="v1", **fields):
    metadata = {"name": "x", "namespace": "shop"}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


PORTS = [{"name": "http", "containerPort": 80}]


@pytest.mark.parametrize(("port", "codes"), [("https", ["KV363"]), ("http", []), (81, [])])
def test_ports_of_probes(port, codes):
    probe = {"tcpSocket": {"port": port}}
    assert [code for code, _ in found(pod(ports=PORTS, livenessProbe=probe))] == codes


@pytest.mark.parametrize(
    ("selector", "port", "message"),
    [
        ({"app": "a"}, "https", "have no port named `https`: did you mean `http`?"),
        ({"app": "a"}, "http", ""),
        ({"app": "b"}, "https", ""),
        ({}, "https", ""),
    ],
)
def test_target_ports_of_services(selector, port, message):
    spec = {"selector": selector, "ports": [{"port": 80, "targetPort": port}]}
    told = found(pod(ports=PORTS), other("Service", spec=spec))
    assert [message in text for _, text in told] == ([True] if message else [])


@pytest.mark.parametrize(
    ("key", "optional", "codes"), [("b", False, ["KV363"]), ("a", False, []), ("b", True, [])]
)
def test_keys_of_config_maps(key, optional, codes):
    reference = {"name": "x", "key": key, "optional": optional}
    env = [{"name": "A", "valueFrom": {"configMapKeyRef": reference}}]
    told = found(pod(env=env), other("ConfigMap", data={"a": "1"}))
    assert [code for code, _ in told] == codes
    assert found(pod(env=env)) == []


@pytest.mark.parametrize(
    ("port", "codes"),
    [({"number": 81}, ["KV363"]), ({"name": "web"}, ["KV363"]), ({"number": 80}, [])],
)
def test_ports_of_backends(port, codes):
    path = {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "x", "port": port}}}
    ingress = other(
        "Ingress", "networking.k8s.io/v1", spec={"rules": [{"http": {"paths": [path]}}]}
    )
    service = other("Service", spec={"ports": [{"port": 80, "name": "http"}]})
    assert [code for code, _ in found(ingress, service)] == codes


def test_objects_that_an_api_server_rejects():
    told = found(pod(volumeMounts=[{"name": "data", "mountPath": "/data"}]))
    assert [code for code, _ in told] == ["KV233"]
    labelled = other("ConfigMap")
    labelled["metadata"]["labels"] = {"a": 1}
    assert [code for code, _ in found(labelled)] == ["KV327"]


@pytest.mark.parametrize(
    ("requests", "limits", "codes"),
    [
        ({"memory": "2Gi"}, {"memory": "1Gi"}, ["KV233"]),
        ({"cpu": "100m"}, {"cpu": 1}, []),
        ({"cpu": 2}, {"memory": "1Gi"}, []),
    ],
)
def test_requests_above_limits(requests, limits, codes):
    resources = {"requests": requests, "limits": limits}
    assert [code for code, _ in found(pod(resources=resources))] == codes


@pytest.mark.parametrize(
    ("types", "codes"), [(["Ingress"], ["KV364"]), (["Ingress", "Egress"], []), (None, [])]
)
def test_rules_of_network_policies_without_their_type(types, codes):
    spec = {"podSelector": {}, "egress": [{}], **({"policyTypes": types} if types else {})}
    policy = other("NetworkPolicy", "networking.k8s.io/v1", spec=spec)
    assert [code for code, _ in found(policy)] == codes


@pytest.mark.parametrize(
    ("groups", "codes"), [([""], ["KV163"]), (["", "apps"], []), (["*"], []), (["example.com"], [])]
)
def test_resources_of_roles(groups, codes):
    rules = [{"apiGroups": groups, "resources": ["deployments"], "verbs": ["get"]}]
    role = other("Role", "rbac.authorization.k8s.io/v1", rules=rules)
    assert [code for code, _ in found(role)] == codes


def test_a_resource_of_the_core_group_in_a_role_for_another():
    rules = [{"apiGroups": ["apps"], "resources": ["secrets"], "verbs": ["get"]}]
    ((code, message),) = found(other("Role", "rbac.authorization.k8s.io/v1", rules=rules))
    assert (
        code,
        message.endswith('it is in the core group, below `/api/v1`, which is `""` in `apiGroups`'),
    ) == ("KV163", True)


@pytest.mark.parametrize("name", [["a"], {"a": "b"}, 1, True, None])
def test_names_that_are_no_strings(name):
    env = {"name": "A", "valueFrom": {"configMapKeyRef": {"name": name, "key": name}}}
    given = pod(
        ports=[{"name": name, "containerPort": 80}],
        volumeMounts=[{"name": name}],
        readinessProbe={"httpGet": {"port": "http"}},
        env=[env],
    )
    claims = [{"metadata": {"name": name}}]
    spec = {"template": {"spec": given["spec"]}, "volumeClaimTemplates": claims}
    stateful = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "s"}}
    path = {"backend": {"service": {"name": name, "port": {"name": name}}}}
    ingress = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "i"}}
    rules = {"rules": [{"http": {"paths": [path]}}]}
    told = found(given, {**stateful, "spec": spec}, {**ingress, "spec": rules})
    assert any(code == "KV363" for code, _ in told)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("resourceFilters", "[Event,*,*] Secret,vault,*\n[Node,*,*]", "write `[Secret,vault,*]`"),
        ("resourceFilters", "[Event,*,*]\n[Node, *, *]", "write `[Node,*,*]`"),
        ("resourceFilters", "[Event,*,*,*]", "has 4 parts"),
        ("resourceFilters", "[Event,*,*] [*/*,kube-system,*]\n[Pod]", ""),
        ("resourceFilters", "[Event,*,*] {{ more }}", ""),
        ("webhooks", '[{"namespaceSelector": {}}]', "it must be an object"),
        ("webhooks", "namespaceSelector: {}", "it must be an object"),
        ("webhooks", "[" * 100_000, "it must be an object"),
        ("webhooks", '{"namespaceSelector": {}}', ""),
        ("matchConditions", "{}", "it must be a list"),
        ("defaultRegistry", "docker.io", ""),
    ],
)
def test_settings_that_kyverno_ignores(name, text, problem):
    config = other("ConfigMap", data={name: text})
    assert all(code != "KV368" for code, _ in found(config))
    config["metadata"]["name"] = "kyverno"
    reported = [message for code, message in found(config) if code == "KV368"]
    assert [problem in message for message in reported] == [True] * bool(problem)
