"""What an API server sets or drops: defaults, Go's types, and the plugins for Pods."""

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
    ObjectKey,
    annotations,
    entries,
    labels,
    metadata,
    object_key,
    text_field,
)
from kyvsim.model.request import Operation
from kyvsim.simulator.api_server import errors
from kyvsim.simulator.api_server.metadata import Identities, with_metadata
from kyvsim.simulator.api_server.request import ApiError, Review
from kyvsim.simulator.api_server.store import ObjectStore

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
_MODE = 0o644
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
        "configMap.": {"defaultMode": _MODE},
        "secret.": {"defaultMode": _MODE},
        "downwardAPI.": {"defaultMode": _MODE, "items[]": _FIELD},
        "projected.": {
            "defaultMode": _MODE,
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


def _namespace(obj: KubernetesObject) -> KubernetesObject:
    name = metadata(obj).get("name")
    spec = obj.get("spec") or {}
    complete = {**obj, "spec": {"finalizers": ["kubernetes"], **spec}}
    complete["status"] = obj.get("status") or {"phase": "Active"}
    if not name:
        return complete
    return with_metadata(complete, {"labels": {**labels(obj), "kubernetes.io/metadata.name": name}})


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


# The ServiceAccount plugin: the account of a Pod, and its token.
# Source of the rules: k8s.io/kubernetes plugin/pkg/admission/serviceaccount.

TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 — a path
_PREFIX = "kube-api-access-"
_DEFAULT = "default"


def give_account(
    review: Review, store: ObjectStore, identities: Identities
) -> KubernetesObject | ApiError:
    """Return a new Pod with its ServiceAccount and token, or why it may not use it.

    A Pod may use the account `default` before it exists: the plugin waits for it, since every
    namespace gets one.
    """
    pod = review.object or {}
    spec = pod.get("spec")
    if spec.__class__ is not dict or "kubernetes.io/config.mirror" in annotations(pod):
        return pod
    name = text_field(spec, "serviceAccountName") or _DEFAULT
    namespace = review.request.key.namespace
    account = store.get("v1", "ServiceAccount", namespace, name)
    if account is None and name != _DEFAULT:
        why = f"error looking up service account {namespace}/{name}"
        why = f'{why}: serviceaccount "{name}" not found'
        key = ObjectKey("v1", "Pod", namespace, text_field(metadata(pod), "name"))
        return errors.forbidden(key, store.defined, why)
    account = account or {}
    spec = {**spec, "serviceAccountName": name, "serviceAccount": name}
    settings = [one.get("automountServiceAccountToken") for one in (spec, account)]
    if next((bool(one) for one in settings if one is not None), True):
        meta = metadata(pod)
        own = text_field(meta, "name") or text_field(meta, "generateName")
        spec = _with_token(spec, lambda: identities.generated_name(_PREFIX, namespace, own))
    if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
        secrets = [
            {"name": text_field(one, "name")} for one in entries(account, "imagePullSecrets")
        ]
        spec = {**spec, "imagePullSecrets": secrets}
    return {**pod, "spec": spec}


def _with_token(spec: Json, new_name: Callable[[], str]) -> Json:
    names = [text_field(one, "name") for one in entries(spec, "volumes")]
    name = next((one for one in names if one.startswith(_PREFIX)), "")
    volume = name or new_name()
    mounted = False

    def mount(container: Json) -> Json:
        nonlocal mounted
        mounts = entries(container, "volumeMounts")
        if any(text_field(one, "mountPath") == TOKEN_PATH for one in mounts):
            return container
        mounted = True
        token = {"name": volume, "mountPath": TOKEN_PATH, "readOnly": True}
        return {**container, "volumeMounts": [*mounts, token]}

    for group in ("initContainers", "containers"):
        spec = completed(spec, {f"{group}[]": mount})
    if not mounted or name:
        return spec
    namespace = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"fieldRef": namespace, "path": "namespace"}]}},
    ]
    token = {"name": volume, "projected": {"defaultMode": _MODE, "sources": sources}}
    return {**spec, "volumes": [*(spec.get("volumes") or ()), token]}


# What Kubernetes itself changes in new objects before any webhook is called.
# Source of the rules: k8s.io/kubernetes plugin/pkg/admission (serviceaccount, priority,
# defaulttolerationseconds).


def pod_plugin(
    store: ObjectStore, identities: Identities
) -> Callable[[Review], KubernetesObject | ApiError | None]:
    """Return the plugin that completes new Pods: account, priority, tolerations."""

    def admit(review: Review) -> KubernetesObject | ApiError | None:
        request = review.request
        if request.key[:2] != ("v1", "Pod") or request.subresource:
            return review.object
        if request.operation is not Operation.CREATE or review.object is None:
            return review.object
        pod = give_account(review, store, identities)
        if isinstance(pod, ApiError) or pod.get("spec").__class__ is not dict:
            return pod
        name = text_field(pod["spec"], "priorityClassName")
        key = ("scheduling.k8s.io/v1", "PriorityClass", "", name)
        priority_class = (store.get(*key) if name else None) or {}
        policy = text_field(priority_class, "preemptionPolicy") or "PreemptLowerPriority"
        value = priority_class.get("value", 0)
        spec = completed(pod["spec"], {"priority": value, "preemptionPolicy": policy})
        given = entries(spec, "tolerations")
        every = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        pairs = [(text_field(one, "key"), text_field(one, "effect")) for one in given]
        tolerated = {key for key, effect in pairs if effect in {"", "NoExecute"}}
        added = [
            {"key": taint, **every}
            for taint in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
            if tolerated.isdisjoint({"", taint})
        ]
        return {**pod, "spec": ({**spec, "tolerations": [*given, *added]} if added else spec)}

    return admit
