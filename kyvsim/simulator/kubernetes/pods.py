"""Binding and running of Pods: the scheduler, the kubelet, and the status of Pods."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json, ObjectKey, entries, object_key, text_field
from kyvsim.model.request import Operation
from kyvsim.simulator.api_server import ApiRequest, ObjectStore, StoreChange
from kyvsim.simulator.api_server.metadata import is_terminating
from kyvsim.simulator.context import POD_RUN, POD_START, SimulationContext
from kyvsim.simulator.kubernetes.controller import (
    SCHEDULER,
    MissingObjects,
    StatusCondition,
    WorkQueue,
    conditions,
    controller_of,
    enqueue,
    node,
    watch_kinds,
    write_status,
)
from kyvsim.simulator.kubernetes.workloads import is_active

# What a Pod refers to, and what of it is missing.
#
# What blocks what: a volume that cannot be mounted holds every container of its Pod, for a kubelet
# mounts all volumes before it starts the first one; a volume that no container mounts is never
# checked. A variable whose ConfigMap or Secret is missing holds its own container only, and
# those behind it where it is an init container: so `1/4` ready means variables, `0/4` a volume.
# What is `optional` blocks nothing. A missing claim keeps a Pod from being bound to a node at all.
# A missing imagePullSecret is a warning: images are pulled without it.
#
# Source of the rules and texts: k8s.io/kubernetes pkg/kubelet (kubelet_pods.go,
# volumemanager/populator), pkg/volume (configmap, secret, projected),
# pkg/scheduler/framework/plugins/volumebinding.

_CLAIM = "PersistentVolumeClaim"
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


class MissingReference(NamedTuple):
    """Something that a Pod refers to and that is not there."""

    key: ObjectKey
    """The object that is missing, or that lacks a key."""
    reason: str
    """The message of a kubelet about it."""
    volume: str = ""
    """The volume that needs it; "" for a variable."""


class _PodReferences(NamedTuple):
    namespace: str
    store: ObjectStore


def missing_volumes(pod: Json, store: ObjectStore) -> list[MissingReference]:
    """Return what is missing for the volumes that a Pod's containers mount."""
    spec, place = pod["spec"], _PodReferences(object_key(pod).namespace, store)
    used = {
        text_field(mount, "name")
        for group in _CONTAINERS
        for container in entries(spec, group)
        for mount in entries(container, "volumeMounts")
    }
    missing = []
    for volume in entries(spec, "volumes"):
        name = text_field(volume, "name")
        if name in used:
            missing += [one._replace(volume=name) for one in _volume(volume, pod, place)]
    return missing


def missing_variables(
    container: Json, namespace: str, store: ObjectStore
) -> list[MissingReference]:
    """Return what is missing for the environment of a container."""
    place = _PodReferences(namespace, store)
    missing: list[MissingReference] = []
    for source in entries(container, "envFrom"):
        missing += _missing(source.get("configMapRef"), "ConfigMap", place)
        missing += _missing(source.get("secretRef"), "Secret", place)
    for variable in entries(container, "env"):
        source = variable.get("valueFrom") or {}
        missing += _one(source.get("configMapKeyRef"), "ConfigMap", place)
        missing += _one(source.get("secretKeyRef"), "Secret", place)
    return missing


def missing_claims(pod: Json, store: ObjectStore) -> list[MissingReference]:
    """Return the PersistentVolumeClaims of a Pod that are not there."""
    place = _PodReferences(object_key(pod).namespace, store)
    claims = (one.get("persistentVolumeClaim") for one in entries(pod["spec"], "volumes"))
    names = [text_field(one, "claimName") for one in claims if one]
    return [problem for name in names for problem in _missing({"name": name}, _CLAIM, place)]


def missing_pull_secrets(pod: Json, store: ObjectStore) -> list[MissingReference]:
    """Return the imagePullSecrets of a Pod that are not there."""
    place = _PodReferences(object_key(pod).namespace, store)
    secrets = entries(pod["spec"], "imagePullSecrets")
    return [problem for one in secrets for problem in _missing(one, "Secret", place)]


def _volume(volume: Json, pod: Json, place: _PodReferences) -> Iterator[MissingReference]:
    yield from _files(volume.get("configMap"), "ConfigMap", place)
    secret = volume.get("secret")
    if secret:
        yield from _files({**secret, "name": secret.get("secretName")}, "Secret", place)
    for source in entries(volume.get("projected"), "sources"):
        yield from _files(source.get("configMap"), "ConfigMap", place)
        yield from _files(source.get("secret"), "Secret", place)
        if source.get("serviceAccountToken"):
            name = text_field(pod["spec"], "serviceAccountName") or "default"
            key = ObjectKey("v1", "ServiceAccount", place.namespace, name)
            if place.store.get(*key) is None:
                yield MissingReference(
                    key, f'failed to fetch token: serviceaccounts "{name}" not found'
                )


def _files(source: Json, kind: str, place: _PodReferences) -> Iterator[MissingReference]:
    """Yield what a volume lacks that shows an object's keys as files."""
    word = "config" if kind == "ConfigMap" else "secret"
    names = [text_field(item, "key") for item in entries(source, "items")]
    yield from _missing(source, kind, place, names, (f"references non-existent {word} key: ", ""))


def _one(source: Json, kind: str, place: _PodReferences) -> Iterator[MissingReference]:
    """Yield that a variable's object is not there, or lacks its key."""
    where = f" in {kind} {place.namespace}/{text_field(source, 'name')}"
    names = [text_field(source, "key")]
    yield from _missing(source, kind, place, names, ("couldn't find key ", where))


def _missing(
    source: Json,
    kind: str,
    place: _PodReferences,
    names: Iterable[str] = (),
    text: tuple[str, str] = ("", ""),
) -> Iterator[MissingReference]:
    """Yield that an object is missing, or which of its keys are; nothing if it is optional.

    `text` is what the message has before and after the name of a key.
    """
    if not source or source.get("optional") is True:
        return
    key = ObjectKey("v1", kind, place.namespace, text_field(source, "name"))
    obj = place.store.get(*key)
    if obj is None:
        yield MissingReference(key, f'{kind.lower()} "{key.name}" not found')
        return
    for name in names:
        if not any(name in (obj.get(part) or {}) for part in ("data", "binaryData")):
            yield MissingReference(key, f"{text[0]}{name}{text[1]}")


# The status of a Pod, as the kubelet reports it.
#
# Source of the rules: k8s.io/kubernetes pkg/kubelet (kubelet_pods.go, status).

_ADDRESS = "10.244.0.5"
_CREATING = "ContainerCreating"
_INITIALIZING = "PodInitializing"
_BAD_CONFIG = "CreateContainerConfigError"


class Readiness(NamedTuple):
    """Which containers of a Pod can run, and what keeps the others."""

    volumes: tuple[MissingReference, ...]
    """What keeps all of them."""
    variables: Mapping[str, tuple[MissingReference, ...]]
    """By the name of a container, what keeps this one."""
    initialized: bool
    ready: int
    total: int

    @property
    def missing(self) -> tuple[MissingReference, ...]:
        """Everything that is missing."""
        return (*self.volumes, *(one for some in self.variables.values() for one in some))

    @property
    def summary(self) -> str:
        """How many containers are ready, and why not all."""
        reasons = [
            f'MountVolume.SetUp failed for volume "{one.volume}" : {one.reason}'
            for one in self.volumes
        ]
        pairs = ((name, one) for name, some in self.variables.items() for one in some)
        reasons += [f"container {name}: {one.reason}" for name, one in pairs]
        return ": ".join(filter(None, (f"{self.ready}/{self.total} ready", "; ".join(reasons))))


def readiness(pod: Json, store: ObjectStore) -> Readiness:
    """Return which containers of a Pod can run."""
    spec, namespace = pod["spec"], object_key(pod).namespace
    volumes = tuple(missing_volumes(pod, store))
    variables = {}
    for group in ("initContainers", "containers"):
        for container in entries(spec, group):
            missing = missing_variables(container, namespace, store)
            if missing:
                variables[text_field(container, "name")] = tuple(missing)
    initialized = not any(
        text_field(one, "name") in variables for one in entries(spec, "initContainers")
    )
    # Those that are to keep running: sidecars among the init containers, too.
    sidecars = [one for one in entries(spec, "initContainers") if _is_sidecar(one)]
    names = [text_field(one, "name") for one in (*sidecars, *entries(spec, "containers"))]
    free = [one for one in names if one not in variables]
    starts = initialized and not volumes
    return Readiness(volumes, variables, initialized, len(free) if starts else 0, len(names))


def _is_sidecar(container: Json) -> bool:
    return text_field(container, "restartPolicy") == "Always"


def pod_status(pod: Json, state: Readiness, stamp: str) -> Json:
    """Return the status of a Pod whose containers run as far as they can."""
    old, spec = pod.get("status") or {}, pod["spec"]
    started = state.initialized and not state.volumes
    names = [text_field(one, "name") for one in entries(spec, "containers")]
    unready = [name for name in names if not started or name in state.variables]
    ready = bool(started and state.ready == state.total)
    why = ("ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]")
    reason = () if ready else why
    held = [
        StatusCondition("PodReadyToStartContainers", not state.volumes),
        StatusCondition("Initialized", started),
        StatusCondition("Ready", ready, *reason),
        StatusCondition("ContainersReady", ready, *reason),
        StatusCondition("PodScheduled", True),
    ]
    address = {"podIP": _ADDRESS, "podIPs": [{"ip": _ADDRESS}]} if not state.volumes else {}
    init = {"initContainerStatuses": _init_statuses(spec, state, stamp)}
    status = {
        "phase": "Running" if len(unready) < len(names) else "Pending",
        "conditions": conditions(old, held, stamp),
        "startTime": old.get("startTime", stamp),
        **address,
        **(init if entries(spec, "initContainers") else {}),
        "containerStatuses": [
            _container_status(one, state, started, stamp) for one in entries(spec, "containers")
        ],
        "qosClass": old.get("qosClass", "BestEffort"),
    }
    # Containers that go on as before have the times that they had.
    for group in ("initContainerStatuses", "containerStatuses"):
        before = {text_field(one, "name"): one.get("state") or {} for one in entries(old, group)}
        for one in status.get(group) or ():
            former = before.get(one["name"]) or {}
            if "waiting" not in former and set(former) == set(one["state"]):
                one["state"] = former
    return status


def _init_statuses(spec: Json, readiness: Readiness, stamp: str) -> list[Json]:
    """Return the statuses of init containers, each of which waits for the one before."""
    statuses, held = [], bool(readiness.volumes)
    for container in entries(spec, "initContainers"):
        problems = readiness.variables.get(text_field(container, "name"))
        if held:
            state = {"waiting": {"reason": _INITIALIZING}}
        elif problems:
            state, held = _bad_config(problems), True
        elif _is_sidecar(container):
            state = {"running": {"startedAt": stamp}}
        else:
            state = _terminated(stamp)
        statuses.append(_status_of(container, state, ready="waiting" not in state))
    return statuses


def _container_status(container: Json, readiness: Readiness, started: bool, stamp: str) -> Json:
    problems = readiness.variables.get(text_field(container, "name"))
    if not started:
        waits = _INITIALIZING if not readiness.initialized else _CREATING
        return _status_of(container, {"waiting": {"reason": waits}}, ready=False)
    if problems:
        return _status_of(container, _bad_config(problems), ready=False)
    return _status_of(container, {"running": {"startedAt": stamp}}, ready=True)


def _bad_config(problems: tuple[MissingReference, ...]) -> dict[str, Json]:
    return {"waiting": {"reason": _BAD_CONFIG, "message": problems[0].reason}}


def _terminated(stamp: str) -> dict[str, Json]:
    ended = {"exitCode": 0, "reason": "Completed", "startedAt": stamp, "finishedAt": stamp}
    return {"terminated": ended}


def _status_of(container: Json, state: Json, *, ready: bool) -> Json:
    return {
        "name": text_field(container, "name"),
        "image": text_field(container, "image"),
        "imageID": "",
        "ready": ready,
        "restartCount": 0,
        "started": "running" in state,
        "state": state,
    }


# The scheduler: a Pod gets a node. The first one suits every Pod.
#
# Source of the rules: k8s.io/kubernetes pkg/scheduler.

_SCHEDULING_ACTOR = "kube-scheduler"


def bind_pods(sim: SimulationContext) -> None:
    """Bind Pods to a node once their claims are there."""
    if not sim.settings.kubelet:
        return
    client = sim.client(SCHEDULER)

    def work(key: ObjectKey) -> bool:
        pod = client.get(*key)
        if pod is None or is_terminating(pod) or pod["spec"].get("nodeName"):
            missing.forget(key)
            return True
        nodes = client.list("v1", "Node")
        problems = missing_claims(pod, sim.store)
        missing.note(key, [one.key for one in problems])
        if nodes and not problems:
            node = object_key(nodes[0]).name
            meta = {"name": key.name, "namespace": key.namespace}
            named = {"apiVersion": "v1", "kind": "Binding", "metadata": meta}
            sent = {**named, "target": {"kind": "Node", "name": node}}
            return client.send(ApiRequest(Operation.CREATE, key, SCHEDULER, sent, "binding")).ok
        why = "; ".join(one.reason for one in problems) or "no nodes available to schedule pods"
        why = f"0/{len(nodes)} nodes are available: {why}."
        old = pod.get("status") or {}
        if why in [one.get("message") for one in old.get("conditions") or ()]:
            return True
        sim.timeline.record(_SCHEDULING_ACTOR, "wait", key, outcome="waiting", message=why)
        held = [StatusCondition("PodScheduled", False, "Unschedulable", why)]
        written = conditions(old, held, sim.clock.stamp())
        return write_status(client, pod, {**old, "conditions": written})

    queue = WorkQueue(sim, _SCHEDULING_ACTOR, work)
    missing = MissingObjects(queue)
    watch_kinds(sim.store, {("v1", "Pod"): enqueue(queue)})
    sim.store.watch(missing.observe)


# The kubelet: Pods that are bound to a node start there, or hang where something is missing.
#
# A Pod is processed again when an object that it waits for is written. The Pods of Jobs end
# after the sleep that their command names, else after some seconds; it is unknown what other
# Pods do. Source of the rules: k8s.io/kubernetes pkg/kubelet.

_KUBELET_ACTOR = "kubelet"
_SLEEP = re.compile(r"\bsleep\s+(\d+(?:\.\d+)?)([smh]?)")
_UNITS = (("", 1.0), ("s", 1.0), ("m", 60.0), ("h", 3600.0))


def run_kubelet(sim: SimulationContext) -> None:
    """Start Pods, and end those of Jobs."""
    if sim.settings.kubelet:
        _Kubelet(sim)


class _Kubelet:
    def __init__(self, sim: SimulationContext) -> None:
        self._sim = sim
        self._starts = WorkQueue(sim, _KUBELET_ACTOR, self._start)
        self._changes = WorkQueue(sim, _KUBELET_ACTOR, self._sync)
        self._ends = WorkQueue(sim, _KUBELET_ACTOR, self._finish)
        self._missing = MissingObjects(self._changes)
        watch_kinds(sim.store, {("v1", "Pod"): self._observe})
        sim.store.watch(self._missing.observe)

    def _observe(self, change: StoreChange) -> None:
        if change.new is None:
            self._missing.forget(change.key)
        elif _node_of(change.new) and not _node_of(change.old):
            self._changes.add(change.key)

    def _pod(self, key: ObjectKey) -> Json | None:
        """Return a Pod that a kubelet has to do with, or None."""
        pod = self._sim.store.get(*key)
        if pod is None or is_terminating(pod) or not is_active(pod):
            self._missing.forget(key)
            return None
        return pod

    def _sync(self, key: ObjectKey) -> bool:
        """See whether something more of a Pod can start; it takes a while until it has."""
        pod = self._pod(key)
        if pod is None:
            return True
        state = readiness(pod, self._sim.store)
        self._missing.note(key, [one.key for one in state.missing])
        status = pod.get("status") or {}
        some = [*entries(status, "containerStatuses"), *entries(status, "initContainerStatuses")]
        if state.ready > sum("running" in (one.get("state") or {}) for one in some):
            self._starts.add(key, POD_START)
        return self._report(pod, state) if state.missing and not state.ready else True

    def _start(self, key: ObjectKey) -> bool:
        pod = self._pod(key)
        if pod is None:
            return True
        state = readiness(pod, self._sim.store)
        self._missing.note(key, [one.key for one in state.missing])
        for one in missing_pull_secrets(pod, self._sim.store):
            self._sim.timeline.record(_KUBELET_ACTOR, "warn", key, message=one.reason)
        return self._report(pod, state)

    def _report(self, pod: Json, state: Readiness) -> bool:
        """Write and report a Pod's status if it has changed."""
        sim, key = self._sim, object_key(pod)
        status = pod_status(pod, state, sim.clock.stamp())
        if status == pod.get("status"):
            return True
        well = write_status(sim.client(node(_node_of(pod))), pod, status)
        action, outcome = ("wait", "waiting") if state.missing else ("start", "done")
        states = {"before": pod, "after": sim.store.get(*key)}
        text = state.summary
        sim.timeline.record(_KUBELET_ACTOR, action, key, outcome=outcome, message=text, **states)
        if not state.missing and _ends(pod):
            self._ends.add_at(key, _seconds(pod))
        return well

    def _finish(self, key: ObjectKey) -> bool:
        pod = self._pod(key)
        if pod is None or not _ends(pod):
            return True
        stamp = self._sim.clock.stamp()
        old = pod.get("status") or {}
        held = [
            StatusCondition("PodReadyToStartContainers", False),
            StatusCondition("Initialized", True, "PodCompleted"),
            StatusCondition("Ready", False, "PodCompleted"),
            StatusCondition("ContainersReady", False, "PodCompleted"),
            StatusCondition("PodScheduled", True),
        ]
        containers = entries(pod["spec"], "containers")
        ended = [_status_of(one, _terminated(stamp), ready=False) for one in containers]
        written = conditions(old, held, stamp)
        status = {**old, "phase": "Succeeded", "conditions": written, "containerStatuses": ended}
        event = self._sim.timeline.record(_KUBELET_ACTOR, "finish", key, message="succeeded")
        well = write_status(self._sim.client(node(_node_of(pod))), pod, status)
        self._sim.timeline.amend(event, before=pod, after=self._sim.store.get(*key))
        return well


def _node_of(pod: Json) -> str:
    return str((pod or {}).get("spec", {}).get("nodeName") or "")


def _ends(pod: Json) -> bool:
    reference = controller_of(pod)
    return reference is not None and reference.get("kind") == "Job"


def _seconds(pod: Json) -> float:
    """Return for how long the containers of a Pod work."""
    longest = 0.0
    for container in entries(pod["spec"], "containers"):
        words = [*(container.get("command") or ()), *(container.get("args") or ())]
        match = _SLEEP.search(" ".join(map(str, words)))
        longest = max(longest, float(match[1]) * dict(_UNITS)[match[2]] if match else POD_RUN)
    return longest
