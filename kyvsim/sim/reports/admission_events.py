"""Events on what admission found.

Source of the rules: upstream pkg/webhooks/utils/event.go, pkg/webhooks/resource/handlers.go.
"""

from collections.abc import Iterable, Iterator

from kyvsim.kube.objects import object_key
from kyvsim.model.result import Phase, PolicyResponse, RuleStatus
from kyvsim.sim.kyverno.admission import Admission
from kyvsim.sim.kyverno.event_notes import (
    applied,
    excepted,
    violation_of_object,
    violation_of_policy,
)
from kyvsim.sim.kyverno.events import Event, Source
from kyvsim.sim.kyverno.failure_action import enforces
from kyvsim.sim.kyverno.installed import Kyverno
from kyvsim.sim.parts import Parts

_VIOLATED = frozenset({RuleStatus.FAIL, RuleStatus.ERROR})


def start_admission_events(kyverno: Kyverno) -> None:
    """Let events tell what policies said at admission."""

    def tell(admission: Admission) -> None:
        if admission.responses:
            kyverno.events.record(*_events(kyverno.parts, admission))

    kyverno.admission.listeners.append(tell)


def _events(parts: Parts, admission: Admission) -> Iterator[Event]:
    blocked = admission.blocked
    for response in _told(parts, admission):
        if response.results and object_key(response.object).name:
            yield from _of_response(parts, response, blocked=blocked)


def _told(parts: Parts, admission: Admission) -> Iterable[PolicyResponse]:
    """Return the responses that are told: of a denied request only those that could deny it."""
    if not admission.blocked:
        return admission.responses
    if admission.mutating:
        return [one for one in admission.responses if one.phase is Phase.VERIFY_IMAGES]
    namespace = parts.store.get("v1", "Namespace", "", admission.request.namespace)
    return [
        response
        for response in admission.responses
        if any(enforces(response.policy, one.rule, namespace) for one in response.results)
    ]


def _of_response(parts: Parts, response: PolicyResponse, *, blocked: bool) -> Iterator[Event]:
    statuses = {one.status for one in response.results}
    if statuses & _VIOLATED:
        for result in response.results:
            if result.status in _VIOLATED:
                yield violation_of_policy(
                    parts, Source.ADMISSION, response, result, blocked=blocked
                )
            # Rules that passed are told along with those that did not.
            if not blocked:
                yield violation_of_object(Source.ADMISSION, response, result)
    elif RuleStatus.SKIP not in statuses:
        yield applied(parts, Source.ADMISSION, response)
    elif not blocked:
        for result in response.results:
            if result.exceptions:
                yield from excepted(parts, Source.ADMISSION, response, result)
