"""Reports on what policies said at admission.

Source of the rules: upstream pkg/webhooks/resource/validation (validation.go, utils.go),
pkg/webhooks/resource/mutation.
"""

from kyvsim.kube.objects import metadata, text_field
from kyvsim.model.request import Operation
from kyvsim.sim.kyverno.admission import Admission
from kyvsim.sim.kyverno.ephemeral_reports import write_report
from kyvsim.sim.kyverno.installed import Kyverno
from kyvsim.sim.kyverno.report_collector import EPHEMERAL
from kyvsim.sim.latency import NOTICE

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
