"""Kyverno's own Pods with their leader election, and the Deployments of a cluster made by kind.

Only what other objects and scripts see of the Pods: that they run, and that a container restarts
when another holder takes its Lease. Specifications are not those of the chart, and Kyverno's
Deployments are missing. Source of the names: upstream charts/kyverno/templates; of leader election:
pkg/leaderelection, cmd/*/main.go; of the Deployments: kind's default manifests.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from kyvsim.kubernetes.objects import KubernetesObject, ObjectKey, labels, object_key
from kyvsim.simulator.api_server import StoreChange
from kyvsim.simulator.api_server.metadata import with_metadata
from kyvsim.simulator.configuration import NAMESPACE
from kyvsim.simulator.context import RESTART, SimulationContext
from kyvsim.simulator.kubernetes.controller import node, write_status
from kyvsim.simulator.kubernetes.pods import pod_status, readiness
from kyvsim.simulator.kyverno import Kyverno

COMPONENT = "app.kubernetes.io/component"
_NODE = "kind-control-plane"
_RENEWAL = 10.0
"""Seconds until a leader gives up that cannot renew its Lease: five attempts."""
_LEASE_SECONDS = 12
_CONTAINERS: Mapping[str, str] = {
    "admission-controller": "kyverno",
    "background-controller": "controller",
    "cleanup-controller": "controller",
    "reports-controller": "controller",
}
"""The name of the container, by component."""
_LEASES: Mapping[str, str] = MappingProxyType(
    {"kyverno" if one == "admission-controller" else f"kyverno-{one}": one for one in _CONTAINERS}
)
"""The component by the name of its Lease."""

_DEPLOYMENTS = (
    ("kube-system", "coredns", {"k8s-app": "kube-dns"}, "registry.k8s.io/coredns/coredns", 2),
    (
        "local-path-storage",
        "local-path-provisioner",
        {"app": "local-path-provisioner"},
        "docker.io/kindest/local-path-provisioner",
        1,
    ),
)
"""Namespace, name, labels of the Pods, image and replicas."""


def install_pods(sim: SimulationContext) -> None:
    """Store the running Pods and their Leases; called before controllers watch the store."""
    for namespace, name, marks, image, replicas in _DEPLOYMENTS:
        _install_deployment(
            sim, ObjectKey("apps/v1", "Deployment", namespace, name), marks, image, replicas
        )
    for component, container in _CONTAINERS.items():
        name = f"kyverno-{component}-7c9d8f6b5-x7k2p"
        image = f"ghcr.io/kyverno/{component}:v{sim.settings.release.name}"
        pod: KubernetesObject = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": NAMESPACE, "labels": _labels(component)},
            "spec": {
                "containers": [{"name": container, "image": image}],
                "nodeName": _NODE,
                "serviceAccountName": f"kyverno-{component}",
            },
        }
        status = pod_status(pod, readiness(pod, sim.store), sim.clock.stamp())
        _store(sim, {**pod, "status": status})
    for lease, component in _LEASES.items():
        meta = {"name": lease, "namespace": NAMESPACE}
        spec = {
            "acquireTime": _now(sim),
            "holderIdentity": object_key(_pod(sim, component)).name,
            "leaseDurationSeconds": _LEASE_SECONDS,
            "leaseTransitions": 0,
            "renewTime": _now(sim),
        }
        kind = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
        _store(sim, {**kind, "metadata": meta, "spec": spec})


def _install_deployment(
    sim: SimulationContext, key: ObjectKey, marks: dict[str, str], image: str, replicas: int
) -> None:
    """Store an available Deployment, and its namespace if there is none."""
    if sim.store.get("v1", "Namespace", "", key.namespace) is None:
        named = {"name": key.namespace, "labels": {"kubernetes.io/metadata.name": key.namespace}}
        status = {"phase": "Active"}
        _store(sim, {"apiVersion": "v1", "kind": "Namespace", "metadata": named, "status": status})
    template = {
        "metadata": {"labels": marks},
        "spec": {"containers": [{"name": key.name, "image": image}]},
    }
    numbers = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    deployment = {
        "apiVersion": key.api_version,
        "kind": key.kind,
        "metadata": {"name": key.name, "namespace": key.namespace, "labels": marks},
        "spec": {"replicas": replicas, "selector": {"matchLabels": marks}, "template": template},
        "status": {"observedGeneration": 1, **dict.fromkeys(numbers, replicas)},
    }
    _store(sim, deployment)


def _now(sim: SimulationContext) -> str:
    """Return the time as in Leases, with microseconds."""
    return sim.clock.stamp().replace("Z", ".000000Z")


def _labels(component: str) -> dict[str, str]:
    part = "app.kubernetes.io"
    own = {f"{part}/instance": "kyverno", f"{part}/part-of": "kyverno"}
    return {COMPONENT: component, **own, f"{part}/managed-by": "Helm"}


def _store(sim: SimulationContext, obj: KubernetesObject) -> None:
    stamp = {"uid": sim.identities.uid(*object_key(obj)), "creationTimestamp": sim.clock.stamp()}
    sim.store.put(with_metadata(obj, stamp))


def _pod(sim: SimulationContext, component: str) -> KubernetesObject:
    pods = sim.store.list("v1", "Pod", NAMESPACE)
    return next((one for one in pods if labels(one).get(COMPONENT) == component), {})


def watch_leases(kyverno: Kyverno, restarts: Mapping[str, Callable[[Kyverno], None]]) -> None:
    """Restart a container when another holder has taken its Lease.

    `restarts` are the simulated restarts of controllers, by component; of the others only the
    status of the Pod changes.
    """
    sim = kyverno.sim

    def end(lease: ObjectKey, component: str) -> None:
        restart = restarts.get(component)
        if restart is not None:
            restart(kyverno)
        sim.scheduler.after(RESTART, "kubelet", lambda: begin(lease, component))

    def begin(lease: ObjectKey, component: str) -> None:
        pod, held = _pod(sim, component), sim.store.get(*lease)
        client = sim.client(node(_NODE))
        if not pod or held is None:
            return
        (container,) = pod["status"]["containerStatuses"]
        container = {**container, "restartCount": container["restartCount"] + 1}
        write_status(client, pod, {**pod["status"], "containerStatuses": [container]})
        holder = {"holderIdentity": object_key(pod).name, "renewTime": _now(sim)}
        sim.store.put({**held, "spec": {**held["spec"], **holder}})

    def on_lease(change: StoreChange) -> None:
        component = _LEASES.get(change.key.name, "")
        holders = [((one or {}).get("spec") or {}).get("holderIdentity") for one in change[1:3]]
        own = object_key(_pod(sim, component)).name
        if change.key.namespace == NAMESPACE and own and own == holders[0] != holders[1]:
            sim.scheduler.after(_RENEWAL, "kubelet", lambda: end(change.key, component))

    sim.store.watch(on_lease, {("coordination.k8s.io/v1", "Lease")})
