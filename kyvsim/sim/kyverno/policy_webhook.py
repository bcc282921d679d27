"""What Kyverno says of its own kinds before they are stored.

Source of the rules: upstream pkg/webhooks/policy, pkg/validation/policy.
"""

from kyvsim.compile.checks import check_policy
from kyvsim.kube.objects import object_key
from kyvsim.model.request import Operation
from kyvsim.sim.kyverno.denial import denial
from kyvsim.sim.parts import Parts
from kyvsim.sim.server import Review, Verdict
from kyvsim.sim.server.request import ALLOWED

_WEBHOOK = "validate-policy.kyverno.svc"
_WRITES = frozenset({Operation.CREATE, Operation.UPDATE})


class PolicyWebhook:
    """Refuses policies that are not sound."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def mutate(self, review: Review) -> Verdict:
        """Return that a policy is left alone."""
        del review
        return ALLOWED

    def validate(self, review: Review) -> Verdict:
        """Return whether a policy is sound, else why not."""
        obj, request = review.object, review.request
        if request.operation not in _WRITES or request.subresource or obj is None:
            return ALLOWED
        key = object_key(obj)
        if not key.api_version.startswith("kyverno.io/"):
            return ALLOWED
        if key.kind not in {"ClusterPolicy", "Policy"}:
            return ALLOWED
        policy, problems = self._parts.readers.policy(obj)
        said = [one.message for one in problems] if policy is None else []
        if policy is not None:
            said = [one.message for one in check_policy(policy)]
        return Verdict(denied=denial(_WEBHOOK, said[0])) if said else ALLOWED
