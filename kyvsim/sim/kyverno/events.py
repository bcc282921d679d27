"""Events that tell what Kyverno did and found: who wrote what about which object.

Source of the rules: upstream pkg/event (controller.go, source.go, action.go, reason.go).
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kube.objects import Json, ObjectKey, metadata, object_key, text_field
from kyvsim.model.policy import Policy
from kyvsim.model.request import UserInfo
from kyvsim.sim.kyverno.configuration import settings_of
from kyvsim.sim.kyverno.users import ADMISSION, BACKGROUND, CLEANUP, REPORTS
from kyvsim.sim.latency import NOTICE
from kyvsim.sim.parts import Parts
from kyvsim.sim.server import Store

_ACTOR = "events"
_LONGEST_NOTE = 1024
_UNFIT = re.compile(r"[^a-z0-9.\-]")


class Source(StrEnum):
    """Which part of Kyverno reports."""

    ADMISSION = "kyverno-admission"
    SCAN = "kyverno-scan"
    GENERATE = "kyverno-generate"
    MUTATE = "kyverno-mutate"
    CLEANUP = "kyverno-cleanup"


class Reason(StrEnum):
    """Why something is reported."""

    VIOLATION = "PolicyViolation"
    APPLIED = "PolicyApplied"
    ERROR = "PolicyError"
    SKIPPED = "PolicySkipped"


class Action(StrEnum):
    """What became of the object."""

    BLOCKED = "Resource Blocked"
    PASSED = "Resource Passed"
    GENERATED = "Resource Generated"
    MUTATED = "Resource Mutated"
    CLEANED_UP = "Resource Cleaned Up"
    NONE = "None"


class Event(NamedTuple):
    """Something worth telling about an object."""

    regarding: Mapping[str, str]
    """A reference to the object: `apiVersion`, `kind`, `name`, `namespace`, `uid`."""
    reason: Reason
    source: Source
    action: Action
    note: str
    related: Mapping[str, str] | None = None
    """A reference to the other object that it is about."""


_WRITERS: Mapping[Source, UserInfo] = MappingProxyType(
    {
        Source.ADMISSION: ADMISSION,
        Source.SCAN: REPORTS,
        Source.GENERATE: BACKGROUND,
        Source.MUTATE: BACKGROUND,
        Source.CLEANUP: CLEANUP,
    }
)
_NORMAL = frozenset({Reason.APPLIED, Reason.SKIPPED})


class EventRecorder:
    """Writes Events a moment after they were reported, in the order in which they were."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._waiting: list[Event] = []
        self._count = 0

    def record(self, *events: Event) -> None:
        """Write events soon; successes only where Kyverno's ConfigMap asks for them."""
        wanted = [one for one in events if one.regarding.get("name") and self._is_wanted(one)]
        if wanted and not self._waiting:
            self._parts.scheduler.after(NOTICE, _ACTOR, self._write)
        self._waiting += wanted

    def _is_wanted(self, event: Event) -> bool:
        if event.reason.value in self._parts.settings.installation.omitted_events:
            return False
        if event.reason is not Reason.APPLIED:
            return True
        if not tells_successes(self._parts):
            return False
        data = settings_of(self._parts.store)
        actions = [one.strip() for one in str(data.get("successEventActions") or "").split(",")]
        return actions == [""] or event.action in actions

    def _write(self) -> None:
        waiting, self._waiting = self._waiting, []
        now = self._parts.clock.now()
        micros, stamp = int(now.timestamp() * 1_000_000), now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        for event in waiting:
            self._count += 1
            # Two events of one instant have different names, as real clocks would give them.
            obj = _written(event, stamp, micros * 1000 + self._count)
            self._parts.client(_WRITERS[event.source]).create(obj)


def _written(event: Event, stamp: str, nanos: int) -> Json:
    """Return the object that tells of an event at some time."""
    written = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": f"{_fit(event.regarding['name'])}.{nanos:x}",
            "namespace": event.regarding.get("namespace") or "default",
        },
        "involvedObject": dict(event.regarding),
        "reason": event.reason.value,
        "message": _shortened(event.note),
        "source": {},
        "firstTimestamp": None,
        "lastTimestamp": None,
        "type": "Normal" if event.reason in _NORMAL else "Warning",
        "eventTime": stamp,
        "action": event.action.value,
        "reportingComponent": event.source.value,
        "reportingInstance": f"{event.source}-0",
    }
    return {**written, "related": dict(event.related)} if event.related else written


def tells_successes(parts: Parts) -> bool:
    """Return whether Kyverno's ConfigMap wants any events on what succeeded."""
    return str(settings_of(parts.store).get("generateSuccessEvents") or "") == "true"


def reference(obj: Json) -> Mapping[str, str]:
    """Return the reference by which events name an object; parts that it lacks are left out."""
    key = object_key(obj)
    parts = {
        "apiVersion": key.api_version,
        "kind": key.kind,
        "name": key.name,
        "namespace": key.namespace,
        "uid": text_field(metadata(obj), "uid"),
    }
    return {name: value for name, value in parts.items() if value}


def policy_reference(policy: Policy, parts: Parts) -> Mapping[str, str]:
    """Return the reference to a policy, with its uid where it is still stored."""
    key = ObjectKey(policy.facts.api_version, policy.kind, policy.namespace, policy.name)
    known: Mapping[str, str] = parts.store.remembered(_reference_to, key)
    return known


def _reference_to(store: Store, key: ObjectKey) -> Mapping[str, str]:
    meta = {"name": key.name, "namespace": key.namespace}
    named = {"apiVersion": key.api_version, "kind": key.kind, "metadata": meta}
    return reference(store.get(*key) or named)


def _fit(name: str) -> str:
    """Return a name without what a name of an object cannot hold."""
    fit = _UNFIT.sub("-", name.lower())
    start = "" if fit[:1].isalnum() else "a"
    return f"{start}{fit}{'' if fit[-1:].isalnum() else 'z'}"


def _shortened(note: str) -> str:
    raw = note.encode()
    if len(raw) <= _LONGEST_NOTE:
        return note
    return raw[: _LONGEST_NOTE - 3].decode(errors="ignore") + "..."
