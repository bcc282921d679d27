"""The ReplicaSet controller: as many Pods of a template as are wished.

Source of the rules: k8s.io/kubernetes pkg/controller/replicaset.
"""

from kyvsim.kube.objects import Json, ObjectKey, metadata, object_key, text_field
from kyvsim.sim.kubernetes.conditions import Condition, conditions, counts, write_status
from kyvsim.sim.kubernetes.owners import controlled, look_at_controller, look_at_self
from kyvsim.sim.kubernetes.pod_template import is_active, is_ready, pod_of
from kyvsim.sim.kubernetes.users import REPLICA_SET
from kyvsim.sim.kubernetes.work_queue import WorkQueue, watch_kinds
from kyvsim.sim.parts import Parts
from kyvsim.sim.server import ApiError
from kyvsim.sim.server.filling import entries
from kyvsim.sim.server.metadata import is_terminating

_FAILED = "ReplicaFailure"


def run_replica_sets(parts: Parts) -> None:
    """Make and delete the Pods of ReplicaSets."""
    if not parts.settings.workloads:
        return
    client = parts.client(REPLICA_SET)

    def work(key: ObjectKey) -> bool:
        found = client.get(*key)
        if found is None or is_terminating(found):
            return True
        problem = _scale(parts, found)
        found = client.get(*key)
        written = found is None or write_status(client, found, _status(parts, found, problem))
        return written and problem is None

    queue = WorkQueue(parts, "replicaset-controller", work)
    watch_kinds(
        parts.store,
        {
            ("apps/v1", "ReplicaSet"): look_at_self(queue),
            ("v1", "Pod"): look_at_controller(queue, "ReplicaSet"),
        },
    )


def _pods(parts: Parts, owner: Json) -> list[Json]:
    return [one for one in controlled(parts.store, owner, "v1", "Pod") if is_active(one)]


def _scale(parts: Parts, owner: Json) -> ApiError | None:
    """Make the Pods that are missing and delete those that are too many; return what failed."""
    client, pods = parts.client(REPLICA_SET), _pods(parts, owner)
    missing = int(owner["spec"].get("replicas", 1)) - len(pods)
    name = {"generateName": f"{object_key(owner).name}-"}
    for _ in range(missing):
        made = client.create(pod_of(owner, owner["spec"]["template"], name, {}))
        if made.error is not None:
            return made.error
    # Those that are not ready go first, then the youngest.
    for pod in sorted(pods, key=_worth)[: max(-missing, 0)]:
        gone = client.delete(object_key(pod))
        if gone.error is not None and gone.error.reason != "NotFound":
            return gone.error
    return None


def _worth(pod: Json) -> tuple[bool, int]:
    return is_ready(pod), -int(metadata(pod)["resourceVersion"])


def _status(parts: Parts, owner: Json, problem: ApiError | None) -> Json:
    pods, old = _pods(parts, owner), owner.get("status") or {}
    ready = sum(is_ready(one) for one in pods)
    failed = [_failure(old, problem)] if problem else []
    written = conditions(old, failed, parts.clock.stamp())
    return {
        "replicas": len(pods),
        **counts(fullyLabeledReplicas=len(pods), readyReplicas=ready, availableReplicas=ready),
        "observedGeneration": metadata(owner).get("generation"),
        **({"conditions": written} if written else {}),
    }


def _failure(old: Json, problem: ApiError) -> Condition:
    """Return that Pods cannot be made: what was said first stays, for each names another Pod."""
    for one in entries(old, "conditions"):
        if text_field(one, "type") == _FAILED:
            return Condition(_FAILED, True, text_field(one, "reason"), text_field(one, "message"))
    return Condition(_FAILED, True, "FailedCreate", problem.message)
