"""Features of a cluster that are not simulated; a test that needs one has no result."""

import re
from collections.abc import Callable, Iterable, Mapping

from kyvsim.chainsaw.errors import UnsupportedError
from kyvsim.chainsaw.expressions import TreeMismatch
from kyvsim.engine.missing_input import is_limit_of_kyvsim
from kyvsim.kubernetes.discovery import is_builtin, is_mature, served_versions, split_api_version
from kyvsim.kubernetes.objects import KubernetesObject, ObjectKey, labels, object_key, text_field
from kyvsim.model.request import Operation
from kyvsim.model.result import PolicyResponse
from kyvsim.model.simulation import FailureCause
from kyvsim.schema.kinds import CEL_GROUP
from kyvsim.simulator.admission.cel import not_done
from kyvsim.simulator.api_server import ApiRequest, ApiResponse, ObjectStore
from kyvsim.simulator.api_server.server import ADMIN
from kyvsim.simulator.configuration import NAMESPACE
from kyvsim.simulator.own_pods import COMPONENT
from kyvsim.simulator.policies import CEL_KINDS

# Queries and checks in a cluster that cannot be simulated, whatever a test expects.
#
# Policies query registries, services and key stores; Kubernetes' admission checks quotas and
# limits.

_SECURITY = "pod-security.kubernetes.io/enforce"
_LAX = frozenset({"", "privileged"})


def watch_responses(reasons: list[str]) -> Callable[[Iterable[PolicyResponse]], None]:
    """Return a listener that adds messages about unavailable data in responses to `reasons`."""

    def listen(responses: Iterable[PolicyResponse]) -> None:
        reasons.extend(
            f"{response.policy.name}/{result.rule.name}: {result.message}"
            for response in responses
            for result in response.results
            if is_limit_of_kyvsim(result.message)
        )

    return listen


def watch_policies(reasons: list[str]) -> Callable[[ApiRequest, ApiResponse, object], None]:
    """Return an observer of requests that adds unsimulated features of policies to `reasons`."""

    def observe(request: ApiRequest, response: ApiResponse, _old: object) -> None:
        written = request.operation is not Operation.DELETE and not request.subresource
        if written and response.ok and response.object is not None:
            what = f"{request.key.kind} `{object_key(response.object).name}`"
            reasons.extend(f"{what}: {one} is not simulated" for one in not_done(response.object))

    return observe


def watch_pods(
    store: ObjectStore, reasons: list[str]
) -> Callable[[ApiRequest, ApiResponse, object], None]:
    """Return an observer of requests that adds unsimulated checks of Pods to `reasons`."""

    def observe(request: ApiRequest, response: ApiResponse, _old: object) -> None:
        key = request.key
        created = request.operation is Operation.CREATE and not request.subresource
        if not created or (key.api_version, key.kind) != ("v1", "Pod"):
            return
        where = f"of the namespace `{key.namespace}` is not simulated"
        # LimitRanges change a Pod before other admission; the others are checked last.
        reasons.extend(f"LimitRange `{name}` {where}" for name in names("LimitRange", key))
        if response.error is not None:
            return
        reasons.extend(f"ResourceQuota `{name}` {where}" for name in names("ResourceQuota", key))
        level = labels(store.get("v1", "Namespace", "", key.namespace) or {}).get(_SECURITY, "")
        if level not in _LAX:
            reasons.append(f"the label `{_SECURITY}: {level}` {where}")

    def names(kind: str, key: ObjectKey) -> list[str]:
        return [object_key(one).name for one in store.list("v1", kind, key.namespace)]

    return observe


def watch_aggregated(
    store: ObjectStore, reasons: list[str]
) -> Callable[[ApiRequest, ApiResponse, object], None]:
    """Return an observer of requests that adds kinds of other API servers to `reasons`."""

    def observe(request: ApiRequest, response: ApiResponse, _old: object) -> None:
        if response.error is not None and response.error.why is FailureCause.NO_KIND:
            reasons.extend(filter(None, (_aggregated(request.key, store),)))

    return observe


def watch_own_pods(reasons: list[str]) -> Callable[[ApiRequest, ApiResponse, object], None]:
    """Return an observer of requests that adds changes of Kyverno's own Pods to `reasons`."""

    def observe(request: ApiRequest, response: ApiResponse, old: object) -> None:
        key = request.key
        own = (key.kind, key.namespace) == ("Pod", NAMESPACE) and COMPONENT in labels(old)
        if own and response.ok and request.user == ADMIN:
            reasons.append(f"changing or deleting the Pod `{key.name}` of Kyverno is not simulated")

    return observe


# Unsimulated features of a cluster, reported when a test needs them.
#
# Some objects have an effect only in a real cluster, some objects are only written by controllers
# there, and some fields are only set by controllers there. Whether a test matches them here says
# nothing about a real cluster.

_EVERY = ""
_WEBHOOKS = "webhook configurations other than Kyverno's own for resources are not simulated"
_FORCED = re.compile(r"^webhooks\[\d+\]\.(?:failurePolicy|name|clientConfig\.service\.path)$")
_CONFIGURATIONS = frozenset({"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"})
_WRITTEN_HERE = frozenset(
    f"kyverno-{one}-webhook-cfg"
    for one in (
        *("resource-validating", "resource-mutating", "policy-validating", "policy-mutating"),
        "verify-mutating",
    )
)
"""The webhook configurations of Kyverno that are simulated."""
_ACTING: Mapping[tuple[str, str], str] = {
    ("policies.kyverno.io", _EVERY): "",
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): _WEBHOOKS,
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): _WEBHOOKS,
}
"""Kinds whose objects have an effect that is not simulated, with the message."""
_HEEDED = frozenset((CEL_GROUP, kind) for kind in (*CEL_KINDS, "PolicyException"))
"""The simulated kinds of a group whose other kinds are not."""
_WRITTEN_ELSEWHERE: Mapping[tuple[str, str], str] = {
    ("", "Endpoints"): "the endpoints controller",
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): "Kyverno and others",
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): "Kyverno and others",
    ("apps", "ControllerRevision"): "the controllers of DaemonSets and StatefulSets",
    ("certificates.k8s.io", "CertificateSigningRequest"): "nodes and their signers",
    ("coordination.k8s.io", "Lease"): "nodes and controllers with leader election",
    ("coordination.k8s.io", "LeaseCandidate"): "controllers with leader election",
    ("discovery.k8s.io", "EndpointSlice"): "the endpoint slice controller",
    ("events.k8s.io", "Event"): "components that record events (v1 Events in the simulation)",
    ("flowcontrol.apiserver.k8s.io", _EVERY): "the API server",
    ("metrics.k8s.io", _EVERY): "the metrics server",
    ("openreports.io", _EVERY): "Kyverno, if it is installed with these reports",
    ("storage.k8s.io", _EVERY): "the storage of the cluster",
}
"""Kinds that something writes in a real cluster, but nothing here."""
_INSTALLED = frozenset({"kyverno", "kube-system", "kube-node-lease"})
"""Namespaces with more objects in a real cluster than here."""
_OF_INSTALLATIONS = frozenset(
    {("", kind) for kind in ("Endpoints", "Pod", "Secret", "Service")}
    | {("apps", kind) for kind in ("DaemonSet", "Deployment", "ReplicaSet")}
    | {("batch", kind) for kind in ("CronJob", "Job")}
)
_FILLED_IN = frozenset(
    {("", kind) for kind in ("Namespace", "Node", "Pod")}
    | {("apps", kind) for kind in ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")}
    | {("batch", kind) for kind in ("CronJob", "Job")}
)
"""Kubernetes' own kinds whose status is written here."""


def require_simulated(key: ObjectKey) -> None:
    """Raise UnsupportedError for an object of a kind whose effect is not simulated."""
    why = _acting(key)
    if why:
        raise UnsupportedError(why)


def _acting(key: ObjectKey) -> str:
    """Return what is not simulated of a kind, "" if nothing."""
    if (key.group, key.kind) in _HEEDED:
        return ""
    if key.kind in _CONFIGURATIONS and (not key.name or key.name in _WRITTEN_HERE):
        return ""
    why = _ACTING.get((key.group, key.kind), _ACTING.get((key.group, _EVERY)))
    if why == "":
        return f"objects of kind {key.kind} ({key.api_version}) are not evaluated"
    return why or ""


def require_release(key: ObjectKey, store: ObjectStore) -> None:
    """Raise UnsupportedError for a built-in kind in a version of a later Kubernetes release."""
    group, version = split_api_version(key.api_version)
    served = served_versions(group, key.kind, store.defined)
    if is_builtin(group, key.kind) and version not in served and is_mature(version, served):
        what = f"{key.kind} of {key.api_version}"
        raise UnsupportedError(f"{what} is only served by later releases than the simulated one")


def require_written(key: ObjectKey, store: ObjectStore) -> None:
    """Raise UnsupportedError for a missing object that a real cluster would contain.

    If the test has written objects of the kind itself, they are the same in a real cluster.
    """
    if key.name and store.get(*key) is not None:
        return
    if not key.name and store.list(key.api_version, key.kind, key.namespace):
        return
    why = _written_elsewhere(key) or _aggregated(key, store)
    if why:
        raise UnsupportedError(why)


def _written_elsewhere(key: ObjectKey) -> str:
    """Return what writes an object in a real cluster, "" if it is written here too."""
    name = f"{key.kind} `{key.name}`" if key.name else f"objects of kind {key.kind}"
    every = _WRITTEN_ELSEWHERE.get((key.group, _EVERY))
    writer = _WRITTEN_ELSEWHERE.get((key.group, key.kind), every)
    if writer is not None:
        return f"{name}: in a cluster {writer} would write this, which is not simulated"
    if key.namespace in _INSTALLED and (key.group, key.kind) in _OF_INSTALLATIONS:
        where = f"in the namespace `{key.namespace}`"
        return f"{name} {where}: the components installed there are not simulated"
    return ""


def _aggregated(key: ObjectKey, store: ObjectStore) -> str:
    """Return the APIService by which another API server serves a kind, "" if there is none."""
    for one in store.list("apiregistration.k8s.io/v1", "APIService", ""):
        spec = one.get("spec") or {}
        if spec.get("service") and spec.get("group") == key.group:
            server = f"the server of APIService `{object_key(one).name}`"
            return f"objects of kind {key.kind} ({key.group}): {server} is not simulated"
    return ""


def is_elsewhere(key: ObjectKey) -> bool:
    """Return whether a missing object can exist in a real cluster."""
    return bool(_acting(key) or _written_elsewhere(key))


def is_served(key: ObjectKey, store: ObjectStore) -> bool:
    """Return whether the API server serves a kind in a version; other operations fail."""
    group, version = split_api_version(key.api_version)
    if (group, key.kind) not in store.served:
        return False
    versions = served_versions(group, key.kind, store.defined)
    return not versions or version in versions


def require_filled_in(obj: KubernetesObject, problems: tuple[TreeMismatch, ...]) -> None:
    """Raise UnsupportedError if only a status that is not simulated does not match."""
    key = object_key(obj)
    if not is_builtin(key.group, key.kind) or (key.group, key.kind) in _FILLED_IN:
        return
    if problems and all(one.path.partition(".")[0] == "status" for one in problems):
        raise UnsupportedError(f"the status of a {key.kind}, which is not simulated")


def require_installed_so(
    tree: KubernetesObject, obj: KubernetesObject, problems: tuple[TreeMismatch, ...]
) -> None:
    """Raise UnsupportedError if the mismatch is caused by how Kyverno is installed.

    With `forceFailurePolicyIgnore` it has no webhook with `failurePolicy: Fail`.
    """
    if object_key(obj).name not in _WRITTEN_HERE or not problems:
        return
    expected = {text_field(one, "failurePolicy") for one in tree.get("webhooks") or ()}
    if expected == {"Ignore"} and all(_FORCED.search(one.path) for one in problems):
        where = "in a values file, passed with --install"
        raise UnsupportedError(
            "webhooks of a Kyverno with `forceFailurePolicyIgnore`: "
            f"set `features.forceFailurePolicyIgnore.enabled` {where}"
        )
