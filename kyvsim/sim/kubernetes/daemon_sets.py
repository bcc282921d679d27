"""The DaemonSet controller: one Pod on each Node.

Source of the rules: k8s.io/kubernetes pkg/controller/daemon.
"""

from kyvsim.kube.objects import Json, ObjectKey, labels, metadata, object_key
from kyvsim.sim.kubernetes.conditions import counts, write_status
from kyvsim.sim.kubernetes.owners import controlled, look_at_controller, look_at_self
from kyvsim.sim.kubernetes.pod_template import is_active, is_ready, pod_of, template_hash
from kyvsim.sim.kubernetes.users import DAEMON_SET
from kyvsim.sim.kubernetes.work_queue import WorkQueue, watch_kinds
from kyvsim.sim.parts import Parts
from kyvsim.sim.server import Change
from kyvsim.sim.server.metadata import is_terminating

_REVISION = "controller-revision-hash"


def run_daemon_sets(parts: Parts) -> None:
    """Make and delete the Pods of DaemonSets."""
    if not parts.settings.workloads:
        return
    client = parts.client(DAEMON_SET)

    def work(key: ObjectKey) -> bool:
        found = client.get(*key)
        if found is None or is_terminating(found):
            return True
        well = _spread(parts, found)
        return write_status(client, found, _status(parts, found)) and well

    queue = WorkQueue(parts, "daemon-set-controller", work)

    def on_node(change: Change) -> None:
        if change.old is None or change.new is None:
            for one in parts.store.list("apps/v1", "DaemonSet", ""):
                queue.add(object_key(one))

    watch_kinds(
        parts.store,
        {
            ("apps/v1", "DaemonSet"): look_at_self(queue),
            ("v1", "Node"): on_node,
            ("v1", "Pod"): look_at_controller(queue, "DaemonSet"),
        },
    )


def _pods(parts: Parts, owner: Json) -> dict[str, list[Json]]:
    """Return the Pods of a DaemonSet by the name of the Node that they are meant for."""
    found: dict[str, list[Json]] = {}
    for pod in controlled(parts.store, owner, "v1", "Pod"):
        if is_active(pod):
            found.setdefault(_node_of(pod), []).append(pod)
    return found


def _spread(parts: Parts, owner: Json) -> bool:
    client, here = parts.client(DAEMON_SET), _pods(parts, owner)
    nodes = [object_key(one).name for one in parts.store.list("v1", "Node", "")]
    revision = template_hash(owner["spec"]["template"])
    well = True
    for node in nodes:
        old = [one for one in here.get(node, ()) if labels(one).get(_REVISION) != revision]
        on_delete = (owner["spec"].get("updateStrategy") or {}).get("type") == "OnDelete"
        if not here.get(node):
            well = client.create(_pod(owner, node, revision)).ok and well
        elif old and not on_delete:
            well = client.delete(object_key(old[0])).ok and well
    for node in sorted(set(here) - set(nodes)):
        for pod in here[node]:
            well = client.delete(object_key(pod)).ok and well
    return well


def _pod(owner: Json, node: str, revision: str) -> Json:
    marks = {
        _REVISION: revision,
        "pod-template-generation": str(metadata(owner).get("generation", 1)),
    }
    name = {"generateName": f"{object_key(owner).name}-"}
    pod = pod_of(owner, owner["spec"]["template"], name, marks)
    place = {"key": "metadata.name", "operator": "In", "values": [node]}
    required = {"nodeSelectorTerms": [{"matchFields": [place]}]}
    affinity = {
        **(pod["spec"].get("affinity") or {}),
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required},
    }
    return {**pod, "spec": {**pod["spec"], "affinity": affinity}}


def _node_of(pod: Json) -> str:
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            return str(field["values"][0])
    return str(pod["spec"].get("nodeName", ""))


def _status(parts: Parts, owner: Json) -> Json:
    nodes = len(parts.store.list("v1", "Node", ""))
    pods = [one for some in _pods(parts, owner).values() for one in some]
    ready = sum(is_ready(one) for one in pods)
    return {
        "currentNumberScheduled": len(pods),
        "desiredNumberScheduled": nodes,
        "numberMisscheduled": 0,
        "numberReady": ready,
        "observedGeneration": metadata(owner).get("generation"),
        **counts(
            updatedNumberScheduled=len(pods),
            numberAvailable=ready,
            numberUnavailable=max(nodes - ready, 0),
        ),
    }
