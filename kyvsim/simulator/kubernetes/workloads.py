"""The controllers of Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs and CronJobs."""

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from functools import partial

from kyvsim.kubernetes.cron import next_times
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
from kyvsim.model.request import UserInfo
from kyvsim.simulator.api_server import ApiError, Client, StoreChange
from kyvsim.simulator.api_server.metadata import is_terminating, letters, with_metadata
from kyvsim.simulator.context import SimulationContext
from kyvsim.simulator.kubernetes.controller import (
    CRON_JOB,
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    REPLICA_SET,
    STATEFUL_SET,
    TTL_AFTER_FINISHED,
    StatusCondition,
    WorkQueue,
    conditions,
    controlled,
    controller_of,
    counts,
    enqueue,
    enqueue_controller,
    has_condition,
    owner_reference,
    write_status,
)


def pod_of(
    owner: KubernetesObject, template: Json, name: Mapping[str, str], marks: Mapping[str, str]
) -> dict[str, Json]:
    """Return the Pod of a template; `name` is `name` or `generateName`, `marks` are more labels."""
    meta: dict[str, Json] = {**name, "namespace": object_key(owner).namespace}
    held = {**labels(template), **marks}
    if held:
        meta["labels"] = held
    if annotations(template):
        meta["annotations"] = annotations(template)
    meta["ownerReferences"] = [owner_reference(owner)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template.get("spec")}


def template_hash(template: Json) -> str:
    """Return a digest of a template; upstream's is different."""
    text = json.dumps(template, sort_keys=True)
    return letters(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]), 10)


def is_active(pod: KubernetesObject) -> bool:
    """Return whether a Pod is running or will run."""
    return (pod.get("status") or {}).get("phase") not in {"Succeeded", "Failed"}


def is_ready(pod: KubernetesObject) -> bool:
    """Return whether all containers of a Pod are ready."""
    return has_condition(pod, "Ready")


def _time_left(
    sim: SimulationContext, owner: KubernetesObject, pod: KubernetesObject
) -> float | None:
    """Return in how many seconds a ready Pod is available, None if it is not ready.

    It is available once it has been ready for the `minReadySeconds` of its owner.
    upstream: k8s.io/kubernetes pkg/api/v1/pod (IsPodAvailable)
    """
    true = (one for one in entries(pod.get("status"), "conditions") if one.get("status") == "True")
    ready = next((one for one in true if one.get("type") == "Ready"), None)
    seconds = owner["spec"].get("minReadySeconds")
    if ready is None or not seconds:
        return None if ready is None else 0.0
    since = text_field(ready, "lastTransitionTime")
    if not since:
        return None
    passed = sim.clock.now() - datetime.fromisoformat(since)
    return max(float(seconds) - passed.total_seconds(), 0.0)


def _count_available(
    sim: SimulationContext, owner: KubernetesObject, pods: list[KubernetesObject]
) -> int:
    return sum(_time_left(sim, owner, one) == 0 for one in pods)


# The ReplicaSet controller: the desired number of Pods of a template.
# Source of the rules: k8s.io/kubernetes pkg/controller/replicaset.


def _sync_replica_set(sim: SimulationContext, client: Client, owner: KubernetesObject) -> bool:
    problem = _scale(client, owner, _active_pods(sim, owner))
    now = client.get(*object_key(owner))
    if now is None:
        return problem is None
    pods, old = _active_pods(sim, now), now.get("status") or {}
    ready = sum(is_ready(one) for one in pods)
    failed = []
    if problem is not None:
        # The first message is kept, since each failure names another Pod.
        kind, first = "ReplicaFailure", {"reason": "FailedCreate", "message": problem.message}
        before = (one for one in entries(old, "conditions") if text_field(one, "type") == kind)
        first = next(before, first)
        reason, message = (text_field(first, name) for name in ("reason", "message"))
        failed = [StatusCondition(kind, True, reason, message)]
    written = conditions(old, failed, sim.clock.stamp())
    status = {
        "replicas": len(pods),
        **counts(fullyLabeledReplicas=len(pods), readyReplicas=ready),
        **counts(availableReplicas=_count_available(sim, now, pods)),
        "observedGeneration": metadata(now).get("generation"),
        **({"conditions": written} if written else {}),
    }
    return write_status(client, now, status) and problem is None


def _active_pods(sim: SimulationContext, owner: KubernetesObject) -> list[KubernetesObject]:
    return [one for one in controlled(sim.store, owner, "v1", "Pod") if is_active(one)]


def _scale(
    client: Client, owner: KubernetesObject, pods: list[KubernetesObject]
) -> ApiError | None:
    """Create missing Pods and delete surplus ones; return the first error."""
    missing = _replicas(owner) - len(pods)
    name = {"generateName": f"{object_key(owner).name}-"}
    for _ in range(missing):
        made = client.create(pod_of(owner, owner["spec"]["template"], name, {}))
        if made.error is not None:
            return made.error
    # Pods that are not ready are deleted first, then the youngest.
    pods.sort(key=lambda pod: (is_ready(pod), -int(metadata(pod)["resourceVersion"])))
    for pod in pods[: max(-missing, 0)]:
        gone = client.delete(object_key(pod))
        if gone.error is not None and gone.error.reason != "NotFound":
            return gone.error
    return None


# The Deployment controller: one ReplicaSet for each template that a Deployment has had.
#
# A rollout creates all new Pods before it deletes the old ones, or the reverse; intermediate
# steps are not simulated. Source of the rules: k8s.io/kubernetes pkg/controller/deployment.

_HASH = "pod-template-hash"
_DEPLOYMENTS_REVISION = "deployment.kubernetes.io/revision"


def _sync_deployment(sim: SimulationContext, client: Client, owner: KubernetesObject) -> bool:
    well = owner["spec"].get("paused") is True or _roll_out(sim, client, owner)
    now = client.get(*object_key(owner))
    return now is None or (write_status(client, now, _deployments_status(sim, now)) and well)


def _replica_sets(
    sim: SimulationContext, owner: KubernetesObject
) -> tuple[KubernetesObject | None, list[KubernetesObject]]:
    """Return the ReplicaSet of the current template, and those of former ones."""
    replica_sets = controlled(sim.store, owner, "apps/v1", "ReplicaSet")
    digest = template_hash(owner["spec"]["template"])
    current = [one for one in replica_sets if labels(one).get(_HASH) == digest]
    return (current[0] if current else None), [one for one in replica_sets if one not in current]


def _roll_out(sim: SimulationContext, client: Client, owner: KubernetesObject) -> bool:
    """Do the next step of a rollout; return whether it succeeded."""
    replicas = _replicas(owner)
    current, former = _replica_sets(sim, owner)
    recreates = (owner["spec"].get("strategy") or {}).get("type") == "Recreate"
    if recreates and any(_replicas(one) for one in former):
        return _emptied(client, former)
    if recreates and any(_has_pods(sim, one) for one in former):
        return True
    if current is None:
        return client.create(_replica_set(owner, former, replicas)).ok
    waits = owner["spec"].get("minReadySeconds")
    well = _changed(client, current, {"replicas": replicas, "minReadySeconds": waits})
    if (current.get("status") or {}).get("availableReplicas", 0) >= replicas:
        well = _emptied(client, former) and well
    return well


def _has_pods(sim: SimulationContext, owner: KubernetesObject) -> bool:
    """Return whether Pods of an object still run, also those that are being deleted."""
    ending = controlled(sim.store, owner, "v1", "Pod", terminating=True)
    return bool(_active_pods(sim, owner)) or any(map(is_active, ending))


def _replica_set(owner: KubernetesObject, former: list[KubernetesObject], replicas: int) -> Json:
    spec, digest = owner["spec"], template_hash(owner["spec"]["template"])
    key, mark = object_key(owner), {_HASH: digest}
    template = spec["template"]
    marked = with_metadata(template, {"labels": {**labels(template), **mark}})
    selector = spec.get("selector") or {}
    matched = {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), **mark}}
    revisions = (int(annotations(one).get(_DEPLOYMENTS_REVISION, "0")) for one in former)
    revision = 1 + max(revisions, default=0)
    meta = {
        "name": f"{key.name}-{digest}",
        "namespace": key.namespace,
        "labels": labels(marked),
        "annotations": {_DEPLOYMENTS_REVISION: str(revision)},
        "ownerReferences": [owner_reference(owner)],
    }
    made = {"replicas": replicas, "selector": matched, "template": marked}
    if spec.get("minReadySeconds"):
        made["minReadySeconds"] = spec["minReadySeconds"]
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta, "spec": made}


def _replicas(replica_set: KubernetesObject) -> int:
    return int(replica_set["spec"].get("replicas", 1))


def _changed(client: Client, replica_set: KubernetesObject, fields: Mapping[str, Json]) -> bool:
    """Set fields of a ReplicaSet; a `minReadySeconds` of None or 0 is left out, as in the API."""
    spec = {**replica_set["spec"], **fields}
    if not spec.get("minReadySeconds"):
        spec.pop("minReadySeconds", None)
    return spec == replica_set["spec"] or client.update({**replica_set, "spec": spec}).ok


def _emptied(client: Client, replica_sets: list[KubernetesObject]) -> bool:
    return not [one for one in replica_sets if not _changed(client, one, {"replicas": 0})]


def _deployments_status(sim: SimulationContext, owner: KubernetesObject) -> Json:
    current, former = _replica_sets(sim, owner)
    everything = [*([current] if current else []), *former]
    desired = _replicas(owner)
    updated = _count([current] if current else [], "replicas")
    available = _count(everything, "availableReplicas")
    reason, has = "MinimumReplicasAvailable", "has"
    if available < desired:
        reason, has = "MinimumReplicasUnavailable", "does not have"
    text = f"Deployment {has} minimum availability."
    minimum = StatusCondition("Available", available >= desired, reason, text)
    done = updated == desired == available == _count(everything, "replicas")
    reason = "NewReplicaSetAvailable" if done else "ReplicaSetUpdated"
    name = object_key(current).name if current else ""
    progress = "has successfully progressed." if done else "is progressing."
    progressing = StatusCondition("Progressing", True, reason, f'ReplicaSet "{name}" {progress}')
    held = conditions(owner.get("status"), [minimum, progressing], sim.clock.stamp())
    return {
        "observedGeneration": metadata(owner).get("generation"),
        **counts(
            replicas=_count(everything, "replicas"),
            updatedReplicas=updated,
            readyReplicas=_count(everything, "readyReplicas"),
            availableReplicas=available,
            unavailableReplicas=max(desired - available, 0),
        ),
        "conditions": held,
    }


def _count(replica_sets: list[KubernetesObject], field: str) -> int:
    return sum(int((one.get("status") or {}).get(field, 0)) for one in replica_sets)


# The StatefulSet controller: numbered Pods, created one after the other.
# Source of the rules: k8s.io/kubernetes pkg/controller/statefulset.

_REVISION = "controller-revision-hash"


def _sync_stateful_set(sim: SimulationContext, client: Client, owner: KubernetesObject) -> bool:
    well = _next_step(sim, client, owner)
    pods = controlled(sim.store, owner, "v1", "Pod")
    ready, revision = sum(is_ready(one) for one in pods), _revision(owner)
    updated = sum(labels(one).get(_REVISION) == revision for one in pods)
    status = {
        "observedGeneration": metadata(owner).get("generation"),
        "replicas": len(pods),
        **counts(readyReplicas=ready, currentReplicas=updated, updatedReplicas=updated),
        "availableReplicas": _count_available(sim, owner, pods),
        "currentRevision": revision,
        "updateRevision": revision,
        "collisionCount": 0,
    }
    return write_status(client, owner, status) and well


def _next_step(sim: SimulationContext, client: Client, owner: KubernetesObject) -> bool:
    """Create a missing Pod, or delete a surplus or outdated one; return whether it succeeded.

    Nothing is done while a Pod is being deleted; with `Parallel`, only its replacement waits.
    """
    spec, pods = owner["spec"], controlled(sim.store, owner, "v1", "Pod")
    ending = controlled(sim.store, owner, "v1", "Pod", terminating=True)
    existing = {object_key(one).name: one for one in pods}
    parallel = spec.get("podManagementPolicy") == "Parallel"
    if ending and not parallel:
        return True
    taken = {*existing, *(object_key(one).name for one in ending)}
    names = [f"{object_key(owner).name}-{number}" for number in range(int(spec["replicas"]))]
    for number, name in enumerate(names):
        if name not in taken and not _make(client, owner, number):
            return False
        if not parallel and not (name in existing and _time_left(sim, owner, existing[name]) == 0):
            return True
    on_delete = (spec.get("updateStrategy") or {}).get("type") == "OnDelete"
    revision = _revision(owner)
    for name, pod in sorted(existing.items(), key=lambda item: -int(item[0].rpartition("-")[2])):
        is_old = not on_delete and labels(pod).get(_REVISION) != revision
        if name not in names or is_old:
            return client.delete(object_key(pod)).ok
    return True


def _revision(owner: KubernetesObject) -> str:
    return f"{object_key(owner).name}-{template_hash(owner['spec']['template'])}"


def _make(client: Client, owner: KubernetesObject, number: int) -> bool:
    key = object_key(owner)
    name = f"{key.name}-{number}"
    well = True
    volumes = []
    for template in entries(owner["spec"], "volumeClaimTemplates"):
        base = text_field(metadata(template), "name")
        at = ObjectKey("v1", "PersistentVolumeClaim", key.namespace, f"{base}-{name}")
        if client.get(*at) is None:
            held = {**labels(template), **(owner["spec"]["selector"].get("matchLabels") or {})}
            meta = {"name": at.name, "namespace": at.namespace, "labels": held}
            claim = {"apiVersion": at.api_version, "kind": at.kind, "metadata": meta}
            well = client.create({**claim, "spec": template.get("spec")}).ok and well
        volumes.append({"name": base, "persistentVolumeClaim": {"claimName": at.name}})
    marks = {
        "apps.kubernetes.io/pod-index": str(number),
        "statefulset.kubernetes.io/pod-name": name,
        _REVISION: _revision(owner),
    }
    pod = pod_of(owner, owner["spec"]["template"], {"name": name}, marks)
    spec = {**pod["spec"], "hostname": name}
    service = text_field(owner["spec"], "serviceName")
    if service:
        spec["subdomain"] = service
    if volumes:
        own = {one["name"] for one in volumes}
        kept = [one for one in entries(spec, "volumes") if one.get("name") not in own]
        spec["volumes"] = [*kept, *volumes]
    return well and client.create({**pod, "spec": spec}).ok


# The DaemonSet controller: one Pod on each Node.
# Source of the rules: k8s.io/kubernetes pkg/controller/daemon.


def _sync_daemon_set(sim: SimulationContext, client: Client, owner: KubernetesObject) -> bool:
    by_node: dict[str, list[KubernetesObject]] = {}
    for pod in _active_pods(sim, owner):
        by_node.setdefault(_node_of(pod), []).append(pod)
    nodes = [object_key(one).name for one in sim.store.list("v1", "Node", "")]
    revision = template_hash(owner["spec"]["template"])
    on_delete = (owner["spec"].get("updateStrategy") or {}).get("type") == "OnDelete"
    ending = controlled(sim.store, owner, "v1", "Pod", terminating=True)
    emptying = {_node_of(one) for one in ending}
    well = True
    for node in nodes:
        old = [one for one in by_node.get(node, ()) if labels(one).get(_REVISION) != revision]
        if node in emptying:
            continue  # a Pod is created when the deleted one is gone
        if not by_node.get(node):
            well = client.create(_pod(owner, node, revision)).ok and well
        elif old and not on_delete:
            well = client.delete(object_key(old[0])).ok and well
    left = [one for node in sorted(set(by_node) - set(nodes)) for one in by_node[node]]
    well = _deleted(client, left) and well
    return write_status(client, owner, _daemon_sets_status(sim, owner, len(nodes))) and well


def _pod(owner: KubernetesObject, node: str, revision: str) -> Json:
    generation = str(metadata(owner).get("generation", 1))
    marks = {_REVISION: revision, "pod-template-generation": generation}
    name = {"generateName": f"{object_key(owner).name}-"}
    pod = pod_of(owner, owner["spec"]["template"], name, marks)
    place = {"key": "metadata.name", "operator": "In", "values": [node]}
    required = {"nodeSelectorTerms": [{"matchFields": [place]}]}
    own = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    affinity = {**(pod["spec"].get("affinity") or {}), **own}
    return {**pod, "spec": {**pod["spec"], "affinity": affinity}}


def _node_of(pod: KubernetesObject) -> str:
    """Return the name of the Node for which a Pod of a DaemonSet was created."""
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            return str(field["values"][0])
    return str(pod["spec"].get("nodeName", ""))


def _daemon_sets_status(sim: SimulationContext, owner: KubernetesObject, nodes: int) -> Json:
    pods = _active_pods(sim, owner)
    available = _count_available(sim, owner, pods)
    return {
        "currentNumberScheduled": len(pods),
        "desiredNumberScheduled": nodes,
        "numberMisscheduled": 0,
        "numberReady": sum(is_ready(one) for one in pods),
        "observedGeneration": metadata(owner).get("generation"),
        **counts(
            updatedNumberScheduled=len(pods),
            numberAvailable=available,
            numberUnavailable=max(nodes - available, 0),
        ),
    }


# The Job controller: Pods until enough of them have succeeded.
# Source of the rules: k8s.io/kubernetes pkg/controller/job, pkg/controller/ttlafterfinished.


def _sync_job(sim: SimulationContext, client: Client, job: KubernetesObject) -> bool:
    if is_finished(job):
        return True
    well = _make_pods(client, job, controlled(sim.store, job, "v1", "Pod"))
    return write_status(client, job, _status(sim, job)) and well


def delete_finished_jobs(sim: SimulationContext) -> None:
    """Delete finished Jobs when their ttlSecondsAfterFinished has passed."""
    if not sim.settings.workloads:
        return
    client = sim.client(TTL_AFTER_FINISHED)

    def work(key: ObjectKey) -> bool:
        job = client.get(*key)
        if job is None or is_terminating(job) or not is_finished(job):
            return True
        return client.delete(key).ok

    queue = WorkQueue(sim, "ttl-after-finished-controller", work)

    def on_job(change: StoreChange) -> None:
        job, old = change.new, change.old
        if job is None or not is_finished(job) or (old is not None and is_finished(old)):
            return
        seconds = job["spec"].get("ttlSecondsAfterFinished")
        if seconds is not None:
            queue.add_at(object_key(job), float(seconds))

    sim.store.watch(on_job, {("batch/v1", "Job")})


def is_finished(job: KubernetesObject) -> bool:
    """Return whether a Job is complete or failed."""
    return has_condition(job, "Complete") or has_condition(job, "Failed")


def _phases(pods: list[KubernetesObject]) -> list[str]:
    return [text_field(one.get("status"), "phase") for one in pods]


_INDEX = "batch.kubernetes.io/job-completion-index"


def _make_pods(client: Client, job: KubernetesObject, pods: list[KubernetesObject]) -> bool:
    spec, active = job["spec"], [one for one in pods if is_active(one)]
    if spec.get("suspend") is True:
        return _deleted(client, active)
    parallel = int(spec.get("parallelism", 1))
    completions = spec.get("completions")
    succeeded = _phases(pods).count("Succeeded")
    desired = parallel if completions is None else min(parallel, int(completions) - succeeded)
    if completions is None and succeeded:
        desired = 0  # a work queue is finished when one of its Pods succeeds
    used = {int((metadata(one).get("annotations") or {}).get(_INDEX, -1)) for one in pods}
    base, indexed = object_key(job).name, spec.get("completionMode") == "Indexed"
    for _ in range(desired - len(active)):
        index = next(number for number in range(len(used) + 1) if number not in used)
        used.add(index)
        name = {"generateName": f"{base}-{index}-" if indexed else f"{base}-"}
        mark = {_INDEX: str(index)} if indexed else {}
        pod = pod_of(job, spec["template"], name, mark)
        if indexed:
            pod = with_metadata(pod, {"annotations": {**annotations(pod), **mark}})
        if not client.create(pod).ok:
            return False
    return True


def _deleted(client: Client, objects: list[KubernetesObject]) -> bool:
    """Delete objects; return whether all were deleted."""
    return not [one for one in objects if not client.delete(object_key(one)).ok]


def _status(sim: SimulationContext, job: KubernetesObject) -> Json:
    pods = controlled(sim.store, job, "v1", "Pod")
    active, phases = [one for one in pods if is_active(one)], _phases(pods)
    succeeded, failed = phases.count("Succeeded"), phases.count("Failed")
    spec, old, now = job["spec"], job.get("status") or {}, sim.clock.stamp()
    suspended = spec.get("suspend") is True
    completions = spec.get("completions")
    done = succeeded >= (1 if completions is None else int(completions)) and not active
    held = []
    if suspended:
        held.append(StatusCondition("Suspended", True, "JobSuspended", "Job suspended"))
    if done:
        why = ("CompletionsReached", "Reached expected number of succeeded pods")
        held += [StatusCondition(one, True, *why) for one in ("SuccessCriteriaMet", "Complete")]
    written = conditions(old, held, now)
    started = {} if suspended else {"startTime": old.get("startTime", now)}
    return {
        **started,
        **counts(active=len(active), succeeded=succeeded, failed=failed),
        "ready": sum(is_ready(one) for one in active),
        "terminating": len(controlled(sim.store, job, "v1", "Pod", terminating=True)),
        "uncountedTerminatedPods": {},
        **({"completionTime": now} if done else {}),
        **({"conditions": written} if written else {}),
    }


_Sync = Callable[[SimulationContext, Client, KubernetesObject], bool]
_WORKLOADS: tuple[tuple[UserInfo, tuple[str, str], tuple[str, str], _Sync], ...] = (
    (DEPLOYMENT, ("apps/v1", "Deployment"), ("apps/v1", "ReplicaSet"), _sync_deployment),
    (REPLICA_SET, ("apps/v1", "ReplicaSet"), ("v1", "Pod"), _sync_replica_set),
    (STATEFUL_SET, ("apps/v1", "StatefulSet"), ("v1", "Pod"), _sync_stateful_set),
    (DAEMON_SET, ("apps/v1", "DaemonSet"), ("v1", "Pod"), _sync_daemon_set),
    (JOB, ("batch/v1", "Job"), ("v1", "Pod"), _sync_job),
)
"""For each controller: account, kind, kind of the controlled objects, and reconcile function."""


def _on_pod(sim: SimulationContext, queue: WorkQueue, change: StoreChange) -> None:
    """Queue the Deployment of a Pod that is gone, since `Recreate` waits for that."""
    reference = controller_of(change.old) if change.new is None else None
    if reference is not None:
        place = change.key.namespace
        replica_set = sim.store.get("apps/v1", "ReplicaSet", place, reference["name"])
        owner = controller_of(replica_set)
        if owner is not None and owner.get("kind") == "Deployment":
            queue.add(ObjectKey("apps/v1", "Deployment", place, owner["name"]))


def _on_node(sim: SimulationContext, queue: WorkQueue, change: StoreChange) -> None:
    """Queue all DaemonSets when a Node is new or gone."""
    if change.old is None or change.new is None:
        for one in sim.store.list("apps/v1", "DaemonSet", ""):
            queue.add(object_key(one))


_React = Callable[[SimulationContext, WorkQueue, StoreChange], None]
_FURTHER: Mapping[str, tuple[tuple[str, str], _React]] = {
    "Deployment": (("v1", "Pod"), _on_pod),
    "DaemonSet": (("v1", "Node"), _on_node),
}
"""By kind: what its controller watches besides the objects that it controls."""


def _queue_of(sim: SimulationContext, actor: str, client: Client, sync: _Sync) -> WorkQueue:
    def work(key: ObjectKey) -> bool:
        obj = client.get(*key)
        if obj is None or is_terminating(obj):
            return True
        well = sync(sim, client, obj)
        if obj["spec"].get("minReadySeconds"):
            # Nothing is written when ready Pods become available.
            left = [_time_left(sim, obj, one) for one in controlled(sim.store, obj, "v1", "Pod")]
            soon = min(filter(None, left), default=None)
            if soon is not None:
                queue.add_at(key, soon)
        return well

    queue = WorkQueue(sim, actor, work)
    return queue


def run_workloads(sim: SimulationContext) -> None:
    """Reconcile workloads whenever they or the objects they control are written.

    Objects that are being deleted are skipped.
    """
    if not sim.settings.workloads:
        return

    for user, kind, child, sync in _WORKLOADS:
        actor = user.username.rpartition(":")[2]
        queue = _queue_of(sim, actor, sim.client(user), sync)
        sim.store.watch(enqueue(queue), {kind})
        sim.store.watch(enqueue_controller(queue, kind[1]), {child})
        if kind[1] in _FURTHER:
            watched, react = _FURTHER[kind[1]]
            sim.store.watch(partial(react, sim, queue), {watched})


# The CronJob controller: a Job at each time of the schedule.
# Source of the rules: k8s.io/kubernetes pkg/controller/cronjob.


class CronJobController:
    """Creates the Jobs of CronJobs when they are due, and deletes old ones."""

    def __init__(self, sim: SimulationContext) -> None:
        self._sim = sim
        self._client = sim.client(CRON_JOB)
        self._queue = WorkQueue(sim, "cronjob-controller", self._sync)
        self._next: dict[str, datetime] = {}
        """When a CronJob, by its uid and schedule, is due next; only the first timer counts."""
        of_jobs = enqueue_controller(self._queue, "CronJob")
        if sim.settings.workloads:
            sim.store.watch(enqueue(self._queue), {("batch/v1", "CronJob")})
            sim.store.watch(of_jobs, {("batch/v1", "Job")})

    def _sync(self, key: ObjectKey) -> bool:
        cron_job = self._client.get(*key)
        if cron_job is None or is_terminating(cron_job):
            return True
        now, spec = self._sim.clock.now(), cron_job["spec"]
        which = f"{cron_job['metadata']['uid']} {spec.get('schedule')}"
        due = self._next.get(which)
        made, well = None, True
        if due is not None and due <= now and spec.get("suspend") is not True:
            made, well = self._make(cron_job, due)
        if due is None or due <= now:
            # An invalid schedule has no next time.
            with suppress(ValueError):
                for time in next_times(text_field(spec, "schedule"), now, 1):
                    self._next[which] = time
                    self._queue.add_at(key, (time - now).total_seconds())
        kept = int(cron_job["spec"].get("successfulJobsHistoryLimit", 3))
        finished = sorted(
            (one for one in self._jobs(cron_job) if is_finished(one)),
            key=lambda job: (text_field(job.get("status"), "startTime"), object_key(job).name),
        )
        well = _deleted(self._client, finished[: max(len(finished) - kept, 0)]) and well
        return write_status(self._client, cron_job, self._status(cron_job, made)) and well

    def _jobs(self, cron_job: KubernetesObject) -> list[KubernetesObject]:
        return controlled(self._sim.store, cron_job, "batch/v1", "Job")

    def _make(self, cron_job: KubernetesObject, due: datetime) -> tuple[datetime | None, bool]:
        """Create the Job of a time, unless a running Job forbids it; return the time if created."""
        active = [one for one in self._jobs(cron_job) if not is_finished(one)]
        policy = cron_job["spec"].get("concurrencyPolicy")
        if active and policy == "Forbid":
            return None, True
        if policy == "Replace":
            for one in active:
                self._client.delete(object_key(one))
        template, key = cron_job["spec"]["jobTemplate"], object_key(cron_job)
        at = "batch.kubernetes.io/cronjob-scheduled-timestamp"
        meta: dict[str, Json] = {
            "name": f"{key.name}-{int(due.timestamp()) // 60}",
            "namespace": key.namespace,
            "annotations": {**annotations(template), at: due.strftime("%Y-%m-%dT%H:%M:%SZ")},
            "ownerReferences": [owner_reference(cron_job)],
        }
        if labels(template):
            meta["labels"] = labels(template)
        kind = {"apiVersion": "batch/v1", "kind": "Job"}
        made = self._client.create({**kind, "metadata": meta, "spec": template.get("spec")})
        return (due if made.ok else None), made.ok

    def _status(self, cron_job: KubernetesObject, made: datetime | None) -> Json:
        status = dict(cron_job.get("status") or {})
        status.pop("active", None)
        active = [one for one in self._jobs(cron_job) if not is_finished(one)]
        if active:
            names = ("name", "namespace", "uid")
            status["active"] = [
                {
                    "apiVersion": one["apiVersion"],
                    "kind": "Job",
                    **{name: metadata(one)[name] for name in names},
                }
                for one in active
            ]
        if made is not None:
            status["lastScheduleTime"] = made.strftime("%Y-%m-%dT%H:%M:%SZ")
        return status
