"""The common parts of Kubernetes' controllers: identities, statuses, work queues, owners."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import NamedTuple

from kyvsim.kubernetes.objects import (
    Json,
    KubernetesObject,
    ObjectKey,
    entries,
    metadata,
    object_key,
    text_field,
)
from kyvsim.model.request import UserInfo
from kyvsim.simulator.api_server import Client, ObjectStore, StoreChange
from kyvsim.simulator.api_server.authorizer import service_account
from kyvsim.simulator.api_server.metadata import is_terminating, reference_to
from kyvsim.simulator.context import LONGEST_RETRY, NOTICE, RETRY, SimulationContext

# The identities of Kubernetes' own controllers.
# Source of the names: k8s.io/kubernetes plugin/pkg/auth/authorizer/rbac/bootstrappolicy.


_controller = partial(service_account, "kube-system")
CLUSTER_ROLE_AGGREGATION = _controller("clusterrole-aggregation-controller")
CRON_JOB = _controller("cronjob-controller")
DAEMON_SET = _controller("daemon-set-controller")
DEPLOYMENT = _controller("deployment-controller")
GARBAGE_COLLECTOR = _controller("generic-garbage-collector")
JOB = _controller("job-controller")
NAMESPACE = _controller("namespace-controller")
REPLICA_SET = _controller("replicaset-controller")
ROOT_CA = _controller("root-ca-cert-publisher")
SERVICE_ACCOUNT = _controller("service-account-controller")
STATEFUL_SET = _controller("statefulset-controller")
TTL_AFTER_FINISHED = _controller("ttl-after-finished-controller")
TYPE_CHECKER = _controller("validatingadmissionpolicy-status-controller")
SCHEDULER = UserInfo("system:kube-scheduler", groups=("system:authenticated",))


def node(name: str) -> UserInfo:
    """Return the identity of the kubelet on a node."""
    return UserInfo(f"system:node:{name}", groups=("system:nodes", "system:authenticated"))


class StatusCondition(NamedTuple):
    """A condition in the status of an object."""

    type: str
    holds: bool
    reason: str = ""
    message: str = ""


def conditions(old: Json, current: Iterable[StatusCondition], stamp: str) -> list[Json]:
    """Return the conditions of a status; an unchanged one keeps its time."""
    before = {text_field(one, "type"): one for one in entries(old, "conditions")}
    written = []
    for one in current:
        status, known = "True" if one.holds else "False", before.get(one.type)
        since = text_field(known, "lastTransitionTime")
        since = since if text_field(known, "status") == status else ""
        details = {"reason": one.reason, "message": one.message}
        given = {name: text for name, text in details.items() if text}
        condition = {"type": one.type, "status": status, **given}
        written.append({**condition, "lastTransitionTime": since or stamp})
    return written


def has_condition(obj: KubernetesObject, kind: str) -> bool:
    """Return whether a condition of an object is true."""
    return any(
        text_field(one, "type") == kind and text_field(one, "status") == "True"
        for one in entries(obj.get("status"), "conditions")
    )


def write_status(client: Client, obj: KubernetesObject, status: Mapping[str, Json]) -> bool:
    """Update the status of an object; return whether that succeeded or was unnecessary."""
    if obj.get("status") == status:
        return True
    return client.update({**obj, "status": dict(status)}, "status").ok


def counts(**numbers: int) -> dict[str, int]:
    """Return the numbers of a status without zeros, as in the API."""
    return {name: number for name, number in numbers.items() if number}


class WorkQueue:
    """Objects that a controller processes soon; each is queued once, even if added again."""

    def __init__(
        self, sim: SimulationContext, actor: str, work: Callable[[ObjectKey], bool]
    ) -> None:
        self._sim = sim
        self._actor = actor
        self._work = work
        self._waiting: set[ObjectKey] = set()
        self._failures: dict[ObjectKey, int] = {}

    def add(self, key: ObjectKey, delay: float = NOTICE) -> None:
        """Process an object soon; `work` returns whether that succeeded."""

        def run() -> None:
            self._waiting.discard(key)
            self._process(key)

        if key not in self._waiting:
            self._waiting.add(key)
            self._sim.scheduler.after(delay, self._actor, run)

    def add_at(self, key: ObjectKey, delay: float) -> None:
        """Process an object after some time, and also earlier if it is added."""
        self._sim.scheduler.after(delay, self._actor, lambda: self._process(key), timer=True)

    def _process(self, key: ObjectKey) -> None:
        if self._work(key):
            self._failures.pop(key, None)
            return
        count = self._failures.get(key, 0)
        # After 16 failures in a row the delay is at its maximum anyway.
        self._failures[key] = min(count + 1, 16)
        self.add_at(key, min(RETRY * 2**count, LONGEST_RETRY))


class MissingObjects:
    """Queues objects again when the objects that they wait for are written."""

    def __init__(self, queue: WorkQueue) -> None:
        self._queue = queue
        self._waiting: dict[ObjectKey, dict[ObjectKey, None]] = {}
        """By missing object, the objects that wait for it."""
        self._needs: dict[ObjectKey, tuple[ObjectKey, ...]] = {}

    def note(self, waiter: ObjectKey, missing: Iterable[ObjectKey]) -> None:
        """Replace the objects that an object waits for."""
        self.forget(waiter)
        needs = tuple(missing)
        for key in needs:
            self._waiting.setdefault(key, {})[waiter] = None
        if needs:
            self._needs[waiter] = needs

    def forget(self, waiter: ObjectKey) -> None:
        """Remove the objects that an object waits for."""
        for key in self._needs.pop(waiter, ()):
            self._waiting.get(key, {}).pop(waiter, None)

    def observe(self, change: StoreChange) -> None:
        """Queue the objects that wait for the written object."""
        if self._needs and change.new is not None:
            for waiter in self._waiting.get(change.key, ()):
                self._queue.add(waiter)


def owner_reference(owner: KubernetesObject) -> dict[str, Json]:
    """Return the owner reference of a controlled object."""
    return {**reference_to(owner), "controller": True, "blockOwnerDeletion": True}


def owner_references(obj: KubernetesObject | None) -> list[Json]:
    """Return the references of an object to its owners."""
    return entries(metadata(obj), "ownerReferences")


def controller_of(obj: KubernetesObject | None) -> Json | None:
    """Return the reference to the controller of an object, or None."""
    references = (one for one in owner_references(obj) if one.get("controller") is True)
    return next(references, None)


def controlled(
    store: ObjectStore,
    owner: KubernetesObject,
    api_version: str,
    kind: str,
    *,
    terminating: bool = False,
) -> list[KubernetesObject]:
    """Return the objects of a kind that an object controls: those being deleted, or the others."""
    uid = text_field(metadata(owner), "uid")
    return [
        one
        for one in store.list(api_version, kind, object_key(owner).namespace)
        if (controller_of(one) or {}).get("uid") == uid and is_terminating(one) is terminating
    ]


def enqueue_controller(queue: WorkQueue, kind: str) -> Callable[[StoreChange], None]:
    """Return a watcher that queues the controller of a written object, if it is of a kind."""

    def react(change: StoreChange) -> None:
        reference = controller_of(change.subject)
        if reference is not None and reference.get("kind") == kind:
            version, name = (text_field(reference, one) for one in ("apiVersion", "name"))
            queue.add(ObjectKey(version, kind, change.key.namespace, name))

    return react


def enqueue(queue: WorkQueue) -> Callable[[StoreChange], None]:
    """Return a watcher that queues a written object.

    Changes of its status are ignored, since the controller itself writes it.
    """

    def react(change: StoreChange) -> None:
        if change.new is not None and _desired_state(change.new) != _desired_state(change.old):
            queue.add(change.key)

    return react


def _desired_state(obj: KubernetesObject | None) -> KubernetesObject | None:
    """Return an object without its status and resourceVersion."""
    if obj is None:
        return None
    return {**obj, "status": None, "metadata": {**metadata(obj), "resourceVersion": None}}
