"""Make `kyvsim/simulator/installation.json`: what is in a cluster once Kyverno is installed.

    python tests/package_data/make_installation.py CHART ROLES > kyvsim/simulator/installation.json

CHART is what `helm template kyverno charts/kyverno --namespace kyverno` prints with the chart's own
values (`kyvsim/simulator/configuration.py` adds what others change); ROLES is the folder of
Kubernetes' own roles: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/testdata of
k8s.io/kubernetes.
"""

import json
import sys
from pathlib import Path

import yaml

NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system", "kyverno")
RBAC = "rbac.authorization.k8s.io/v1"
ROLE_FILES = (
    "cluster-roles",
    "controller-roles",
    "cluster-role-bindings",
    "controller-role-bindings",
    "namespace-roles",
    "namespace-role-bindings",
)
CONTROLLERS = (
    "clusterrole-aggregation-controller",
    "cronjob-controller",
    "daemon-set-controller",
    "deployment-controller",
    "generic-garbage-collector",
    "job-controller",
    "namespace-controller",
    "replicaset-controller",
    "root-ca-cert-publisher",
    "service-account-controller",
    "statefulset-controller",
    "ttl-after-finished-controller",
)
NODE = "kind-control-plane"
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nc2ltdWxhdGVk\n-----END CERTIFICATE-----\n"
INSTALLED = {
    "ClusterRole",
    "ClusterRoleBinding",
    "ConfigMap",
    "Role",
    "RoleBinding",
    "ServiceAccount",
}
"""Kinds of the chart's objects that someone reads; its Pods are simulated otherwise."""


def main():
    """Print the objects as JSON, one a line."""
    chart, roles = sys.argv[1:]
    objects = [*namespaces(), *kubernetes(), *own_roles(Path(roles)), administrators()]
    objects += kyverno(Path(chart))
    lines = ",\n".join(json.dumps(one, separators=(",", ":"), sort_keys=True) for one in objects)
    sys.stdout.write(f"[\n{lines}\n]\n")


def named(api_version, kind, name, namespace="", **fields):
    """Return an object."""
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **fields}


def namespaces():
    """Yield the namespaces that are there from the start, each with its ServiceAccount."""
    for name in NAMESPACES:
        found = named("v1", "Namespace", name)
        found["metadata"]["labels"] = {"kubernetes.io/metadata.name": name}
        found["spec"] = {"finalizers": ["kubernetes"]}
        found["status"] = {"phase": "Active"}
        yield found
        yield named("v1", "ServiceAccount", "default", name)


def kubernetes():
    """Yield the Node, what every namespace gets, and the accounts of Kubernetes' controllers."""
    labels = {"kubernetes.io/hostname": NODE, "kubernetes.io/os": "linux"}
    node = named("v1", "Node", NODE, spec={"podCIDR": "10.244.0.0/24"})
    node["metadata"]["labels"] = {**labels, "node-role.kubernetes.io/control-plane": ""}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    size = {"cpu": "8", "memory": "16Gi", "pods": "110"}
    yield {**node, "status": {"allocatable": size, "capacity": size, "conditions": [ready]}}
    for name in NAMESPACES:
        yield named("v1", "ConfigMap", "kube-root-ca.crt", name, data={"ca.crt": CERTIFICATE})
    for name in CONTROLLERS:
        yield named("v1", "ServiceAccount", name, "kube-system")


def own_roles(folder):
    """Yield Kubernetes' own roles and bindings, as its API server makes them.

    What nodes may do is not decided by roles there; here it is, by the role made for it.
    """
    for name in ROLE_FILES:
        found = yaml.safe_load((folder / f"{name}.yaml").read_text(encoding="utf-8"))
        for item in found["items"]:
            item["metadata"].pop("creationTimestamp", None)
            if (item["kind"], item["metadata"]["name"]) == ("ClusterRoleBinding", "system:node"):
                group = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group"}
                item["subjects"] = [{**group, "name": "system:nodes"}]
            yield item


def administrators():
    """Return the binding by which kubeadm makes its user an administrator."""
    group = "kubeadm:cluster-admins"
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}
    role = {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "ClusterRole",
        "name": "cluster-admin",
    }
    return named(RBAC, "ClusterRoleBinding", group, roleRef=role, subjects=[subject])


def kyverno(chart):
    """Yield Kyverno's configuration, accounts and roles."""
    for found in yaml.safe_load_all(chart.read_text(encoding="utf-8")):
        if found and found["kind"] in INSTALLED:
            yield found


if __name__ == "__main__":
    main()
