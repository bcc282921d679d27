"""Reports and events on what policies said at admission."""

from collections.abc import Iterable, Iterator

from kyvsim.kubernetes.objects import metadata, object_key, text_field
from kyvsim.model.request import Operation
from kyvsim.model.result import Phase, PolicyResponse
from kyvsim.simulator.kyverno.admission import Admission
from kyvsim.simulator.kyverno.denial import enforces
from kyvsim.simulator.kyverno.events import Event, Source, of_response
from kyvsim.simulator.kyverno.installed import Kyverno
from kyvsim.simulator.kyverno.reports import EPHEMERAL, write_report
from kyvsim.simulator.latency import NOTICE
from kyvsim.simulator.parts import Parts

# Reports on what policies said at admission.
#
# Source of the rules: upstream pkg/webhooks/resource/validation (validation.go, utils.go),
# pkg/webhooks/resource/mutation.

_ACTOR = "admission-reports"


def start_admission_reports(kyverno: Kyverno) -> None:
    """Let reports be written on what policies say of requests that they do not block.

    They are gathered from then on, and follow the policies there are.
    """
    parts, reports = kyverno.parts, kyverno.reports
    parts.store.watch(reports.observe, EPHEMERAL)
    kyverno.policies.changed.append(lambda policy, _: reports.renew(policy.key))
    kyverno.policies.dropped.append(lambda policy: reports.renew(policy.key))

    def tell(admission: Admission) -> None:
        if not _is_reported(admission):
            return
        subject = admission.request.object
        responses, base = admission.responses, admission.review.uid
        parts.scheduler.after(NOTICE, _ACTOR, lambda: write_report(parts, subject, responses, base))

    kyverno.admission.listeners.append(tell)


def _is_reported(admission: Admission) -> bool:
    request = admission.review.request
    if admission.blocked or admission.unreported or request.dry_run or not admission.responses:
        return False
    if request.operation is Operation.DELETE or request.key.kind == "Event":
        return False
    named = bool(text_field(metadata(admission.request.object), "uid"))
    # What has no uid is new where it is mutated, and no object of its own where it is validated.
    return named or admission.mutating


# Events on what admission found.
#
# Source of the rules: upstream pkg/webhooks/utils/event.go, pkg/webhooks/resource/handlers.go.


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
