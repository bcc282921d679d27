"""The scheduler: a Pod gets a node. The first one suits every Pod.

Source of the rules: k8s.io/kubernetes pkg/scheduler.
"""

from kyvsim.kube.objects import Json, ObjectKey, object_key
from kyvsim.model.request import Operation
from kyvsim.sim.kubernetes.conditions import Condition, conditions, write_status
from kyvsim.sim.kubernetes.missing_objects import MissingObjects
from kyvsim.sim.kubernetes.owners import look_at_self
from kyvsim.sim.kubernetes.pod_references import missing_claims
from kyvsim.sim.kubernetes.users import SCHEDULER
from kyvsim.sim.kubernetes.work_queue import WorkQueue, watch_kinds
from kyvsim.sim.parts import Parts
from kyvsim.sim.server import ApiRequest
from kyvsim.sim.server.metadata import is_terminating

_ACTOR = "kube-scheduler"


def bind_pods(parts: Parts) -> None:
    """Bind Pods to a node once their claims are there."""
    if not parts.settings.kubelet:
        return
    client = parts.client(SCHEDULER)

    def work(key: ObjectKey) -> bool:
        pod = client.get(*key)
        if pod is None or is_terminating(pod) or pod["spec"].get("nodeName"):
            missing.forget(key)
            return True
        nodes = client.list("v1", "Node")
        problems = missing_claims(pod, parts.store)
        missing.note(key, [one.key for one in problems])
        if nodes and not problems:
            return client.send(_binding(key, object_key(nodes[0]).name)).ok
        why = "; ".join(one.reason for one in problems) or "no nodes available to schedule pods"
        return _unschedulable(parts, pod, f"0/{len(nodes)} nodes are available: {why}.")

    queue = WorkQueue(parts, _ACTOR, work)
    missing = MissingObjects(queue)
    watch_kinds(parts.store, {("v1", "Pod"): look_at_self(queue)})
    parts.store.watch(missing.observe)


def _binding(key: ObjectKey, node: str) -> ApiRequest:
    sent = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": key.name, "namespace": key.namespace},
        "target": {"kind": "Node", "name": node},
    }
    return ApiRequest(Operation.CREATE, key, SCHEDULER, sent, "binding")


def _unschedulable(parts: Parts, pod: Json, why: str) -> bool:
    """Say in its status why a Pod has no node."""
    old = pod.get("status") or {}
    held = [Condition("PodScheduled", False, "Unschedulable", why)]
    before = [one.get("message") for one in old.get("conditions") or ()]
    if why in before:
        return True
    parts.timeline.record(_ACTOR, "wait", object_key(pod), outcome="waiting", message=why)
    written = conditions(old, held, parts.clock.stamp())
    return write_status(parts.client(SCHEDULER), pod, {**old, "conditions": written})
