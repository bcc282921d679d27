"""Make `kyvsim/sim/installation.json`: what is in a cluster once Kyverno is installed.

    python tests/package_data/make_installation.py > kyvsim/sim/installation.json

Source of the facts: upstream charts/kyverno (ClusterRoles, ConfigMap) with the settings under which
its end-to-end tests run; Kubernetes' own roles as bootstrapped by its API server.
"""

import json
import sys

NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system", "kyverno")
CONTROLLERS = ("admission", "background", "cleanup", "reports")
KUBERNETES_CONTROLLERS = (
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
RBAC = "rbac.authorization.k8s.io/v1"
FILTERED = (
    "[Event,*,*]",
    "[*/*,kube-system,*]",
    "[*/*,kube-public,*]",
    "[*/*,kube-node-lease,*]",
    "[Node,*,*]",
    "[Node/?*,*,*]",
    "[APIService,*,*]",
    "[APIService/?*,*,*]",
    "[TokenReview,*,*]",
    "[SubjectAccessReview,*,*]",
    "[SelfSubjectAccessReview,*,*]",
    "[Binding,*,*]",
    "[Pod/binding,*,*]",
    "[ReplicaSet,*,*]",
    "[ReplicaSet/?*,*,*]",
    "[EphemeralReport,*,*]",
    "[ClusterEphemeralReport,*,*]",
)


def main():
    """Print the objects as JSON."""
    json.dump([*namespaces(), *roles(), *kubernetes(), *kyverno()], sys.stdout, indent=1)


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


def roles():
    """Yield Kubernetes' own roles."""
    everything = [
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
        {"nonResourceURLs": ["*"], "verbs": ["*"]},
    ]
    yield named(RBAC, "ClusterRole", "cluster-admin", rules=everything)
    for name, group in (
        ("cluster-admin", "system:masters"),
        ("kubeadm:cluster-admins", "kubeadm:cluster-admins"),
    ):
        subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}
        yield binding(name, "cluster-admin", subject)


def kubernetes():
    """Yield the Node, what every namespace gets, and the roles of Kubernetes' own controllers.

    The names are those of the bootstrap policy; the roles permit everything.
    """
    labels = {"kubernetes.io/hostname": NODE, "kubernetes.io/os": "linux"}
    node = named("v1", "Node", NODE, spec={"podCIDR": "10.244.0.0/24"})
    node["metadata"]["labels"] = {**labels, "node-role.kubernetes.io/control-plane": ""}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    size = {"cpu": "8", "memory": "16Gi", "pods": "110"}
    yield {**node, "status": {"allocatable": size, "capacity": size, "conditions": [ready]}}
    for name in NAMESPACES:
        yield named("v1", "ConfigMap", "kube-root-ca.crt", name, data={"ca.crt": CERTIFICATE})
    group = {"apiGroup": "rbac.authorization.k8s.io"}
    subjects = {
        "system:node": {**group, "kind": "Group", "name": "system:nodes"},
        "system:kube-scheduler": {**group, "kind": "User", "name": "system:kube-scheduler"},
    }
    for name in KUBERNETES_CONTROLLERS:
        account = {"kind": "ServiceAccount", "name": name, "namespace": "kube-system"}
        yield named("v1", "ServiceAccount", name, "kube-system")
        subjects[f"system:controller:{name}"] = account
    everything = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    for role, subject in subjects.items():
        yield named(RBAC, "ClusterRole", role, rules=everything)
        yield binding(role, role, subject)


def binding(name, role, subject):
    """Return a ClusterRoleBinding."""
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
    return named(RBAC, "ClusterRoleBinding", name, roleRef=reference, subjects=[subject])


def kyverno():
    """Yield Kyverno's configuration, accounts and roles."""
    data = {
        "excludeGroups": "system:nodes",
        "generateSuccessEvents": "false",
        "resourceFilters": " ".join(FILTERED),
        "updateRequestThreshold": "1000",
    }
    yield named("v1", "ConfigMap", "kyverno", "kyverno", data=data)
    for controller in CONTROLLERS:
        name = f"kyverno-{controller}-controller"
        yield named("v1", "ServiceAccount", name, "kyverno")
        subject = {"kind": "ServiceAccount", "name": name, "namespace": "kyverno"}
        yield binding(f"kyverno:{controller}-controller", "cluster-admin", subject)


if __name__ == "__main__":
    main()
