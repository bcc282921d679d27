"""What Kubernetes itself changes in new objects before any webhook sees them.

Source of the rules: k8s.io/kubernetes plugin/pkg/admission (serviceaccount, priority,
defaulttolerationseconds).
"""

from collections.abc import Callable

from kyvsim.kube.objects import Json, entries, text_field
from kyvsim.model.request import Operation
from kyvsim.sim.server.filling import filled
from kyvsim.sim.server.identity import Identities
from kyvsim.sim.server.request import ApiError, Review
from kyvsim.sim.server.service_account_plugin import give_account
from kyvsim.sim.server.store import Store

Plugin = Callable[[Review], Json | ApiError]
_TOLERATED = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_SECONDS = 300


def pod_plugin(store: Store, identities: Identities) -> Plugin:
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
        return {**pod, "spec": _with_tolerations(_with_priority(pod["spec"], store))}

    return admit


def _with_priority(spec: Json, store: Store) -> Json:
    name = text_field(spec, "priorityClassName")
    found = store.get("scheduling.k8s.io/v1", "PriorityClass", "", name) if name else None
    policy = text_field(found, "preemptionPolicy") or "PreemptLowerPriority"
    value = found.get("value", 0) if found else 0
    return filled(spec, {"priority": value, "preemptionPolicy": policy})


def _with_tolerations(spec: Json) -> Json:
    """Return a Pod's specification that stands a failing node for some minutes."""
    given = entries(spec, "tolerations")
    added = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _SECONDS}
        for key in _TOLERATED
        if not any(_tolerates(one, key) for one in given)
    ]
    return {**spec, "tolerations": [*given, *added]} if added else spec


def _tolerates(toleration: Json, key: str) -> bool:
    effect = text_field(toleration, "effect")
    return text_field(toleration, "key") in {"", key} and effect in {"", "NoExecute"}
