"""What of policies with expressions in CEL a simulated cluster does not do.

Their kinds are heeded all the same.
"""

from collections.abc import Iterator

from kyvsim.kube.objects import Json, object_key
from kyvsim.sim.kyverno.policy_cache import is_cel_policy

_USUAL_MODE = "Kubernetes"


def not_done(obj: Json) -> Iterator[str]:
    """Yield what of a policy as it is stored counts for nothing here."""
    key = object_key(obj)
    if not is_cel_policy(key):
        return
    spec = obj.get("spec") or {}
    evaluation = spec.get("evaluation") or {}
    if (evaluation.get("mode") or _USUAL_MODE) != _USUAL_MODE:
        yield f"its mode {evaluation['mode']}"
