"""What an API server sets or drops in every object: defaults, and fields that Go's types omit."""

from base64 import b64encode
from collections.abc import Callable, Mapping
from operator import is_
from types import MappingProxyType
from typing import TypeAlias

from kyvsim.kubernetes.discovery import is_builtin
from kyvsim.kubernetes.image import parse_image
from kyvsim.kubernetes.objects import (
    Json,
    KubernetesObject,
    labels,
    metadata,
    object_key,
    text_field,
)

# An object of a built-in kind after decoding to its Go type.
#
# Fields without a value are dropped: nulls, empty lists, empty maps of strings. Source of the
# rules: the `omitempty` of k8s.io/api types; the few fields without it are named here.

_HOLDERS: frozenset[type] = frozenset({dict, list})
_TEXT_MAPS = frozenset(
    {"annotations", "binaryData", "data", "labels", "limits", "matchLabels", "nodeSelector"}
    | {"requests", "stringData"}
)
_WITH_SELECTOR = _TEXT_MAPS | {"selector"}
"""For kinds that select by labels; elsewhere `selector` is a LabelSelector, which may be empty."""
_KEPT_LISTS = frozenset({"containers", "items", "resources", "rules", "subsets", "verbs"})


def as_typed(obj: KubernetesObject) -> KubernetesObject:
    """Return an object without the fields that its type omits; custom kinds are unchanged."""
    key = object_key(obj)
    if not is_builtin(key.group, key.kind):
        return obj
    by_labels = key.kind in {"ReplicationController", "Service"}
    typed: KubernetesObject = _without_empty(obj, _WITH_SELECTOR if by_labels else _TEXT_MAPS)
    return typed


def _without_empty(value: Json, text_maps: frozenset[str]) -> Json:
    if value.__class__ is dict:
        kept, same = {}, True
        for name, child in value.items():
            left = _without_empty(child, text_maps) if child.__class__ in _HOLDERS else child
            # Empty lists and empty maps of strings are dropped.
            empty = not left and (
                name not in _KEPT_LISTS
                if left.__class__ is list
                else left.__class__ is dict and name in text_maps
            )
            if left is None or empty:
                same = False
                continue
            kept[name] = left
            same = same and left is child
        return value if same else kept
    if value.__class__ is list:
        items = [_without_empty(child, text_maps) for child in value]
        return value if all(map(is_, items, value)) else items
    return value


Defaults: TypeAlias = Mapping[str, Json] | Callable[[Json], Json]
"""The defaults of a mapping: values of missing fields, or a function that sets them.

The value of `name.` has the defaults of the mapping `name` if it exists, that of `name[]` those of
the mappings in the list `name`.
"""


def completed(data: Json, defaults: Defaults) -> Json:
    """Return a mapping with defaults for missing and null fields; other data is unchanged."""
    if data.__class__ is not dict:
        return data
    if callable(defaults):
        return defaults(data)
    whole = dict(data)
    for name, value in defaults.items():
        if name.endswith("."):
            if whole.get(name[:-1]) is not None:
                whole[name[:-1]] = completed(whole[name[:-1]], value)
        elif name.endswith("[]"):
            items = whole.get(name[:-2])
            if items.__class__ is list:
                whole[name[:-2]] = [completed(one, value) for one in items]
        elif whole.get(name) is None:
            whole[name] = value
    return whole


# Defaults of Pods and their parts.
# Source of the rules: k8s.io/kubernetes pkg/apis/core/v1/defaults.go.

CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
FILE_MODE = 0o644
_HTTP = MappingProxyType({"httpGet.": {"path": "/", "scheme": "HTTP"}})
_PROBE = MappingProxyType(
    {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
    | {**_HTTP, "grpc.": {"service": ""}}
)
_FIELD = MappingProxyType({"fieldRef.": {"apiVersion": "v1"}})
_CONTAINER = MappingProxyType(
    {
        "resources": {},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "ports[]": {"protocol": "TCP"},
        "env[]": {"valueFrom.": _FIELD},
        "livenessProbe.": _PROBE,
        "readinessProbe.": _PROBE,
        "startupProbe.": _PROBE,
        "lifecycle.": {"postStart.": _HTTP, "preStop.": _HTTP},
    }
)
_VOLUME = MappingProxyType(
    {
        "configMap.": {"defaultMode": FILE_MODE},
        "secret.": {"defaultMode": FILE_MODE},
        "downwardAPI.": {"defaultMode": FILE_MODE, "items[]": _FIELD},
        "projected.": {
            "defaultMode": FILE_MODE,
            "sources[]": {
                "serviceAccountToken.": {"expirationSeconds": 3600},
                "downwardAPI.": {"items[]": _FIELD},
            },
        },
        "hostPath.": {"type": ""},
    }
)


def _container(container: Json) -> Json:
    image = text_field(container, "image")
    if not image:
        return completed(container, _CONTAINER)
    try:
        tag = parse_image(image).tag
    except ValueError:
        tag = ""
    policy = "Always" if tag == "latest" else "IfNotPresent"
    return completed(container, {**_CONTAINER, "imagePullPolicy": policy})


def _volume(volume: Json) -> Json:
    return completed(volume, {"emptyDir": {}} if set(volume) <= {"name"} else _VOLUME)


_SPEC: Mapping[str, object] = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
    **{f"{group}[]": _container for group in CONTAINERS},
    "volumes[]": _volume,
}


def _spec(spec: Json) -> Json:
    spec = completed(spec, _SPEC)
    account = text_field(spec, "serviceAccountName") or text_field(spec, "serviceAccount")
    return {**spec, "serviceAccountName": account, "serviceAccount": account} if account else spec


def _with_requests(container: Json) -> Json:
    """Return a container whose requests default to its limits."""
    resources = container.get("resources") or {}
    limits = resources.get("limits")
    if not limits:
        return container
    requests = {**limits, **(resources.get("requests") or {})}
    return {**container, "resources": {**resources, "requests": requests}}


def _pod(spec: Json) -> Json:
    """Return the specification of a Pod, with some defaults that templates do not have."""
    of_containers = {f"{group}[]": _with_requests for group in CONTAINERS}
    return completed(_spec(spec), {"enableServiceLinks": True, **of_containers})


# Defaults of the kinds whose controllers create Pods.
# Source of the rules: k8s.io/kubernetes pkg/apis/apps/v1/defaults.go and
# pkg/apis/batch/v1/defaults.go.


def _rolling(**defaults: Json) -> Callable[[Json], Json]:
    """Return the function that sets the defaults of a strategy; rolling update is the default."""

    def complete(strategy: Json) -> Json:
        strategy = completed(strategy, {"type": "RollingUpdate"})
        if strategy["type"] != "RollingUpdate":
            return strategy
        rolling = completed(strategy.get("rollingUpdate") or {}, defaults)
        return {**strategy, "rollingUpdate": rolling}

    return complete


_TEMPLATE = MappingProxyType({"template.": {"spec.": _spec}})
_CLAIM = MappingProxyType({"spec.": {"volumeMode": "Filesystem"}})
_DEPLOYMENT: Mapping[str, object] = {
    "replicas": 1,
    "strategy": {"type": "RollingUpdate"},
    "revisionHistoryLimit": 10,
    "progressDeadlineSeconds": 600,
    "strategy.": _rolling(maxUnavailable="25%", maxSurge="25%"),
    **_TEMPLATE,
}
_STATEFUL_SET: Mapping[str, object] = {
    "replicas": 1,
    "podManagementPolicy": "OrderedReady",
    "updateStrategy": {"type": "RollingUpdate"},
    "revisionHistoryLimit": 10,
    "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
    "updateStrategy.": _rolling(partition=0),
    **_TEMPLATE,
    "volumeClaimTemplates[]": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **_CLAIM},
}
_DAEMON_SET: Mapping[str, object] = {
    "updateStrategy": {"type": "RollingUpdate"},
    "revisionHistoryLimit": 10,
    "updateStrategy.": _rolling(maxUnavailable=1, maxSurge=0),
    **_TEMPLATE,
}
_CRON_JOB: Mapping[str, object] = {
    "concurrencyPolicy": "Allow",
    "suspend": False,
    "successfulJobsHistoryLimit": 3,
    "failedJobsHistoryLimit": 1,
    # Its Jobs get their own defaults when they are created.
    "jobTemplate.": {"spec.": _TEMPLATE},
}


def _job(spec: Json) -> Json:
    if spec.get("parallelism") is None:
        # Without both, one Pod; with only `parallelism`, a work queue without a fixed number.
        spec = completed(spec, {"parallelism": 1, "completions": 1})
    defaults = {
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "podReplacementPolicy": "Failed" if spec.get("podFailurePolicy") else "TerminatingOrFailed",
        "manualSelector": False,
    }
    return completed(spec, {**defaults, **_TEMPLATE})


# Defaults of Services and NetworkPolicies.
# Source of the rules: k8s.io/kubernetes pkg/apis/core/v1/defaults.go and
# pkg/apis/networking/v1/defaults.go.


def _service(spec: Json) -> Json:
    """Return the specification of a Service with defaults, without its addresses."""
    defaults: dict[str, Json] = {
        "type": "ClusterIP",
        "sessionAffinity": "None",
        "ports[]": lambda one: completed(one, {"protocol": "TCP", "targetPort": one.get("port")}),
    }
    spec = completed(spec, defaults)
    if spec["type"] == "ExternalName":
        return spec
    defaults = {
        "internalTrafficPolicy": "Cluster",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
    }
    if spec["type"] in {"NodePort", "LoadBalancer"}:
        defaults["externalTrafficPolicy"] = "Cluster"
    if spec["type"] == "LoadBalancer":
        defaults["allocateLoadBalancerNodePorts"] = True
    return completed(spec, defaults)


def _network_policy(spec: Json) -> Json:
    """Return the specification of a NetworkPolicy with defaults; its types depend on its rules."""
    types = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    ports = {"ports[]": {"protocol": "TCP"}}
    return completed(spec, {"policyTypes": types, "ingress[]": ports, "egress[]": ports})


# Defaults of webhook configurations and admission policies.
# Source of the rules: k8s.io/kubernetes pkg/apis/admissionregistration/v1/defaults.go.

_SELECTING: Mapping[str, object] = {
    "matchPolicy": "Equivalent",
    "namespaceSelector": {},
    "objectSelector": {},
}
_WEBHOOK: Mapping[str, object] = {
    "failurePolicy": "Fail",
    **_SELECTING,
    "timeoutSeconds": 10,
    "rules[]": {"scope": "*"},
}
_CONSTRAINTS = MappingProxyType({**_SELECTING, "resourceRules[]": {"scope": "*"}})
_POLICY = MappingProxyType({"failurePolicy": "Fail", "matchConstraints.": _CONSTRAINTS})
_BINDING = MappingProxyType({"spec.": {"matchResources.": _CONSTRAINTS}})

# Defaults that an API server sets, as far as rules and users depend on them.
#
# They are set before any plugin and webhook, and after each change by one. Source of the rules:
# k8s.io/kubernetes pkg/apis/*/v1/defaults.go.

_RBAC = "rbac.authorization.k8s.io"
_REGISTRATION = "admissionregistration.k8s.io"


def with_defaults(obj: KubernetesObject) -> KubernetesObject:
    """Return an object with the defaults of its kind, and without empty fields."""
    complete: KubernetesObject
    complete = completed(as_typed(obj), _OF_KIND.get(object_key(obj)[:2], {}))
    return complete


def as_stored(obj: KubernetesObject) -> KubernetesObject:
    """Return an object as policies see it: with defaults, and a Pod with a ServiceAccount.

    (The admission plugin of ServiceAccounts sets `default`.)
    """
    whole = with_defaults(obj)
    spec = whole.get("spec")
    if whole.get("kind") != "Pod" or spec.__class__ is not dict:
        return whole
    name = spec.get("serviceAccountName") or "default"
    return {**whole, "spec": {**spec, "serviceAccountName": name, "serviceAccount": name}}


def _namespace(obj: KubernetesObject) -> KubernetesObject:
    name = metadata(obj).get("name")
    spec = obj.get("spec") or {}
    complete = {**obj, "spec": {"finalizers": ["kubernetes"], **spec}}
    complete["status"] = obj.get("status") or {"phase": "Active"}
    if not name:
        return complete
    own = {**labels(obj), "kubernetes.io/metadata.name": name}
    return {**complete, "metadata": {**metadata(obj), "labels": own}}


def _secret(obj: KubernetesObject) -> KubernetesObject:
    texts = obj.get("stringData")
    complete = {"type": "Opaque", **obj}
    if texts.__class__ is not dict:
        return complete
    encoded = {name: b64encode(str(text).encode()).decode() for name, text in texts.items()}
    complete.pop("stringData")
    return {**complete, "data": {**(obj.get("data") or {}), **encoded}}


def _subject(one: Json) -> Json:
    return one if one.get("kind") == "ServiceAccount" else completed(one, {"apiGroup": _RBAC})


_ROLE_BINDING = MappingProxyType({"roleRef.": {"apiGroup": _RBAC}, "subjects[]": _subject})
_OF_KIND: Mapping[tuple[str, str], Defaults] = {
    ("v1", "Namespace"): _namespace,
    ("v1", "PersistentVolumeClaim"): {**_CLAIM, "status": {"phase": "Pending"}},
    ("v1", "Pod"): {"spec.": _pod},
    ("v1", "Secret"): _secret,
    ("v1", "Service"): {"spec.": _service},
    ("apps/v1", "DaemonSet"): {"spec.": _DAEMON_SET},
    ("apps/v1", "Deployment"): {"spec.": _DEPLOYMENT},
    ("apps/v1", "ReplicaSet"): {"spec.": {"replicas": 1, **_TEMPLATE}},
    ("apps/v1", "StatefulSet"): {"spec.": _STATEFUL_SET},
    ("batch/v1", "CronJob"): {"spec.": _CRON_JOB},
    ("batch/v1", "Job"): {"spec.": _job},
    ("networking.k8s.io/v1", "NetworkPolicy"): {"spec.": _network_policy},
    ("scheduling.k8s.io/v1", "PriorityClass"): {"preemptionPolicy": "PreemptLowerPriority"},
    ("storage.k8s.io/v1", "StorageClass"): {
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "Immediate",
    },
    (f"{_RBAC}/v1", "ClusterRoleBinding"): _ROLE_BINDING,
    (f"{_RBAC}/v1", "RoleBinding"): _ROLE_BINDING,
    (f"{_REGISTRATION}/v1", "MutatingWebhookConfiguration"): {
        "webhooks[]": {**_WEBHOOK, "reinvocationPolicy": "Never"}
    },
    (f"{_REGISTRATION}/v1", "ValidatingWebhookConfiguration"): {"webhooks[]": _WEBHOOK},
    (f"{_REGISTRATION}/v1", "ValidatingAdmissionPolicy"): {"spec.": _POLICY},
    (f"{_REGISTRATION}/v1", "ValidatingAdmissionPolicyBinding"): _BINDING,
    **{
        (f"{_REGISTRATION}/{version}", f"MutatingAdmissionPolicy{part}"): complete
        for version in ("v1alpha1", "v1beta1", "v1")
        for part, complete in (
            ("", {"spec.": {**_POLICY, "reinvocationPolicy": "Never"}}),
            ("Binding", _BINDING),
        )
    },
}
"""The defaults of each kind."""
