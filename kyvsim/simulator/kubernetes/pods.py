"""Scheduling and running of Pods: the scheduler, the kubelet, and the status of Pods."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from kyvsim.kubernetes.defaults import CONTAINERS
from kyvsim.kubernetes.objects import (
    Json,
    KubernetesObject,
    ObjectKey,
    entries,
    metadata,
    object_key,
    text_field,
)
from kyvsim.model.request import Operation
from kyvsim.simulator.api_server import ApiRequest, ObjectStore, Purpose, StoreChange
from kyvsim.simulator.api_server.metadata import is_terminating
from kyvsim.simulator.context import POD_RUN, POD_START, POD_STOP, SimulationContext
from kyvsim.simulator.kubernetes.controller import (
    SCHEDULER,
    MissingObjects,
    StatusCondition,
    WorkQueue,
    conditions,
    controller_of,
    enqueue,
    node,
    write_status,
)
from kyvsim.simulator.kubernetes.workloads import is_active

# The missing references of a Pod.
#
# A volume that cannot be mounted blocks every container of its Pod, since a kubelet mounts all
# volumes before it starts the first one; a volume that no container mounts is not checked. A
# variable whose ConfigMap or Secret is missing blocks its own container only, and those after it
# if it is an init container: so `1/4` ready means variables, `0/4` a volume. `optional` references
# block nothing. A missing claim keeps a Pod from being bound to a node at all.
# A missing imagePullSecret is a warning: images are pulled without it.
# Source of the rules and texts: k8s.io/kubernetes pkg/kubelet (kubelet_pods.go,
# volumemanager/populator), pkg/volume (configmap, secret, projected),
# pkg/scheduler/framework/plugins/volumebinding.


class MissingReference(NamedTuple):
    """A missing object or key that a Pod refers to."""

    key: ObjectKey
    """The object that is missing, or that lacks a key."""
    reason: str
    """The message of the kubelet."""
    volume: str = ""
    """The volume that needs it; "" for a variable."""


class _References:
    """The references of a Pod, looked up in its namespace."""

    def __init__(self, pod: KubernetesObject, store: ObjectStore) -> None:
        self._spec = pod["spec"]
        self._namespace = object_key(pod).namespace
        self._store = store

    def missing_volumes(self) -> Iterator[MissingReference]:
        """Yield the missing references of the volumes that containers mount."""
        used = {
            text_field(mount, "name")
            for group in CONTAINERS
            for container in entries(self._spec, group)
            for mount in entries(container, "volumeMounts")
        }
        for volume in entries(self._spec, "volumes"):
            name = text_field(volume, "name")
            if name in used:
                yield from (one._replace(volume=name) for one in self._volume(volume))

    def missing_variables(self, container: Json) -> Iterator[MissingReference]:
        """Yield the missing references in the environment of a container."""
        kinds = (("configMap", "ConfigMap"), ("secret", "Secret"))
        for source in entries(container, "envFrom"):
            for field, kind in kinds:
                yield from self._missing(source.get(f"{field}Ref"), kind)
        for variable in entries(container, "env"):
            for field, kind in kinds:
                one = (variable.get("valueFrom") or {}).get(f"{field}KeyRef")
                where = f" in {kind} {self._namespace}/{text_field(one, 'name')}"
                text = ("couldn't find key ", where)
                yield from self._missing(one, kind, [text_field(one, "key")], text)

    def missing_claims(self) -> list[MissingReference]:
        """Return the missing PersistentVolumeClaims."""
        claims = (one.get("persistentVolumeClaim") for one in entries(self._spec, "volumes"))
        names = [{"name": text_field(one, "claimName")} for one in claims if one]
        return [lacks for one in names for lacks in self._missing(one, "PersistentVolumeClaim")]

    def missing_pull_secrets(self) -> list[MissingReference]:
        """Return the missing imagePullSecrets."""
        secrets = entries(self._spec, "imagePullSecrets")
        return [lacks for one in secrets for lacks in self._missing(one, "Secret")]

    def _volume(self, volume: Json) -> Iterator[MissingReference]:
        yield from self._files(volume.get("configMap"), "ConfigMap")
        secret = volume.get("secret")
        if secret:
            yield from self._files({**secret, "name": secret.get("secretName")}, "Secret")
        for source in entries(volume.get("projected"), "sources"):
            yield from self._files(source.get("configMap"), "ConfigMap")
            yield from self._files(source.get("secret"), "Secret")
            if source.get("serviceAccountToken"):
                name = text_field(self._spec, "serviceAccountName") or "default"
                key = ObjectKey("v1", "ServiceAccount", self._namespace, name)
                if self._store.get(*key) is None:
                    text = f'failed to fetch token: serviceaccounts "{name}" not found'
                    yield MissingReference(key, text)

    def _files(self, source: Json, kind: str) -> Iterator[MissingReference]:
        """Yield the missing references of a volume with an object's keys as files."""
        word = "config" if kind == "ConfigMap" else "secret"
        names = [text_field(item, "key") for item in entries(source, "items")]
        yield from self._missing(source, kind, names, (f"references non-existent {word} key: ", ""))

    def _missing(
        self, source: Json, kind: str, names: Iterable[str] = (), text: tuple[str, str] = ("", "")
    ) -> Iterator[MissingReference]:
        """Yield that an object is missing, or which of its keys are; nothing if it is optional.

        `text` is the message before and after the name of a key.
        """
        if not source or source.get("optional") is True:
            return
        key = ObjectKey("v1", kind, self._namespace, text_field(source, "name"))
        obj = self._store.get(*key)
        if obj is None:
            yield MissingReference(key, f'{kind.lower()} "{key.name}" not found')
            return
        for name in names:
            if not any(name in (obj.get(part) or {}) for part in ("data", "binaryData")):
                yield MissingReference(key, f"{text[0]}{name}{text[1]}")


# The status of a Pod, as the kubelet reports it.
# Source of the rules: k8s.io/kubernetes pkg/kubelet (kubelet_pods.go, status).

_ADDRESS = "10.244.0.5"


class Readiness(NamedTuple):
    """Which containers of a Pod can run, and what blocks the others."""

    volumes: tuple[MissingReference, ...]
    """What blocks all of them."""
    variables: Mapping[str, tuple[MissingReference, ...]]
    """By the name of a container, what blocks only this one."""
    initialized: bool
    ready: int
    total: int

    @property
    def missing(self) -> tuple[MissingReference, ...]:
        """All missing objects and keys."""
        return (*self.volumes, *(one for some in self.variables.values() for one in some))


def readiness(pod: KubernetesObject, store: ObjectStore) -> Readiness:
    """Return which containers of a Pod can run."""
    spec, references = pod["spec"], _References(pod, store)
    volumes = tuple(references.missing_volumes())
    variables = {}
    for group in ("initContainers", "containers"):
        for container in entries(spec, group):
            missing = tuple(references.missing_variables(container))
            if missing:
                variables[text_field(container, "name")] = missing
    initialized = not any(
        text_field(one, "name") in variables for one in entries(spec, "initContainers")
    )
    # Containers that keep running; sidecars are among the init containers.
    sidecars = [one for one in entries(spec, "initContainers") if _is_sidecar(one)]
    names = [text_field(one, "name") for one in (*sidecars, *entries(spec, "containers"))]
    free = [one for one in names if one not in variables]
    starts = initialized and not volumes
    return Readiness(volumes, variables, initialized, len(free) if starts else 0, len(names))


def _is_sidecar(container: Json) -> bool:
    return text_field(container, "restartPolicy") == "Always"


def pod_status(
    pod: KubernetesObject, state: Readiness, stamp: str, probed: Collection[str] = ()
) -> Json:
    """Return the status of a Pod, with the containers running that can.

    Those in `probed` are running and not ready yet.
    """
    old, spec = pod.get("status") or {}, pod["spec"]
    started = state.initialized and not state.volumes
    names = [text_field(one, "name") for one in entries(spec, "containers")]
    waiting = [name for name in names if not started or name in state.variables]
    unready = [name for name in names if name in waiting or name in probed]
    ready = bool(started and state.ready == state.total and not probed)
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
    containers = []
    for one in entries(spec, "containers"):
        problems = state.variables.get(text_field(one, "name"))
        if not started:
            waits = "ContainerCreating" if state.initialized else "PodInitializing"
            own: dict[str, Json] = {"waiting": {"reason": waits}}
        else:
            own = _bad_config(problems) if problems else {"running": {"startedAt": stamp}}
        runs = "running" in own
        containers.append(_status_of(one, own, ready=runs and one["name"] not in probed))
    status = {
        "phase": "Running" if len(waiting) < len(names) else "Pending",
        "conditions": conditions(old, held, stamp),
        "startTime": old.get("startTime", stamp),
        **address,
        **(init if entries(spec, "initContainers") else {}),
        "containerStatuses": containers,
        "qosClass": old.get("qosClass", "BestEffort"),
    }
    # The state of containers that keep running or waiting is unchanged, with its times.
    for group in ("initContainerStatuses", "containerStatuses"):
        before = {text_field(one, "name"): one.get("state") or {} for one in entries(old, group)}
        for one in status.get(group) or ():
            former = before.get(one["name"]) or {}
            if "waiting" not in former and set(former) == set(one["state"]):
                one["state"] = former
    return status


def _probe_seconds(container: Json) -> float:
    """Return the seconds from the start of a container until its probes let it be ready.

    They succeed as soon as they can. upstream: k8s.io/kubernetes pkg/kubelet/prober/worker.go
    """
    seconds = 0.0
    for name in ("startupProbe", "readinessProbe"):
        probe = container.get(name) or {}
        repeated = (probe.get("successThreshold") or 1) - 1
        seconds += probe.get("initialDelaySeconds") or 0
        seconds += repeated * (probe.get("periodSeconds") or 10)
    return seconds


def probed_containers(pod: KubernetesObject, state: Readiness, now: datetime) -> dict[str, float]:
    """Return the containers whose probes have yet to succeed, with the seconds until then."""
    found = {}
    statuses = entries(pod.get("status"), "containerStatuses")
    running = {one["name"]: (one.get("state") or {}).get("running") for one in statuses}
    starts = state.initialized and not state.volumes
    for container in entries(pod["spec"], "containers") if starts else ():
        name = text_field(container, "name")
        begun = running.get(name)
        since = datetime.fromisoformat(begun["startedAt"]) if begun else now
        left = _probe_seconds(container) - (now - since).total_seconds()
        if left > 0 and name not in state.variables:
            found[name] = left
    return found


def _init_statuses(spec: Json, readiness: Readiness, stamp: str) -> list[Json]:
    """Return the statuses of init containers, each of which waits for the previous one."""
    statuses, held = [], bool(readiness.volumes)
    for container in entries(spec, "initContainers"):
        problems = readiness.variables.get(text_field(container, "name"))
        if held:
            state = {"waiting": {"reason": "PodInitializing"}}
        elif problems:
            state, held = _bad_config(problems), True
        elif _is_sidecar(container):
            state = {"running": {"startedAt": stamp}}
        else:
            state = _terminated(stamp)
        statuses.append(_status_of(container, state, ready="waiting" not in state))
    return statuses


def _bad_config(problems: tuple[MissingReference, ...]) -> dict[str, Json]:
    return {"waiting": {"reason": "CreateContainerConfigError", "message": problems[0].reason}}


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


# The scheduler: binds Pods to nodes. The first node suits every Pod.
# Source of the rules: k8s.io/kubernetes pkg/scheduler.


def bind_pods(sim: SimulationContext) -> None:
    """Bind Pods to a node once their claims exist."""
    if not sim.settings.kubelet:
        return
    client, actor = sim.client(SCHEDULER), "kube-scheduler"

    def work(key: ObjectKey) -> bool:
        pod = client.get(*key)
        if pod is None or is_terminating(pod) or pod["spec"].get("nodeName"):
            missing.forget(key)
            return True
        nodes = client.list("v1", "Node")
        problems = _References(pod, sim.store).missing_claims()
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
        sim.timeline.record(actor, "wait", key, outcome="waiting", message=why)
        held = [StatusCondition("PodScheduled", False, "Unschedulable", why)]
        written = conditions(old, held, sim.clock.stamp())
        return write_status(client, pod, {**old, "conditions": written})

    queue = WorkQueue(sim, actor, work)
    missing = MissingObjects(queue)
    sim.store.watch(enqueue(queue), {("v1", "Pod")})
    sim.store.watch(missing.observe)


# The kubelet: starts Pods that are bound to a node, unless something is missing, and ends deleted
# ones, which it then removes from the API with a deletion without grace period.
#
# A Pod is processed again when an object that it waits for is written. The Pods of Jobs end
# after the `sleep` in their command, or after some seconds; it is unknown what other
# Pods do. Source of the rules: k8s.io/kubernetes pkg/kubelet (kuberuntime/kuberuntime_container.go,
# status/status_manager.go).

_KUBELET_ACTOR = "kubelet"
_KILLED = 137
"""The exit code of a process that SIGKILL ended."""
_SLEEP = re.compile(r"\bsleep\s+(\d+(?:\.\d+)?)([smh]?)")
_UNITS = (("", 1.0), ("s", 1.0), ("m", 60.0), ("h", 3600.0))


class Kubelet:
    """Starts Pods, and ends those of Jobs."""

    def __init__(self, sim: SimulationContext) -> None:
        self._sim = sim
        self._starts = WorkQueue(sim, _KUBELET_ACTOR, self._start)
        self._changes = WorkQueue(sim, _KUBELET_ACTOR, self._sync)
        self._ends = WorkQueue(sim, _KUBELET_ACTOR, self._finish)
        self._stops = WorkQueue(sim, _KUBELET_ACTOR, self._stop)
        self._missing = MissingObjects(self._changes)
        if sim.settings.kubelet:
            sim.store.watch(self._observe, {("v1", "Pod")})
            sim.store.watch(self._missing.observe)

    def _observe(self, change: StoreChange) -> None:
        if change.new is None:
            self._missing.forget(change.key)
        elif is_terminating(change.new):
            self._missing.forget(change.key)
            if _grace(change.new) != _grace(change.old):
                self._stops.add_at(change.key, _stopping(change.new))
        elif _node_of(change.new) and not _node_of(change.old):
            self._changes.add(change.key)

    def _pod(self, key: ObjectKey) -> KubernetesObject | None:
        """Return an active Pod that is not being deleted, or None."""
        pod = self._sim.store.get(*key)
        if pod is None or is_terminating(pod) or not is_active(pod):
            self._missing.forget(key)
            return None
        return pod

    def _sync(self, key: ObjectKey) -> bool:
        """Check whether more containers of a Pod can start; starting takes a while."""
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
        for one in _References(pod, self._sim.store).missing_pull_secrets():
            self._sim.timeline.record(_KUBELET_ACTOR, "warn", key, message=one.reason)
        return self._report(pod, state)

    def _report(self, pod: KubernetesObject, state: Readiness) -> bool:
        """Write the status of a Pod and record it, if it has changed."""
        sim, key = self._sim, object_key(pod)
        probed = probed_containers(pod, state, sim.clock.now())
        if probed:
            self._starts.add_at(key, min(probed.values()))
        status = pod_status(pod, state, sim.clock.stamp(), probed)
        if status == pod.get("status"):
            return True
        well = write_status(sim.client(node(_node_of(pod))), pod, status)
        action, outcome = ("wait", "waiting") if state.missing else ("start", "done")
        # How many containers are ready, and why the others are not.
        reasons = [
            f'MountVolume.SetUp failed for volume "{one.volume}" : {one.reason}'
            for one in state.volumes
        ]
        pairs = ((name, one) for name, some in state.variables.items() for one in some)
        reasons += [f"container {name}: {one.reason}" for name, one in pairs]
        reasons += [f"container {name}: probed for {left:g}s" for name, left in probed.items()]
        count = f"{state.ready - len(probed)}/{state.total} ready"
        text = ": ".join(filter(None, (count, "; ".join(reasons))))
        states = {"before": pod, "after": sim.store.get(*key)}
        sim.timeline.record(_KUBELET_ACTOR, action, key, outcome=outcome, message=text, **states)
        if not state.missing and _ends(pod):
            self._ends.add_at(key, _seconds(pod))
        return well

    def _finish(self, key: ObjectKey) -> bool:
        pod = self._pod(key)
        if pod is None or not _ends(pod):
            return True
        event = self._sim.timeline.record(_KUBELET_ACTOR, "finish", key, message="succeeded")
        well = self._end(pod)
        self._sim.timeline.amend(event, before=pod, after=self._sim.store.get(*key))
        return well

    def _stop(self, key: ObjectKey) -> bool:
        """Remove a deleted Pod whose containers have ended."""
        pod = self._sim.store.get(*key)
        grace = _grace(pod)
        if pod is None or not grace:
            return True  # it only waits for a finalizer
        last = datetime.fromisoformat(pod["metadata"]["deletionTimestamp"])
        left = (last - self._sim.clock.now()).total_seconds()
        if left > grace - _stopping(pod):
            return True  # another Pod of this name, which was deleted later
        why, seconds = "its containers have not started", _stopping(pod)
        if _is_started(pod):
            is_killed = seconds >= grace
            if not self._end(pod, is_killed=is_killed):
                return False
            why = f"its containers {'were killed' if is_killed else 'ended'} after {seconds:g}s"
        client = self._sim.client(node(_node_of(pod)), Purpose("", message=why))
        return client.delete(key, grace_period=0).ok

    def _end(self, pod: KubernetesObject, *, is_killed: bool = False) -> bool:
        """Write that all containers of a Pod have ended, by themselves or killed."""
        stamp, old = self._sim.clock.stamp(), pod.get("status") or {}
        reason = "PodFailed" if is_killed else "PodCompleted"
        held = [
            StatusCondition("PodReadyToStartContainers", False),
            StatusCondition("Initialized", True, "" if is_killed else reason),
            StatusCondition("Ready", False, reason),
            StatusCondition("ContainersReady", False, reason),
            StatusCondition("PodScheduled", True),
        ]
        state = _terminated(stamp)
        if is_killed:
            state["terminated"] |= {"exitCode": _KILLED, "reason": "Error"}
        containers = entries(pod["spec"], "containers")
        ended = [_status_of(one, state, ready=False) for one in containers]
        phase = "Failed" if is_killed else "Succeeded"
        written = conditions(old, held, stamp)
        status = {**old, "phase": phase, "conditions": written, "containerStatuses": ended}
        return write_status(self._sim.client(node(_node_of(pod))), pod, status)


def _node_of(pod: KubernetesObject | None) -> str:
    return str((pod or {}).get("spec", {}).get("nodeName") or "")


def _ends(pod: KubernetesObject) -> bool:
    reference = controller_of(pod)
    return reference is not None and reference.get("kind") == "Job"


def _is_started(pod: KubernetesObject) -> bool:
    states = (one.get("state") or {} for one in entries(pod.get("status"), "containerStatuses"))
    return any("running" in one for one in states)


def _slept(*commands: Json) -> float | None:
    """Return the seconds of the first `sleep` in parts of a command, or None."""
    match = _SLEEP.search(" ".join(str(word) for one in commands for word in one or ()))
    return float(match[1]) * dict(_UNITS)[match[2]] if match else None


def _seconds(pod: KubernetesObject) -> float:
    """Return how long the containers of a Pod run, in seconds."""
    longest = 0.0
    for container in entries(pod["spec"], "containers"):
        slept = _slept(container.get("command"), container.get("args"))
        longest = max(longest, POD_RUN if slept is None else slept)
    return longest


def _grace(pod: KubernetesObject | None) -> int:
    """Return the grace period of a deleted Pod, in seconds; 0 if it has or needs none."""
    return int(metadata(pod).get("deletionGracePeriodSeconds") or 0)


def _stopping(pod: KubernetesObject) -> float:
    """Return how long the containers of a deleted Pod take to end, in seconds.

    They get a signal after their `preStop` hook, which the first process of a container ignores
    if it is `sleep`, or a shell that waits for one: the kubelet kills it after the grace period.
    """
    longest, grace = 0.0, _grace(pod)
    for container in entries(pod["spec"], "containers") if _is_started(pod) else ():
        hook = (container.get("lifecycle") or {}).get("preStop") or {}
        slept = _slept((hook.get("exec") or {}).get("command"))
        hooked = (hook.get("sleep") or {}).get("seconds") or slept or 0.0
        ignores = _slept(container.get("command"), container.get("args")) is not None
        longest = max(longest, grace if ignores else hooked + POD_STOP)
    return min(longest, grace)
