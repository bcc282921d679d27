"""The Events that Kyverno writes."""

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from kyvsim.kubernetes.discovery import split_api_version
from kyvsim.kubernetes.objects import KubernetesObject, ObjectKey, object_key
from kyvsim.languages import CLEANUP_POLICIES
from kyvsim.model.policy import Policy
from kyvsim.model.request import UserInfo
from kyvsim.model.result import Phase, PolicyResponse, RuleResult, RuleStatus
from kyvsim.simulator.api_server import ObjectStore
from kyvsim.simulator.api_server.metadata import reference_to
from kyvsim.simulator.configuration import ADMISSION, BACKGROUND, CLEANUP, REPORTS, settings_of
from kyvsim.simulator.context import NOTICE, SimulationContext

# Source of the rules: upstream pkg/event (controller.go, source.go, action.go, reason.go).


class EventSource(StrEnum):
    """The component of Kyverno that reports an event."""

    ADMISSION = "kyverno-admission"
    SCAN = "kyverno-scan"
    GENERATE = "kyverno-generate"
    MUTATE = "kyverno-mutate"
    CLEANUP = "kyverno-cleanup"


class EventReason(StrEnum):
    """The reason of an event."""

    VIOLATION = "PolicyViolation"
    APPLIED = "PolicyApplied"
    ERROR = "PolicyError"
    SKIPPED = "PolicySkipped"


class EventAction(StrEnum):
    """What happened to the object."""

    BLOCKED = "Resource Blocked"
    PASSED = "Resource Passed"
    GENERATED = "Resource Generated"
    MUTATED = "Resource Mutated"
    CLEANED_UP = "Resource Cleaned Up"
    NONE = "None"


class Event(NamedTuple):
    """An event about an object."""

    regarding: Mapping[str, str]
    """A reference to the object: `apiVersion`, `kind`, `name`, `namespace`, `uid`."""
    reason: EventReason
    source: EventSource
    action: EventAction
    note: str
    related: Mapping[str, str] | None = None


_WRITERS: Mapping[EventSource, UserInfo] = {
    EventSource.ADMISSION: ADMISSION,
    EventSource.SCAN: REPORTS,
    EventSource.GENERATE: BACKGROUND,
    EventSource.MUTATE: BACKGROUND,
    EventSource.CLEANUP: CLEANUP,
}
_NORMAL = frozenset({EventReason.APPLIED, EventReason.SKIPPED})
_LONGEST_NOTE = 1024


class EventRecorder:
    """Writes Events shortly after they were recorded, in order."""

    def __init__(self, sim: SimulationContext) -> None:
        self._sim = sim
        self._waiting: list[Event] = []
        self._count = 0

    def record(self, *events: Event) -> None:
        """Write events soon; those about successes only if Kyverno's ConfigMap enables them."""
        recorded = [one for one in events if one.regarding.get("name") and self._is_recorded(one)]
        if recorded and not self._waiting:
            self._sim.scheduler.after(NOTICE, "events", self._write)
        self._waiting += recorded

    def _is_recorded(self, event: Event) -> bool:
        if event.reason.value in self._sim.settings.installation.omitted_events:
            return False
        if event.reason is not EventReason.APPLIED:
            return True
        data = settings_of(self._sim.store)
        actions = [one.strip() for one in str(data.get("successEventActions") or "").split(",")]
        return reports_successes(self._sim) and (actions == [""] or event.action in actions)

    def _write(self) -> None:
        waiting, self._waiting = self._waiting, []
        now = self._sim.clock.now()
        micros, stamp = int(now.timestamp() * 1_000_000), now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        for event in waiting:
            self._count += 1
            regarding = event.regarding
            fit = re.sub(r"[^a-z0-9.\-]", "-", regarding["name"].lower())
            start, end = "" if fit[:1].isalnum() else "a", "" if fit[-1:].isalnum() else "z"
            raw = event.note.encode()
            if len(raw) > _LONGEST_NOTE:
                raw = raw[: _LONGEST_NOTE - 3] + b"..."
            obj = {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {
                    # Events of the same instant have different names, as with a real clock.
                    "name": f"{start}{fit}{end}.{micros * 1000 + self._count:x}",
                    "namespace": regarding.get("namespace") or "default",
                },
                "involvedObject": dict(regarding),
                "reason": event.reason.value,
                "message": raw.decode(errors="ignore"),
                "source": {},
                "firstTimestamp": None,
                "lastTimestamp": None,
                "type": "Normal" if event.reason in _NORMAL else "Warning",
                "eventTime": stamp,
                "action": event.action.value,
                "reportingComponent": event.source.value,
                "reportingInstance": f"{event.source}-0",
                **({"related": dict(event.related)} if event.related else {}),
            }
            self._sim.client(_WRITERS[event.source]).create(obj)


def reports_successes(sim: SimulationContext) -> bool:
    """Return whether Kyverno's ConfigMap enables events about successes."""
    return str(settings_of(sim.store).get("generateSuccessEvents") or "") == "true"


def reference(obj: KubernetesObject) -> Mapping[str, str]:
    """Return the reference to an object in events, without missing parts."""
    fields = {**reference_to(obj), "namespace": object_key(obj).namespace}
    names = ("apiVersion", "kind", "name", "namespace", "uid")
    return {name: fields[name] for name in names if fields[name]}


def policy_reference(policy: Policy, sim: SimulationContext) -> Mapping[str, str]:
    """Return the reference to a policy, with its uid if it is still stored."""
    key = ObjectKey(policy.facts.api_version, policy.kind, policy.namespace, policy.name)
    known: Mapping[str, str] = sim.store.cached(_stored_reference, key)
    return known


def _stored_reference(store: ObjectStore, key: ObjectKey) -> Mapping[str, str]:
    meta = {"name": key.name, "namespace": key.namespace}
    named = {"apiVersion": key.api_version, "kind": key.kind, "metadata": meta}
    return reference(store.get(*key) or named)


# The texts of events: one function for each kind of event.
# Source of the texts: upstream pkg/event/events.go.

_VIOLATED = frozenset({RuleStatus.FAIL, RuleStatus.ERROR})


def violation_of_policy(
    sim: SimulationContext,
    source: EventSource,
    response: PolicyResponse,
    result: RuleResult,
    *,
    blocked: bool,
) -> Event:
    """Return the event about a policy for a failed rule."""
    marks = " (blocked)" if blocked else ""
    detail = f"; {result.message}" if result.message else ""
    note = (
        f"{object_key(response.object).title}: [{result.rule.name}] {result.status}{marks}{detail}"
    )
    regarding, related = policy_reference(response.policy, sim), reference(response.object)
    action = EventAction.BLOCKED if blocked else EventAction.PASSED
    return Event(regarding, EventReason.VIOLATION, source, action, note, related)


def violation_of_object(source: EventSource, response: PolicyResponse, result: RuleResult) -> Event:
    """Return the event about an object for a failed rule."""
    note = f"policy {response.policy.name}/{result.rule.name} {result.status}: {result.message}"
    regarding = reference(response.object)
    return Event(regarding, EventReason.VIOLATION, source, EventAction.PASSED, note)


def applied(
    sim: SimulationContext, source: EventSource, response: PolicyResponse
) -> Iterator[Event]:
    """Yield the event about a policy that passed or mutated an object, if it is enabled."""
    regarding = policy_reference(response.policy, sim)
    if not reports_successes(sim):
        return
    sections = {one.facts.section for one in response.policy.rules} - {""}
    checks = bool(sections & {"validate", "verifyImages"})
    if not sections:
        # Mutating policies are only evaluated as checks in scans.
        checks = response.phase is not Phase.MUTATE
        checks = checks or response.policy.kind == "MutatingAdmissionPolicy"
    named = object_key(response.object).title
    note = f"{named}: pass" if checks else f"{named} is successfully mutated"
    action = EventAction.PASSED if checks else EventAction.MUTATED
    yield Event(regarding, EventReason.APPLIED, source, action, note, reference(response.object))


def excepted(
    sim: SimulationContext, source: EventSource, response: PolicyResponse, result: RuleResult
) -> Iterator[Event]:
    """Yield the events for a skipped rule: about each exception, then about the policy."""
    policy, rule, related = response.policy, result.rule.name, reference(response.object)
    key = object_key(response.object)
    skipped = "/".join(part for part in (key.kind, key.namespace, key.name) if part)
    note = f"resource {skipped} was skipped from policy rule {policy.key}/{rule}"
    group = split_api_version(policy.facts.api_version)[0]
    version = "v2" if group == "kyverno.io" else "v1beta1"
    notes = []
    for exception in result.exceptions:
        namespace, _, name = exception.rpartition("/")
        place = ObjectKey(f"{group}/{version}", "PolicyException", namespace, name)
        notes.append((_stored_reference(sim.store, place), note))
    names = ", ".join(result.exceptions)
    note = f"resource {skipped} was skipped from rule {rule} due to policy exceptions {names}"
    for regarding, text in (*notes, (policy_reference(policy, sim), note)):
        yield Event(regarding, EventReason.SKIPPED, source, EventAction.PASSED, text, related)


def of_response(
    sim: SimulationContext, source: EventSource, response: PolicyResponse, *, blocked: bool
) -> Iterator[Event]:
    """Yield the events for a policy's response to a request, or to a result reported like one.

    upstream: pkg/webhooks/utils/event.go
    """
    statuses = {one.status for one in response.results}
    if statuses & _VIOLATED:
        for result in response.results:
            if result.status in _VIOLATED:
                yield violation_of_policy(sim, source, response, result, blocked=blocked)
            # If any rule failed, the passed ones are reported, too.
            if not blocked:
                yield violation_of_object(source, response, result)
    elif RuleStatus.SKIP not in statuses:
        yield from applied(sim, source, response)
    elif not blocked:
        for result in response.results:
            if result.exceptions:
                yield from excepted(sim, source, response, result)


def generated(
    source: EventSource, policy: Policy, rule: str, downstream: KubernetesObject
) -> Event:
    """Return the event about an object that a generate rule created or updated."""
    key = object_key(downstream)
    named = f"{key.kind} {key.name}"
    note = f"Created {named} as a result of applying policy {policy.key}/{rule}"
    return Event(reference(downstream), EventReason.APPLIED, source, EventAction.NONE, note)


def background_succeeded(
    sim: SimulationContext, source: EventSource, policy: Policy, objects: Iterable[KubernetesObject]
) -> Iterator[Event]:
    """Yield the events about a policy for objects that the background controller wrote for it."""
    mutates = source is EventSource.MUTATE
    note = "resource mutated" if mutates else "resource generated"
    action = EventAction.MUTATED if mutates else EventAction.GENERATED
    regarding = policy_reference(policy, sim)
    for obj in objects:
        yield Event(regarding, EventReason.APPLIED, source, action, note, reference(obj))


def background_failed(
    sim: SimulationContext, source: EventSource, policy: Policy, why: str, *, rule: str = ""
) -> Event:
    """Return the event about a policy for a failure of the background controller.

    `rule` is "" if it is not about a single rule.
    """
    named = f"{policy.name}/{rule}" if rule else policy.name
    note = f"policy {named} error: {why}"
    return Event(policy_reference(policy, sim), EventReason.ERROR, source, EventAction.NONE, note)


def left_to_the_server(
    sim: SimulationContext, policy: Policy, made: Iterable[ObjectKey]
) -> Iterator[Event]:
    """Yield the events about a policy for its generated admission policy and binding."""
    regarding = policy_reference(policy, sim)
    for key in made:
        named = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", key.kind).lower()
        note = f"successfully generated {named} {key.name} from policy {policy.name}"
        related = {"apiVersion": key.api_version, "kind": key.kind, "name": key.name}
        source, action = EventSource.GENERATE, EventAction.GENERATED
        yield Event(regarding, EventReason.APPLIED, source, action, note, related)


def cleaned_up(
    sim: SimulationContext, policy: Policy, obj: KubernetesObject, problem: str = ""
) -> Event:
    """Return the event about a cleanup policy for a deleted object, or for a failed deletion."""
    key = object_key(obj)
    named = f"{key.kind}/{key.namespace}/{key.name}"
    older = policy.kind in CLEANUP_POLICIES.kinds
    note = f"successfully {'cleaned up' if older else 'deleted'} the target resource {named}"
    reason, action = EventReason.APPLIED, EventAction.CLEANED_UP
    if problem:
        verb = "clean up" if older else "delete"
        note = f"failed to {verb} the target resource {named}: {problem}"
        reason, action = EventReason.ERROR, EventAction.NONE
    regarding = policy_reference(policy, sim)
    return Event(regarding, reason, EventSource.CLEANUP, action, note, reference(obj))
