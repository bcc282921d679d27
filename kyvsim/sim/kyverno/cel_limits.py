"""What of policies in CEL a simulated cluster does not do, although it heeds their kinds."""

from collections.abc import Iterator

from kyvsim.kube.objects import Json, object_key
from kyvsim.sim.kyverno.policy_cache import is_cel_policy

_USUAL_MODE = "Kubernetes"


def not_done(obj: Json) -> Iterator[str]:
    """Yield what of a policy as it is stored counts for nothing here."""
    if not is_cel_policy(object_key(obj)):
        return
    spec = obj.get("spec") or {}
    autogen, evaluation = spec.get("autogen") or {}, spec.get("evaluation") or {}
    for field, kind in (
        ("validatingAdmissionPolicy", "ValidatingAdmissionPolicy"),
        ("mutatingAdmissionPolicy", "MutatingAdmissionPolicy"),
    ):
        if (autogen.get(field) or {}).get("enabled") is True:
            yield f"the {kind} that is generated from it"
    if (evaluation.get("mode") or _USUAL_MODE) != _USUAL_MODE:
        yield f"its mode {evaluation['mode']}"
    existing = (evaluation.get("mutateExisting") or {}).get("enabled") is True
    if existing or spec.get("targetMatchConstraints"):
        yield "its mutation of existing objects"
