"""What the cleanup controller says of cleanup policies and labels before they are stored.

Source of the rules: upstream cmd/cleanup-controller/handlers, pkg/validation (cleanuppolicy,
resource), api/kyverno/v2/cleanup_policy_types.go.
"""

from collections.abc import Iterator
from datetime import UTC, datetime

from kyvsim.kube.cron import next_times
from kyvsim.kube.objects import Json, object_key
from kyvsim.model.request import Operation
from kyvsim.sim.kyverno.denial import denial
from kyvsim.sim.kyverno.time_to_live import TtlError, end_of_life
from kyvsim.sim.server import Review, Verdict
from kyvsim.sim.server.request import ALLOWED

_WEBHOOK = "kyverno-cleanup-controller.kyverno.svc"
_KINDS = frozenset({"CleanupPolicy", "ClusterCleanupPolicy"})
_WRITES = frozenset({Operation.CREATE, Operation.UPDATE})
_USER_FIELDS = ("subjects", "roles", "clusterRoles")
_FIELDS = 5
_SOME_TIME = datetime(2026, 1, 1, tzinfo=UTC)
_UNREAD = "cleanup.kyverno.io/ttl label value cannot be parsed as any recognizable format"


class CleanupWebhook:
    """Refuses cleanup policies that are not sound, and warns of lifetimes that cannot be read."""

    def mutate(self, review: Review) -> Verdict:
        """Return that an object is left alone."""
        del review
        return ALLOWED

    def validate(self, review: Review) -> Verdict:
        """Return whether a policy is sound, else why not; warn of a label that is not."""
        obj, request = review.object, review.request
        if request.operation not in _WRITES or request.subresource or obj is None:
            return ALLOWED
        key = object_key(obj)
        if key.api_version.startswith("kyverno.io/") and key.kind in _KINDS:
            problems = list(_problems(obj.get("spec") or {}))
            told = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
            return Verdict(denied=denial(_WEBHOOK, told)) if problems else ALLOWED
        return _of_label(obj)


def _of_label(obj: Json) -> Verdict:
    try:
        end_of_life(obj, _SOME_TIME)
    except TtlError as error:
        return Verdict(warnings=(f"{_UNREAD} ({error})",))
    return ALLOWED


def _problems(spec: Json) -> Iterator[str]:
    for entry in spec.get("context") or ():
        for field, name in (("imageRegistry", "ImageRegistry"), ("configMap", "ConfigMap")):
            if entry.get(field) is not None:
                yield f"spec.context: Invalid value: {name} is not allowed in CleanUp Policy"
                break
    schedule = str(spec.get("schedule") or "")
    if not _is_schedule(schedule):
        why = "schedule spec in the cleanupPolicy is not in proper cron format"
        yield f'spec.schedule: Invalid value: "{schedule}": {why}'
    for block in ("match", "exclude"):
        written = spec.get(block) or {}
        filters = (*(written.get("any") or ()), *(written.get("all") or ()))
        if any(one.get(field) for one in filters for field in _USER_FIELDS):
            yield f"spec.{block}: Forbidden: user info is not allowed in a cleanup policy"


def _is_schedule(text: str) -> bool:
    """Return whether a schedule has the five fields or the name that upstream's parser wants."""
    if not text.startswith("@") and len(text.split()) != _FIELDS:
        return False
    try:
        next_times(text, _SOME_TIME, 1)
    except ValueError:
        return False
    return True
