"""The kubelet: Pods that are bound to a node start there, or hang where something is missing.

A Pod looks again when an object that it waits for is written. The Pods of Jobs come to their end:
after the sleep that their command names, else after some seconds; nobody knows what other Pods do.
Source of the rules: k8s.io/kubernetes pkg/kubelet.
"""

import re

from kyvsim.kube.objects import Json, ObjectKey, object_key
from kyvsim.sim.kubernetes.conditions import write_status
from kyvsim.sim.kubernetes.missing_objects import MissingObjects
from kyvsim.sim.kubernetes.owners import controller_of
from kyvsim.sim.kubernetes.pod_references import missing_pull_secrets
from kyvsim.sim.kubernetes.pod_status import Readiness, pod_status, readiness, succeeded_status
from kyvsim.sim.kubernetes.pod_template import is_active
from kyvsim.sim.kubernetes.users import node
from kyvsim.sim.kubernetes.work_queue import WorkQueue, watch_kinds
from kyvsim.sim.latency import POD_RUN, POD_START
from kyvsim.sim.parts import Parts
from kyvsim.sim.server import Change
from kyvsim.sim.server.filling import entries
from kyvsim.sim.server.metadata import is_terminating

_ACTOR = "kubelet"
_SLEEP = re.compile(r"\bsleep\s+(\d+(?:\.\d+)?)([smh]?)")
_UNITS = (("", 1.0), ("s", 1.0), ("m", 60.0), ("h", 3600.0))


def run_kubelet(parts: Parts) -> None:
    """Start Pods, and let those of Jobs come to their end."""
    if parts.settings.kubelet:
        _Kubelet(parts)


class _Kubelet:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._starts = WorkQueue(parts, _ACTOR, self._start)
        self._looks = WorkQueue(parts, _ACTOR, self._look)
        self._ends = WorkQueue(parts, _ACTOR, self._finish)
        self._missing = MissingObjects(self._looks)
        watch_kinds(parts.store, {("v1", "Pod"): self._observe})
        parts.store.watch(self._missing.observe)

    def _observe(self, change: Change) -> None:
        if change.new is None:
            self._missing.forget(change.key)
        elif _node_of(change.new) and not _node_of(change.old):
            self._looks.add(change.key)

    def _pod(self, key: ObjectKey) -> Json | None:
        """Return a Pod that a kubelet has to do with, or None."""
        pod = self._parts.store.get(*key)
        if pod is None or is_terminating(pod) or not is_active(pod):
            self._missing.forget(key)
            return None
        return pod

    def _look(self, key: ObjectKey) -> bool:
        """See whether something more of a Pod can start; it takes a while until it has."""
        pod = self._pod(key)
        if pod is None:
            return True
        found = readiness(pod, self._parts.store)
        self._missing.note(key, [one.key for one in found.missing])
        if found.ready > _running(pod):
            self._starts.add(key, POD_START)
        if not found.missing:
            return True
        if not found.ready:
            return self._report(pod, found)
        return True

    def _start(self, key: ObjectKey) -> bool:
        pod = self._pod(key)
        if pod is None:
            return True
        found = readiness(pod, self._parts.store)
        self._missing.note(key, [one.key for one in found.missing])
        for one in missing_pull_secrets(pod, self._parts.store):
            self._parts.timeline.record(_ACTOR, "warn", key, message=one.reason)
        return self._report(pod, found)

    def _report(self, pod: Json, found: Readiness) -> bool:
        """Write a Pod's status, and tell of it, if it is not what it was."""
        parts, key = self._parts, object_key(pod)
        status = pod_status(pod, found, parts.clock.stamp())
        if status == pod.get("status"):
            return True
        well = write_status(parts.client(node(_node_of(pod))), pod, status)
        action, outcome = ("wait", "waiting") if found.missing else ("start", "done")
        event = parts.timeline.record(_ACTOR, action, key, outcome=outcome, message=found.told)
        parts.timeline.amend(event, before=pod, after=parts.store.get(*key))
        if not found.missing and _ends(pod):
            self._ends.add_at(key, _seconds(pod))
        return well

    def _finish(self, key: ObjectKey) -> bool:
        pod = self._pod(key)
        if pod is None or not _ends(pod):
            return True
        status = succeeded_status(pod, self._parts.clock.stamp())
        event = self._parts.timeline.record(_ACTOR, "finish", key, message="succeeded")
        well = write_status(self._parts.client(node(_node_of(pod))), pod, status)
        self._parts.timeline.amend(event, before=pod, after=self._parts.store.get(*key))
        return well


def _node_of(pod: Json) -> str:
    return str((pod or {}).get("spec", {}).get("nodeName") or "")


def _running(pod: Json) -> int:
    """Return how many containers of a Pod are ready already."""
    status = pod.get("status") or {}
    some = [*entries(status, "containerStatuses"), *entries(status, "initContainerStatuses")]
    return sum("running" in (one.get("state") or {}) for one in some)


def _ends(pod: Json) -> bool:
    reference = controller_of(pod)
    return reference is not None and reference.get("kind") == "Job"


def _seconds(pod: Json) -> float:
    """Return for how long the containers of a Pod work."""
    longest = 0.0
    for container in entries(pod["spec"], "containers"):
        words = [*(container.get("command") or ()), *(container.get("args") or ())]
        found = _SLEEP.search(" ".join(map(str, words)))
        longest = max(longest, float(found[1]) * dict(_UNITS)[found[2]] if found else POD_RUN)
    return longest
