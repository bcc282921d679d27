"""`webhookConfiguration.matchConditions`: whether the API server asks a policy's webhook at all.

A policy with conditions has a webhook of its own. Its conditions are evaluated by the API server,
before Kyverno hears of a request.

Source of the rules: k8s.io/apiserver pkg/admission/plugin/webhook (matchconditions/matcher.go,
generic/webhook.go), upstream pkg/controllers/webhook/utils_webhook.go.
"""

from functools import lru_cache

from kyvsim.cel import BudgetError, CelError, Program, compile_expression
from kyvsim.cel.kubernetes import kubernetes_environment
from kyvsim.cel.types import BOOL
from kyvsim.model.policy import Policy
from kyvsim.model.request import AdmissionRequest
from kyvsim.rules.cel_request import request_value


class ConditionError(Exception):
    """Conditions that cannot be evaluated, none of which is false; the text is the API server's."""


def is_asked(policy: Policy, request: AdmissionRequest) -> bool:
    """Return whether the webhook of a policy is asked about a request; raise `ConditionError`."""
    conditions = policy.facts.webhook_conditions
    if not conditions:
        return True
    values = [request.object, request.old_object, None, request_value(request), {}]
    faults: list[str] = []
    for text in conditions:
        try:
            if _program(text).evaluate(values) is False:
                return False
        except (CelError, BudgetError) as error:
            faults.append(f"expression '{text}' resulted in error: {error}")
    if faults:
        raise ConditionError(faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]")
    return True


def concerns(policy: Policy, request: AdmissionRequest) -> bool:
    """Return whether a policy looks at a request, or an object, by its conditions.

    upstream: pkg/engine/internal/match.go, which has every evaluation ask them.
    """
    try:
        return is_asked(policy, request)
    except ConditionError:
        return False


@lru_cache(maxsize=256)
def _program(text: str) -> Program:
    return compile_expression(text, kubernetes_environment(), BOOL)
