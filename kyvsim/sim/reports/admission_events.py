"""Events on what admission found.

Source of the rules: upstream pkg/webhooks/utils/event.go, pkg/webhooks/resource/handlers.go.
"""

from collections.abc import Iterable, Iterator

from kyvsim.kube.objects import object_key
from kyvsim.model.result import Phase, PolicyResponse
from kyvsim.sim.kyverno.admission import Admission
from kyvsim.sim.kyverno.event_notes import of_response
from kyvsim.sim.kyverno.events import Event, Source
from kyvsim.sim.kyverno.failure_action import enforces
from kyvsim.sim.kyverno.installed import Kyverno
from kyvsim.sim.parts import Parts


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
            yield from of_response(parts, Source.ADMISSION, response, blocked=blocked)


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
