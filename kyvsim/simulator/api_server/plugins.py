"""What Kubernetes itself changes in new objects before any webhook sees them."""

from collections.abc import Callable

from kyvsim.kubernetes.objects import Json, ObjectKey, annotations, entries, metadata, text_field
from kyvsim.model.request import Operation
from kyvsim.simulator.api_server import errors
from kyvsim.simulator.api_server.defaults import changed, each, filled
from kyvsim.simulator.api_server.metadata import Identities
from kyvsim.simulator.api_server.request import ApiError, Review
from kyvsim.simulator.api_server.store import ObjectStore

# The ServiceAccount plugin: as whom a Pod runs, and the token that it gets for that.
#
# Source of the rules: k8s.io/kubernetes plugin/pkg/admission/serviceaccount.

TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 — a path
_PREFIX = "kube-api-access-"
_DEFAULT = "default"
_MIRROR = "kubernetes.io/config.mirror"
_MODE = 0o644
_TOKEN_SECONDS = 3607


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
    if _wants_token(spec, account):
        meta = metadata(pod)
        own = text_field(meta, "name") or text_field(meta, "generateName")
        spec = _with_token(spec, lambda: identities.generated_name(_PREFIX, namespace, own))
    if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
        secrets = [
            {"name": text_field(one, "name")} for one in entries(account, "imagePullSecrets")
        ]
        spec = {**spec, "imagePullSecrets": secrets}
    return {**pod, "spec": spec}


def _wants_token(spec: Json, account: Json) -> bool:
    for one in (spec, account):
        if one.get("automountServiceAccountToken") is not None:
            return bool(one["automountServiceAccountToken"])
    return True


def _with_token(spec: Json, new_name: Callable[[], str]) -> Json:
    names = [text_field(one, "name") for one in entries(spec, "volumes")]
    name = next((one for one in names if one.startswith(_PREFIX)), "")
    found = name or new_name()
    mounted = False

    def mount(container: Json) -> Json:
        nonlocal mounted
        mounts = entries(container, "volumeMounts")
        if any(text_field(one, "mountPath") == TOKEN_PATH for one in mounts):
            return container
        mounted = True
        token = {"name": found, "mountPath": TOKEN_PATH, "readOnly": True}
        return {**container, "volumeMounts": [*mounts, token]}

    for group in ("initContainers", "containers"):
        spec = changed(spec, group, _each_with(mount))
    if not mounted or name:
        return spec
    namespace = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": _TOKEN_SECONDS, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"fieldRef": namespace, "path": "namespace"}]}},
    ]
    return {
        **spec,
        "volumes": [
            *(spec.get("volumes") or ()),
            {"name": found, "projected": {"defaultMode": _MODE, "sources": sources}},
        ],
    }


def _each_with(mount: Callable[[Json], Json]) -> Callable[[Json], Json]:
    return lambda some: each(some, mount)


# What Kubernetes itself changes in new objects before any webhook sees them.
#
# Source of the rules: k8s.io/kubernetes plugin/pkg/admission (serviceaccount, priority,
# defaulttolerationseconds).

Plugin = Callable[[Review], Json | ApiError]
_TOLERATED = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_SECONDS = 300


def pod_plugin(store: ObjectStore, identities: Identities) -> Plugin:
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
        spec = _with_priority(pod["spec"], store)
        given = entries(spec, "tolerations")
        added = [
            {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _SECONDS}
            for key in _TOLERATED
            if not any(_tolerates(one, key) for one in given)
        ]
        return {**pod, "spec": ({**spec, "tolerations": [*given, *added]} if added else spec)}

    return admit


def _with_priority(spec: Json, store: ObjectStore) -> Json:
    name = text_field(spec, "priorityClassName")
    found = store.get("scheduling.k8s.io/v1", "PriorityClass", "", name) if name else None
    policy = text_field(found, "preemptionPolicy") or "PreemptLowerPriority"
    value = found.get("value", 0) if found else 0
    return filled(spec, {"priority": value, "preemptionPolicy": policy})


def _tolerates(toleration: Json, key: str) -> bool:
    effect = text_field(toleration, "effect")
    return text_field(toleration, "key") in {"", key} and effect in {"", "NoExecute"}
