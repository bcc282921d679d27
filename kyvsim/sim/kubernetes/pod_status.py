"""The status of a Pod, as the kubelet reports it.

Source of the rules: k8s.io/kubernetes pkg/kubelet (kubelet_pods.go, status).
"""

from collections.abc import Mapping
from typing import NamedTuple

from kyvsim.kube.objects import Json, object_key, text_field
from kyvsim.sim.kubernetes.conditions import Condition, conditions
from kyvsim.sim.kubernetes.pod_references import Missing, missing_variables, missing_volumes
from kyvsim.sim.server import Store
from kyvsim.sim.server.filling import entries

_ADDRESS = "10.244.0.5"
_CREATING = "ContainerCreating"
_INITIALIZING = "PodInitializing"
_BAD_CONFIG = "CreateContainerConfigError"


class Readiness(NamedTuple):
    """Which containers of a Pod can run, and what keeps the others."""

    volumes: tuple[Missing, ...]
    """What keeps all of them."""
    variables: Mapping[str, tuple[Missing, ...]]
    """By the name of a container, what keeps this one."""
    initialized: bool
    """Whether the init containers can do their work."""
    ready: int
    total: int

    @property
    def missing(self) -> tuple[Missing, ...]:
        """Everything that is missing."""
        return (*self.volumes, *(one for some in self.variables.values() for one in some))

    @property
    def told(self) -> str:
        """How many containers are ready, and why not all."""
        reasons = [one.message for one in self.volumes] + [
            f"container {name}: {one.reason}"
            for name, some in self.variables.items()
            for one in some
        ]
        return ": ".join(filter(None, (f"{self.ready}/{self.total} ready", "; ".join(reasons))))


def readiness(pod: Json, store: Store) -> Readiness:
    """Return which containers of a Pod can run."""
    spec, namespace = pod["spec"], object_key(pod).namespace
    volumes = tuple(missing_volumes(pod, store))
    variables = {}
    for group in ("initContainers", "containers"):
        for container in entries(spec, group):
            found = missing_variables(container, namespace, store)
            if found:
                variables[text_field(container, "name")] = tuple(found)
    initialized = not any(
        text_field(one, "name") in variables for one in entries(spec, "initContainers")
    )
    names = [text_field(one, "name") for one in _counted(spec)]
    free = [one for one in names if one not in variables]
    starts = initialized and not volumes
    return Readiness(volumes, variables, initialized, len(free) if starts else 0, len(names))


def _counted(spec: Json) -> list[Json]:
    """Return the containers that are to keep running: sidecars among the init containers, too."""
    sidecars = [one for one in entries(spec, "initContainers") if _is_sidecar(one)]
    return [*sidecars, *entries(spec, "containers")]


def _is_sidecar(container: Json) -> bool:
    return text_field(container, "restartPolicy") == "Always"


def pod_status(pod: Json, found: Readiness, stamp: str) -> Json:
    """Return the status of a Pod whose containers run as far as they can."""
    old, spec = pod.get("status") or {}, pod["spec"]
    started = found.initialized and not found.volumes
    runs = started and any(
        text_field(one, "name") not in found.variables for one in entries(spec, "containers")
    )
    ready = bool(started and found.ready == found.total)
    unready = [name for name in _names(spec) if not started or name in found.variables]
    why = ("ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]")
    held = [
        Condition("PodReadyToStartContainers", not found.volumes),
        Condition("Initialized", found.initialized and not found.volumes),
        Condition("Ready", True) if ready else Condition("Ready", False, *why),
        Condition("ContainersReady", True) if ready else Condition("ContainersReady", False, *why),
        Condition("PodScheduled", True),
    ]
    address = {"podIP": _ADDRESS, "podIPs": [{"ip": _ADDRESS}]} if not found.volumes else {}
    init = {"initContainerStatuses": _init_statuses(spec, found, stamp)}
    status = {
        "phase": "Running" if runs else "Pending",
        "conditions": conditions(old, held, stamp),
        "startTime": old.get("startTime", stamp),
        **address,
        **(init if entries(spec, "initContainers") else {}),
        "containerStatuses": [
            _container_status(one, found, started, stamp) for one in entries(spec, "containers")
        ],
        "qosClass": old.get("qosClass", "BestEffort"),
    }
    return _with_times(status, old)


def _with_times(status: Json, old: Json) -> Json:
    """Return a status in which containers that go on as before have the times that they had."""
    for group in ("initContainerStatuses", "containerStatuses"):
        before = {text_field(one, "name"): one for one in entries(old, group)}
        if group in status:
            status = {**status, group: [_kept(one, before) for one in status[group]]}
    return status


def _kept(container: Json, before: Mapping[str, Json]) -> Json:
    state = (before.get(text_field(container, "name")) or {}).get("state") or {}
    same = "waiting" not in state and set(state) == set(container["state"])
    return {**container, "state": state} if same else container


def _names(spec: Json) -> list[str]:
    return [text_field(one, "name") for one in entries(spec, "containers")]


def succeeded_status(pod: Json, stamp: str) -> Json:
    """Return the status of a Pod whose containers have all done their work."""
    old = pod.get("status") or {}
    done = ("PodCompleted",)
    held = [
        Condition("PodReadyToStartContainers", False),
        Condition("Initialized", True, *done),
        Condition("Ready", False, *done),
        Condition("ContainersReady", False, *done),
        Condition("PodScheduled", True),
    ]
    ended = [
        _status_of(one, _terminated(stamp), ready=False)
        for one in entries(pod["spec"], "containers")
    ]
    written = conditions(old, held, stamp)
    return {**old, "phase": "Succeeded", "conditions": written, "containerStatuses": ended}


def _init_statuses(spec: Json, found: Readiness, stamp: str) -> list[Json]:
    """Return the statuses of init containers, each of which waits for the one before."""
    statuses, held = [], bool(found.volumes)
    for container in entries(spec, "initContainers"):
        problems = found.variables.get(text_field(container, "name"))
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


def _container_status(container: Json, found: Readiness, started: bool, stamp: str) -> Json:
    problems = found.variables.get(text_field(container, "name"))
    if not started:
        waits = _INITIALIZING if not found.initialized else _CREATING
        return _status_of(container, {"waiting": {"reason": waits}}, ready=False)
    if problems:
        return _status_of(container, _bad_config(problems), ready=False)
    return _status_of(container, {"running": {"startedAt": stamp}}, ready=True)


def _bad_config(problems: tuple[Missing, ...]) -> dict[str, Json]:
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
