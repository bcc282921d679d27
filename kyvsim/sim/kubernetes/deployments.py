"""The Deployment controller: one ReplicaSet for each template that a Deployment has had.

A rollout makes all new Pods before it takes the old ones away, or the other way round; the steps
between are left out. Source of the rules: k8s.io/kubernetes pkg/controller/deployment.
"""

from kyvsim.kube.objects import Json, ObjectKey, annotations, labels, metadata, object_key
from kyvsim.sim.kubernetes.conditions import Condition, conditions, counts, write_status
from kyvsim.sim.kubernetes.owners import (
    controlled,
    look_at_controller,
    look_at_self,
    owner_reference,
)
from kyvsim.sim.kubernetes.pod_template import template_hash
from kyvsim.sim.kubernetes.users import DEPLOYMENT
from kyvsim.sim.kubernetes.work_queue import WorkQueue, watch_kinds
from kyvsim.sim.parts import Parts
from kyvsim.sim.server import Client
from kyvsim.sim.server.metadata import is_terminating, with_metadata

_HASH = "pod-template-hash"
_REVISION = "deployment.kubernetes.io/revision"


def run_deployments(parts: Parts) -> None:
    """Make and scale the ReplicaSets of Deployments."""
    if not parts.settings.workloads:
        return
    client = parts.client(DEPLOYMENT)

    def work(key: ObjectKey) -> bool:
        found = client.get(*key)
        if found is None or is_terminating(found):
            return True
        well = found["spec"].get("paused") is True or _roll_out(parts, found)
        found = client.get(*key)
        return found is None or (write_status(client, found, _status(parts, found)) and well)

    queue = WorkQueue(parts, "deployment-controller", work)
    watch_kinds(
        parts.store,
        {
            ("apps/v1", "Deployment"): look_at_self(queue),
            ("apps/v1", "ReplicaSet"): look_at_controller(queue, "Deployment"),
        },
    )


def _replica_sets(parts: Parts, owner: Json) -> tuple[Json | None, list[Json]]:
    """Return the ReplicaSet of the current template, and those of former ones."""
    found = controlled(parts.store, owner, "apps/v1", "ReplicaSet")
    wanted = template_hash(owner["spec"]["template"])
    current = [one for one in found if labels(one).get(_HASH) == wanted]
    return (current[0] if current else None), [one for one in found if one not in current]


def _roll_out(parts: Parts, owner: Json) -> bool:
    """Do the next step of a rollout; return whether it went well."""
    client, replicas = parts.client(DEPLOYMENT), int(owner["spec"].get("replicas", 1))
    current, former = _replica_sets(parts, owner)
    recreates = (owner["spec"].get("strategy") or {}).get("type") == "Recreate"
    if recreates and any(_replicas(one) for one in former):
        return _emptied(client, former)
    if recreates and any((one.get("status") or {}).get("replicas") for one in former):
        return True
    if current is None:
        return client.create(_replica_set(owner, former, replicas)).ok
    well = _scaled(client, current, replicas)
    if (current.get("status") or {}).get("availableReplicas", 0) >= replicas:
        well = _emptied(client, former) and well
    return well


def _replica_set(owner: Json, former: list[Json], replicas: int) -> Json:
    spec, wanted = owner["spec"], template_hash(owner["spec"]["template"])
    key, mark = object_key(owner), {_HASH: wanted}
    template = spec["template"]
    marked = with_metadata(template, {"labels": {**labels(template), **mark}})
    selector = spec.get("selector") or {}
    matched = {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), **mark}}
    revision = 1 + max([int(annotations(one).get(_REVISION, "0")) for one in former], default=0)
    meta = {
        "name": f"{key.name}-{wanted}",
        "namespace": key.namespace,
        "labels": labels(marked),
        "annotations": {_REVISION: str(revision)},
        "ownerReferences": [owner_reference(owner)],
    }
    made = {"replicas": replicas, "selector": matched, "template": marked}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta, "spec": made}


def _replicas(replica_set: Json) -> int:
    return int(replica_set["spec"].get("replicas", 1))


def _scaled(client: Client, replica_set: Json, replicas: int) -> bool:
    if _replicas(replica_set) == replicas:
        return True
    return client.update({**replica_set, "spec": {**replica_set["spec"], "replicas": replicas}}).ok


def _emptied(client: Client, replica_sets: list[Json]) -> bool:
    return not [one for one in replica_sets if not _scaled(client, one, 0)]


def _status(parts: Parts, owner: Json) -> Json:
    current, former = _replica_sets(parts, owner)
    everything = [*([current] if current else []), *former]
    wanted = int(owner["spec"].get("replicas", 1))
    updated = _count([current] if current else [], "replicas")
    ready = _count(everything, "readyReplicas")
    available = Condition(
        "Available",
        ready >= wanted,
        f"MinimumReplicas{'Available' if ready >= wanted else 'Unavailable'}",
        f"Deployment {'has' if ready >= wanted else 'does not have'} minimum availability.",
    )
    done = updated == wanted == ready == _count(everything, "replicas")
    reason = "NewReplicaSetAvailable" if done else "ReplicaSetUpdated"
    name = object_key(current).name if current else ""
    says = "has successfully progressed." if done else "is progressing."
    progressing = Condition("Progressing", True, reason, f'ReplicaSet "{name}" {says}')
    held = conditions(owner.get("status"), [available, progressing], parts.clock.stamp())
    return {
        "observedGeneration": metadata(owner).get("generation"),
        **counts(
            replicas=_count(everything, "replicas"),
            updatedReplicas=updated,
            readyReplicas=ready,
            availableReplicas=ready,
            unavailableReplicas=max(wanted - ready, 0),
        ),
        "conditions": held,
    }


def _count(replica_sets: list[Json], field: str) -> int:
    return sum(int((one.get("status") or {}).get(field, 0)) for one in replica_sets)
