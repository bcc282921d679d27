"""Conditions of webhooks: whether the API server asks Kyverno about a request at all.

A policy with such conditions has a webhook of its own. They are evaluated by the API server, before
Kyverno hears of a request.

Source of the rules: k8s.io/apiserver pkg/admission/plugin/webhook (matchconditions/matcher.go,
generic/webhook.go), upstream pkg/controllers/webhook/utils_webhook.go.
"""

from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from typing import Any

from kyvsim.cel import BudgetError, CelError, Program, compile_expression
from kyvsim.cel.kubernetes import kubernetes_environment
from kyvsim.cel.types import BOOL
from kyvsim.languages.cel_request import authorizer_of, request_value
from kyvsim.languages.tracing import traced_program
from kyvsim.model.policy import Policy
from kyvsim.model.ports import Outside
from kyvsim.model.request import AdmissionRequest
from kyvsim.model.tracing import TraceContext


class ConditionError(Exception):
    """Conditions that cannot be evaluated, none of which is false; the text is the API server's."""


def all_hold(texts: Iterable[str], request: AdmissionRequest, outside: Outside) -> bool:
    """Return whether conditions hold for a request; raise `ConditionError`.

    One that is false is enough, whatever the others are.
    """
    values = _values(request, outside)
    faults: list[str] = []
    for text in texts:
        try:
            if _program(text).evaluate(values) is False:
                return False
        except (CelError, BudgetError) as error:
            faults.append(f"expression '{text}' resulted in error: {error}")
    if faults:
        raise ConditionError(faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]")
    return True


def _values(request: AdmissionRequest, outside: Outside) -> list[Any]:
    return [
        request.object,
        request.old_object,
        None,
        request_value(request),
        {},
        *authorizer_of(request, outside),
    ]


def tell_conditions(
    texts: Iterable[str], request: AdmissionRequest, outside: Outside, trace: TraceContext
) -> None:
    """Tell who follows what conditions, which stand at a probe's place, and their parts come to.

    What decides is the last that is told.
    """
    values = _values(request, outside)
    for number, text in enumerate(texts):
        program = traced_program(_program(text), trace.at(number, "expression"))
        with suppress(CelError, BudgetError):
            if program.evaluate(values) is False:
                return


def is_asked(
    policy: Policy, texts: Iterable[str], request: AdmissionRequest, outside: Outside
) -> bool:
    """Return whether the webhook of a policy is asked.

    Where a condition cannot be evaluated it is not, or `ConditionError` is raised if the policy's
    failures close.
    """
    try:
        return all_hold(texts, request, outside)
    except ConditionError:
        if policy.facts.fails_closed:
            raise
        return False


def texts_of(policy: Policy) -> list[str]:
    """Return the conditions that a policy sets for its webhook."""
    return [text for _, text in policy.facts.webhook_conditions]


def concerns(policy: Policy, request: AdmissionRequest, outside: Outside) -> bool:
    """Return whether a policy looks at a request, or an object, by the conditions that it sets.

    upstream: pkg/engine/internal/match.go, which has every evaluation ask them.
    """
    try:
        return not policy.facts.webhook_conditions or all_hold(texts_of(policy), request, outside)
    except ConditionError:
        return False


@lru_cache(maxsize=512)
def _program(text: str) -> Program:
    return compile_expression(text, kubernetes_environment(authorizer=True), BOOL)
