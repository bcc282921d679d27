"""What Kubernetes' admission plugins set in new Pods, before any webhook is called.

Source of the rules: k8s.io/kubernetes plugin/pkg/admission (serviceaccount, priority,
defaulttolerationseconds).
"""

from collections.abc import Callable

from kyvsim.kubernetes.defaults import FILE_MODE, completed
from kyvsim.kubernetes.objects import (
    Json,
    KubernetesObject,
    ObjectKey,
    annotations,
    entries,
    metadata,
    text_field,
)
from kyvsim.model.request import Operation
from kyvsim.simulator.api_server import errors
from kyvsim.simulator.api_server.metadata import Identities
from kyvsim.simulator.api_server.request import ApiError, Review
from kyvsim.simulator.api_server.store import ObjectStore

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
    token = {"name": volume, "projected": {"defaultMode": FILE_MODE, "sources": sources}}
    return {**spec, "volumes": [*(spec.get("volumes") or ()), token]}


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
