"""The StatefulSet controller: Pods with numbers, one after the other.

Source of the rules: k8s.io/kubernetes pkg/controller/statefulset.
"""

from collections.abc import Iterator

from kyvsim.kube.objects import Json, ObjectKey, labels, metadata, object_key, text_field
from kyvsim.sim.kubernetes.conditions import counts, write_status
from kyvsim.sim.kubernetes.owners import controlled, look_at_controller, look_at_self
from kyvsim.sim.kubernetes.pod_template import is_ready, pod_of, template_hash
from kyvsim.sim.kubernetes.users import STATEFUL_SET
from kyvsim.sim.kubernetes.work_queue import WorkQueue, watch_kinds
from kyvsim.sim.parts import Parts
from kyvsim.sim.server import Client
from kyvsim.sim.server.filling import entries
from kyvsim.sim.server.metadata import is_terminating

_REVISION = "controller-revision-hash"


def run_stateful_sets(parts: Parts) -> None:
    """Make and delete the Pods of StatefulSets."""
    if not parts.settings.workloads:
        return
    client = parts.client(STATEFUL_SET)

    def work(key: ObjectKey) -> bool:
        found = client.get(*key)
        if found is None or is_terminating(found):
            return True
        well = _next_step(client, found, controlled(parts.store, found, "v1", "Pod"))
        pods = controlled(parts.store, found, "v1", "Pod")
        return write_status(client, found, _status(found, pods)) and well

    queue = WorkQueue(parts, "statefulset-controller", work)
    watch_kinds(
        parts.store,
        {
            ("apps/v1", "StatefulSet"): look_at_self(queue),
            ("v1", "Pod"): look_at_controller(queue, "StatefulSet"),
        },
    )


def _next_step(client: Client, owner: Json, pods: list[Json]) -> bool:
    """Make what is missing, else delete what is too much or old; return whether it went well."""
    spec, here = owner["spec"], {object_key(one).name: one for one in pods}
    parallel = spec.get("podManagementPolicy") == "Parallel"
    names = [f"{object_key(owner).name}-{number}" for number in range(int(spec["replicas"]))]
    for number, name in enumerate(names):
        if name not in here and not _make(client, owner, number):
            return False
        if not parallel and not (name in here and is_ready(here[name])):
            return True
    for name, pod in sorted(here.items(), key=lambda item: -_number(item[0])):
        if name not in names or _is_old(owner, pod):
            return client.delete(object_key(pod)).ok
    return True


def _number(name: str) -> int:
    return int(name.rpartition("-")[2])


def _is_old(owner: Json, pod: Json) -> bool:
    on_delete = (owner["spec"].get("updateStrategy") or {}).get("type") == "OnDelete"
    return not on_delete and labels(pod).get(_REVISION) != _revision(owner)


def _revision(owner: Json) -> str:
    return f"{object_key(owner).name}-{template_hash(owner['spec']['template'])}"


def _make(client: Client, owner: Json, number: int) -> bool:
    key = object_key(owner)
    name = f"{key.name}-{number}"
    well = True
    volumes = []
    for claim in _claims(owner, number):
        at = object_key(claim)
        if client.get(*at) is None:
            well = client.create(claim).ok and well
        volume = {"claimName": at.name}
        template = at.name.removesuffix(f"-{name}")
        volumes.append({"name": template, "persistentVolumeClaim": volume})
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


def _claims(owner: Json, number: int) -> Iterator[Json]:
    key = object_key(owner)
    for template in entries(owner["spec"], "volumeClaimTemplates"):
        name = f"{text_field(metadata(template), 'name')}-{key.name}-{number}"
        held = {**labels(template), **(owner["spec"]["selector"].get("matchLabels") or {})}
        meta = {"name": name, "namespace": key.namespace, "labels": held}
        kind = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
        yield {**kind, "metadata": meta, "spec": template.get("spec")}


def _status(owner: Json, pods: list[Json]) -> Json:
    ready, revision = sum(is_ready(one) for one in pods), _revision(owner)
    updated = sum(labels(one).get(_REVISION) == revision for one in pods)
    return {
        "observedGeneration": metadata(owner).get("generation"),
        "replicas": len(pods),
        **counts(readyReplicas=ready, currentReplicas=updated, updatedReplicas=updated),
        "availableReplicas": ready,
        "currentRevision": revision,
        "updateRevision": revision,
        "collisionCount": 0,
    }
