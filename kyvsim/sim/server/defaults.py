"""Defaults that an API server fills in, as far as rules and people look at them.

They come before any plugin and webhook, and again after each change of one. Source of the rules:
k8s.io/kubernetes pkg/apis/*/v1/defaults.go.
"""

from base64 import b64encode
from collections.abc import Callable, Mapping
from types import MappingProxyType

from kyvsim.kube.objects import Json, labels, metadata, object_key
from kyvsim.sim.server.defaults_admission import binding, mutating_policy, policy, webhooks
from kyvsim.sim.server.defaults_network import network_policy, service
from kyvsim.sim.server.defaults_pods import pod
from kyvsim.sim.server.defaults_workloads import (
    cron_job,
    daemon_set,
    deployment,
    job,
    replica_set,
    stateful_set,
)
from kyvsim.sim.server.filling import changed, each, filled
from kyvsim.sim.server.metadata import with_metadata
from kyvsim.sim.server.typed import as_typed

_RBAC = "rbac.authorization.k8s.io"
_REGISTRATION = "admissionregistration.k8s.io"


def with_defaults(obj: Json) -> Json:
    """Return an object with the defaults of its kind, and without fields that say nothing."""
    fill = _DEFAULTS.get(object_key(obj)[:2])
    typed = as_typed(obj)
    return fill(typed) if fill else typed


def _namespace(obj: Json) -> Json:
    name = metadata(obj).get("name")
    spec = obj.get("spec") or {}
    complete = {**obj, "spec": {"finalizers": ["kubernetes"], **spec}}
    complete["status"] = obj.get("status") or {"phase": "Active"}
    if not name:
        return complete
    return with_metadata(complete, {"labels": {**labels(obj), "kubernetes.io/metadata.name": name}})


def _secret(obj: Json) -> Json:
    texts = obj.get("stringData")
    complete = {"type": "Opaque", **obj}
    if texts.__class__ is not dict:
        return complete
    encoded = {name: b64encode(str(text).encode()).decode() for name, text in texts.items()}
    complete.pop("stringData")
    return {**complete, "data": {**(obj.get("data") or {}), **encoded}}


def _claim(obj: Json) -> Json:
    complete = changed(obj, "spec", lambda spec: filled(spec, {"volumeMode": "Filesystem"}))
    return filled(complete, {"status": {"phase": "Pending"}})


def _binding(obj: Json) -> Json:
    complete = changed(obj, "roleRef", lambda one: filled(one, {"apiGroup": _RBAC}))
    return changed(complete, "subjects", lambda some: each(some, _subject))


def _subject(subject: Json) -> Json:
    if subject.get("kind") == "ServiceAccount":
        return subject
    return filled(subject, {"apiGroup": _RBAC})


def _storage_class(obj: Json) -> Json:
    return filled(obj, {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"})


def _priority_class(obj: Json) -> Json:
    return filled(obj, {"preemptionPolicy": "PreemptLowerPriority"})


_DEFAULTS: Mapping[tuple[str, str], Callable[[Json], Json]] = MappingProxyType(
    {
        ("v1", "Namespace"): _namespace,
        ("v1", "PersistentVolumeClaim"): _claim,
        ("v1", "Pod"): pod,
        ("v1", "Secret"): _secret,
        ("v1", "Service"): service,
        ("apps/v1", "DaemonSet"): daemon_set,
        ("apps/v1", "Deployment"): deployment,
        ("apps/v1", "ReplicaSet"): replica_set,
        ("apps/v1", "StatefulSet"): stateful_set,
        ("batch/v1", "CronJob"): cron_job,
        ("batch/v1", "Job"): job,
        ("networking.k8s.io/v1", "NetworkPolicy"): network_policy,
        ("scheduling.k8s.io/v1", "PriorityClass"): _priority_class,
        ("storage.k8s.io/v1", "StorageClass"): _storage_class,
        (f"{_RBAC}/v1", "ClusterRoleBinding"): _binding,
        (f"{_RBAC}/v1", "RoleBinding"): _binding,
        (f"{_REGISTRATION}/v1", "MutatingWebhookConfiguration"): webhooks,
        (f"{_REGISTRATION}/v1", "ValidatingAdmissionPolicy"): policy,
        (f"{_REGISTRATION}/v1", "ValidatingAdmissionPolicyBinding"): binding,
        **{
            (f"{_REGISTRATION}/{version}", f"MutatingAdmissionPolicy{part}"): complete
            for version in ("v1alpha1", "v1beta1", "v1")
            for part, complete in (("", mutating_policy), ("Binding", binding))
        },
        (f"{_REGISTRATION}/v1", "ValidatingWebhookConfiguration"): webhooks,
    }
)
