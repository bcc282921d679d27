"""What an API server fills in or drops: defaults, Go's types, and the plugins for Pods."""

from base64 import b64encode
from collections.abc import Callable, Mapping
from functools import partial
from operator import is_
from types import MappingProxyType

from kyvsim.kubernetes.discovery import is_builtin, split_api_version
from kyvsim.kubernetes.image import parse_image
from kyvsim.kubernetes.objects import (
    Json,
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

# What is left of an object of a built-in kind once it has been through its Go type.
#
# Fields without a value vanish: nulls, empty lists, empty maps of texts. Source of the rules: the
# `omitempty` of k8s.io/api types; the few fields without it are named here.

_HOLDERS: frozenset[type] = frozenset({dict, list})
_TEXT_MAPS = frozenset(
    {"annotations", "binaryData", "data", "labels", "limits", "matchLabels", "nodeSelector"}
    | {"requests", "stringData"}
)
_SELECTS_BY_LABELS = frozenset({"ReplicationController", "Service"})
"""Kinds whose `selector` is a map of texts; elsewhere it is a LabelSelector, which may be empty."""
_WITH_SELECTOR = _TEXT_MAPS | {"selector"}
_KEPT_LISTS = frozenset({"containers", "items", "resources", "rules", "subsets", "verbs"})


def as_typed(obj: Json) -> Json:
    """Return an object without the fields that its type leaves out; custom kinds stay as sent."""
    key = object_key(obj)
    if not is_builtin(split_api_version(key.api_version)[0], key.kind):
        return obj
    return _without_empty(obj, _WITH_SELECTOR if key.kind in _SELECTS_BY_LABELS else _TEXT_MAPS)


def _without_empty(value: Json, text_maps: frozenset[str]) -> Json:
    if value.__class__ is dict:
        kept, same = {}, True
        for name, child in value.items():
            left = _without_empty(child, text_maps) if child.__class__ in _HOLDERS else child
            # Left out is what holds nothing: an empty list, or an empty map of texts.
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


# Filling in fields that are not there; a null is none, data of another shape stays as it is.


def filled(data: Json, defaults: Mapping[str, Json]) -> Json:
    """Return a mapping with the fields that it lacks."""
    if data.__class__ is not dict:
        return data
    lacking = {name: value for name, value in defaults.items() if data.get(name) is None}
    return {**data, **lacking} if lacking else data


def changed(data: Json, name: str, change: Callable[[Json], Json]) -> Json:
    """Return a mapping with one field changed, if it has it."""
    if data.__class__ is not dict or data.get(name) is None:
        return data
    return {**data, name: change(data[name])}


def changed_items(data: Json, name: str, change: Callable[[Json], Json]) -> Json:
    """Return a mapping with each mapping in one of its lists changed."""
    items = data.get(name) if data.__class__ is dict else None
    if items.__class__ is not list:
        return data
    return {**data, name: [change(one) if one.__class__ is dict else one for one in items]}


# Defaults of Pods and of what they are made of.
#
# Source of the rules: k8s.io/kubernetes pkg/apis/core/v1/defaults.go.

CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_SPEC = MappingProxyType(
    {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
    }
)
_PROBE = MappingProxyType(
    {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
)
_FILES = ("configMap", "secret", "downwardAPI", "projected")
_MODE = 0o644
_TOKEN_SECONDS = 3600


def _templated(spec: Json) -> Json:
    """Return a specification with the defaults of its template of Pods."""
    return changed(spec, "template", lambda template: changed(template, "spec", _spec))


def _pod(spec: Json) -> Json:
    """Return the specification of a Pod, with some defaults that templates do not have."""
    spec = filled(_spec(spec), {"enableServiceLinks": True})
    for group in CONTAINERS:
        spec = changed_items(spec, group, _with_requests)
    return spec


def _with_requests(container: Json) -> Json:
    """Return a container whose requests default to its limits."""
    resources = container.get("resources") or {}
    limits = resources.get("limits")
    if not limits:
        return container
    requests = {**limits, **(resources.get("requests") or {})}
    return {**container, "resources": {**resources, "requests": requests}}


def _spec(spec: Json) -> Json:
    spec = filled(spec, _SPEC)
    for group in CONTAINERS:
        spec = changed_items(spec, group, _container)
    spec = changed_items(spec, "volumes", _volume)
    account = text_field(spec, "serviceAccountName") or text_field(spec, "serviceAccount")
    return {**spec, "serviceAccountName": account, "serviceAccount": account} if account else spec


def _container(container: Json) -> Json:
    defaults: dict[str, Json] = {
        "resources": {},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }
    if text_field(container, "image"):
        image = container["image"]
        try:
            tag = parse_image(image).tag
        except ValueError:
            tag = ""
        defaults["imagePullPolicy"] = "Always" if tag == "latest" else "IfNotPresent"
    container = filled(container, defaults)
    container = changed_items(container, "ports", lambda port: filled(port, {"protocol": "TCP"}))
    container = changed_items(container, "env", lambda one: changed(one, "valueFrom", _field))
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        container = changed(container, name, _probe)
    for name in ("postStart", "preStop"):
        container = changed(container, "lifecycle", partial(changed, name=name, change=_with_http))
    return container


def _field(source: Json) -> Json:
    return changed(source, "fieldRef", lambda one: filled(one, {"apiVersion": "v1"}))


def _probe(probe: Json) -> Json:
    probe = _with_http(filled(probe, _PROBE))
    return changed(probe, "grpc", lambda one: filled(one, {"service": ""}))


def _with_http(action: Json) -> Json:
    return changed(action, "httpGet", lambda one: filled(one, {"path": "/", "scheme": "HTTP"}))


def _volume(volume: Json) -> Json:
    if set(volume) <= {"name"}:
        return {**volume, "emptyDir": {}}
    for source in _FILES:
        volume = changed(volume, source, lambda one: filled(one, {"defaultMode": _MODE}))
    volume = changed(volume, "hostPath", lambda one: filled(one, {"type": ""}))
    volume = changed(volume, "downwardAPI", _downward)
    return changed(volume, "projected", lambda one: changed_items(one, "sources", _projection))


def _projection(source: Json) -> Json:
    token = {"expirationSeconds": _TOKEN_SECONDS}
    source = changed(source, "serviceAccountToken", lambda one: filled(one, token))
    return changed(source, "downwardAPI", _downward)


def _downward(source: Json) -> Json:
    return changed_items(source, "items", _field)


# Defaults of the kinds whose controllers make Pods.
#
# Source of the rules: k8s.io/kubernetes pkg/apis/apps/v1/defaults.go and
# pkg/apis/batch/v1/defaults.go.

_HISTORY = 10
_QUARTER = "25%"
_CLAIM = MappingProxyType({"apiVersion": "v1", "kind": "PersistentVolumeClaim"})


def _deployment(spec: Json) -> Json:
    defaults = {
        "replicas": 1,
        "strategy": {"type": "RollingUpdate"},
        "revisionHistoryLimit": _HISTORY,
        "progressDeadlineSeconds": 600,
    }
    rolling = {"maxUnavailable": _QUARTER, "maxSurge": _QUARTER}
    return _rolling(filled(spec, defaults), "strategy", rolling)


def _stateful_set(spec: Json) -> Json:
    defaults = {
        "replicas": 1,
        "podManagementPolicy": "OrderedReady",
        "updateStrategy": {"type": "RollingUpdate"},
        "revisionHistoryLimit": _HISTORY,
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
    }
    spec = _rolling(filled(spec, defaults), "updateStrategy", {"partition": 0})
    return changed_items(
        spec,
        "volumeClaimTemplates",
        lambda claim: changed(filled(claim, _CLAIM), "spec", _claim_spec),
    )


def _claim_spec(spec: Json) -> Json:
    return filled(spec, {"volumeMode": "Filesystem"})


def _daemon_set(spec: Json) -> Json:
    defaults = {"updateStrategy": {"type": "RollingUpdate"}, "revisionHistoryLimit": _HISTORY}
    return _rolling(filled(spec, defaults), "updateStrategy", {"maxUnavailable": 1, "maxSurge": 0})


def _cron_job(spec: Json) -> Json:
    """Return the specification of a CronJob; its Jobs get their defaults when they are created."""
    defaults = {
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    }
    spec = filled(spec, defaults)
    return changed(spec, "jobTemplate", lambda template: changed(template, "spec", _templated))


def _rolling(spec: Json, name: str, defaults: Mapping[str, Json]) -> Json:
    """Return a specification with the defaults of its template and of a rolling update."""

    def complete(strategy: Json) -> Json:
        strategy = filled(strategy, {"type": "RollingUpdate"})
        if strategy.__class__ is not dict or strategy["type"] != "RollingUpdate":
            return strategy
        return {**strategy, "rollingUpdate": filled(strategy.get("rollingUpdate") or {}, defaults)}

    return _templated(changed(spec, name, complete))


def _job(spec: Json) -> Json:
    if spec.__class__ is dict and spec.get("parallelism") is None:
        # Without both, one Pod; with parallelism alone, a queue of work that has no number.
        spec = filled({**spec, "parallelism": 1}, {"completions": 1})
    policy = spec.get("podFailurePolicy") if spec.__class__ is dict else None
    defaults = {
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "podReplacementPolicy": "Failed" if policy else "TerminatingOrFailed",
        "manualSelector": False,
    }
    return _templated(filled(spec, defaults))


# Defaults of Services and NetworkPolicies.
#
# Source of the rules: k8s.io/kubernetes pkg/apis/core/v1/defaults.go and
# pkg/apis/networking/v1/defaults.go.

_REACHABLE = frozenset({"NodePort", "LoadBalancer"})
_TCP = MappingProxyType({"protocol": "TCP"})


def _service(spec: Json) -> Json:
    """Return the specification of a Service, without its addresses."""
    spec = filled(spec, {"type": "ClusterIP", "sessionAffinity": "None"})
    if spec.__class__ is not dict:
        return spec
    spec = changed_items(
        spec, "ports", lambda one: filled(one, {"protocol": "TCP", "targetPort": one.get("port")})
    )
    if spec["type"] == "ExternalName":
        return spec
    defaults: dict[str, Json] = {
        "internalTrafficPolicy": "Cluster",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
    }
    if spec["type"] in _REACHABLE:
        defaults["externalTrafficPolicy"] = "Cluster"
    if spec["type"] == "LoadBalancer":
        defaults["allocateLoadBalancerNodePorts"] = True
    return filled(spec, defaults)


def _network_policy(spec: Json) -> Json:
    """Return the specification of a NetworkPolicy: its types follow from its rules."""
    if spec.__class__ is not dict:
        return spec
    types = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    spec = filled(spec, {"policyTypes": types})
    for side in ("ingress", "egress"):
        spec = changed_items(
            spec, side, lambda rule: changed_items(rule, "ports", lambda one: filled(one, _TCP))
        )
    return spec


# Defaults of webhook configurations and admission policies.
#
# Source of the rules: k8s.io/kubernetes pkg/apis/admissionregistration/v1/defaults.go.


def _webhooks(obj: Json) -> Json:
    defaults: dict[str, Json] = {
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
        "timeoutSeconds": 10,
    }
    if text_field(obj, "kind") == "MutatingWebhookConfiguration":
        defaults["reinvocationPolicy"] = "Never"

    return changed_items(
        obj,
        "webhooks",
        lambda one: changed_items(filled(one, defaults), "rules", _admission_rule),
    )


def _admission_rule(rule: Json) -> Json:
    return filled(rule, {"scope": "*"})


def _admission_policy(spec: Json) -> Json:
    return changed(filled(spec, {"failurePolicy": "Fail"}), "matchConstraints", _constraints)


def _mutating_policy(spec: Json) -> Json:
    return filled(_admission_policy(spec), {"reinvocationPolicy": "Never"})


def _policy_binding(spec: Json) -> Json:
    return changed(spec, "matchResources", _constraints)


def _constraints(constraints: Json) -> Json:
    defaults = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
    return changed_items(filled(constraints, defaults), "resourceRules", _admission_rule)


# Defaults that an API server sets, as far as rules and people notice them.
#
# They are set before any plugin and webhook, and after each change by one. Source of the rules:
# k8s.io/kubernetes pkg/apis/*/v1/defaults.go.

_RBAC = "rbac.authorization.k8s.io"
_REGISTRATION = "admissionregistration.k8s.io"


def with_defaults(obj: Json) -> Json:
    """Return an object with the defaults of its kind, and without empty fields."""
    key, typed = object_key(obj)[:2], as_typed(obj)
    if key in _OF_SPEC:
        return changed(typed, "spec", _OF_SPEC[key])
    fill = _OF_OBJECT.get(key)
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


def _role_binding(obj: Json) -> Json:
    def subject(one: Json) -> Json:
        return one if one.get("kind") == "ServiceAccount" else filled(one, {"apiGroup": _RBAC})

    complete = changed(obj, "roleRef", lambda one: filled(one, {"apiGroup": _RBAC}))
    return changed_items(complete, "subjects", subject)


_OF_SPEC: Mapping[tuple[str, str], Callable[[Json], Json]] = MappingProxyType(
    {
        ("v1", "Pod"): _pod,
        ("v1", "Service"): _service,
        ("apps/v1", "DaemonSet"): _daemon_set,
        ("apps/v1", "Deployment"): _deployment,
        ("apps/v1", "ReplicaSet"): lambda spec: _templated(filled(spec, {"replicas": 1})),
        ("apps/v1", "StatefulSet"): _stateful_set,
        ("batch/v1", "CronJob"): _cron_job,
        ("batch/v1", "Job"): _job,
        ("networking.k8s.io/v1", "NetworkPolicy"): _network_policy,
        (f"{_REGISTRATION}/v1", "ValidatingAdmissionPolicy"): _admission_policy,
        (f"{_REGISTRATION}/v1", "ValidatingAdmissionPolicyBinding"): _policy_binding,
        **{
            (f"{_REGISTRATION}/{version}", f"MutatingAdmissionPolicy{part}"): complete
            for version in ("v1alpha1", "v1beta1", "v1")
            for part, complete in (("", _mutating_policy), ("Binding", _policy_binding))
        },
    }
)
"""What completes the specification of a kind, if it has one."""
_OF_OBJECT: Mapping[tuple[str, str], Callable[[Json], Json]] = MappingProxyType(
    {
        ("v1", "Namespace"): _namespace,
        ("v1", "PersistentVolumeClaim"): lambda obj: filled(
            changed(obj, "spec", _claim_spec), {"status": {"phase": "Pending"}}
        ),
        ("v1", "Secret"): _secret,
        ("scheduling.k8s.io/v1", "PriorityClass"): lambda obj: filled(
            obj, {"preemptionPolicy": "PreemptLowerPriority"}
        ),
        ("storage.k8s.io/v1", "StorageClass"): lambda obj: filled(
            obj, {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"}
        ),
        (f"{_RBAC}/v1", "ClusterRoleBinding"): _role_binding,
        (f"{_RBAC}/v1", "RoleBinding"): _role_binding,
        (f"{_REGISTRATION}/v1", "MutatingWebhookConfiguration"): _webhooks,
        (f"{_REGISTRATION}/v1", "ValidatingWebhookConfiguration"): _webhooks,
    }
)
"""What completes an object of a kind that has defaults besides its specification."""


# The ServiceAccount plugin: as whom a Pod runs, and the token that it gets for that.
#
# Source of the rules: k8s.io/kubernetes plugin/pkg/admission/serviceaccount.

TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 — a path
_PREFIX = "kube-api-access-"
_DEFAULT = "default"
_MIRROR = "kubernetes.io/config.mirror"
_ACCOUNT_TOKEN_SECONDS = 3607


def give_account(review: Review, store: ObjectStore, identities: Identities) -> Json | ApiError:
    """Return a new Pod with its ServiceAccount and token, or why it may not have them.

    A Pod may use the account `default` before that is there: the plugin waits for it, as every
    namespace gets one.
    """
    pod: Json = review.object
    spec = pod.get("spec")
    if spec.__class__ is not dict or _MIRROR in annotations(pod):
        return pod
    name = text_field(spec, "serviceAccountName") or _DEFAULT
    namespace = review.request.key.namespace
    account = store.get("v1", "ServiceAccount", namespace, name)
    if account is None and name != _DEFAULT:
        why = (
            f"error looking up service account {namespace}/{name}: "
            f'serviceaccount "{name}" not found'
        )
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
        spec = changed_items(spec, group, mount)
    if not mounted or name:
        return spec
    namespace = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": _ACCOUNT_TOKEN_SECONDS, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"fieldRef": namespace, "path": "namespace"}]}},
    ]
    return {
        **spec,
        "volumes": [
            *(spec.get("volumes") or ()),
            {"name": volume, "projected": {"defaultMode": _MODE, "sources": sources}},
        ],
    }


# What Kubernetes itself changes in new objects before any webhook sees them.
#
# Source of the rules: k8s.io/kubernetes plugin/pkg/admission (serviceaccount, priority,
# defaulttolerationseconds).

_TOLERATED = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_SECONDS = 300


def pod_plugin(store: ObjectStore, identities: Identities) -> Callable[[Review], Json | ApiError]:
    """Return the plugin that completes new Pods: account, priority, tolerations."""

    def admit(review: Review) -> Json | ApiError:
        request = review.request
        if request.key[:2] != ("v1", "Pod") or request.subresource:
            return review.object
        if request.operation is not Operation.CREATE or review.object is None:
            return review.object
        pod = give_account(review, store, identities)
        if isinstance(pod, ApiError) or pod.get("spec").__class__ is not dict:
            return pod
        name = text_field(pod["spec"], "priorityClassName")
        priority_class = (
            store.get("scheduling.k8s.io/v1", "PriorityClass", "", name) if name else None
        )
        policy = text_field(priority_class, "preemptionPolicy") or "PreemptLowerPriority"
        value = priority_class.get("value", 0) if priority_class else 0
        spec = filled(pod["spec"], {"priority": value, "preemptionPolicy": policy})
        given = entries(spec, "tolerations")
        added = [
            {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _SECONDS}
            for key in _TOLERATED
            if not any(
                text_field(one, "key") in {"", key}
                and text_field(one, "effect") in {"", "NoExecute"}
                for one in given
            )
        ]
        return {**pod, "spec": ({**spec, "tolerations": [*given, *added]} if added else spec)}

    return admit
