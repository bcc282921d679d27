"""A payload through the policies of its mode: nothing is matched, and nothing changes it.

upstream: cmd/cli/kubectl-kyverno/processor (policy_processor.go, authz_processor.go)
"""

from collections.abc import Mapping
from types import MappingProxyType

from kyvsim.compile import PolicySet
from kyvsim.compile.compiled import CompiledPolicy
from kyvsim.context import request_context
from kyvsim.engine.phases import STAGES
from kyvsim.engine.policy import result_of
from kyvsim.engine.rule import RuleInput, evaluate_rule
from kyvsim.engine.world import World
from kyvsim.match import match_facts
from kyvsim.model.payload import Payload
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.model.result import EngineResponse, PolicyResponse, RuleResult, Stage

_NOBODY: Mapping[str, str] = MappingProxyType({"kind": "Payload"})
"""Stands where a request has its object."""


def evaluate_payload(policies: PolicySet, payload: Payload, world: World) -> EngineResponse:
    """Return what the policies that judge such payloads say about one."""
    request = AdmissionRequest(Operation.CREATE, _NOBODY, is_payload=True)
    facts = match_facts(request, _NOBODY, {})
    responses: list[PolicyResponse] = []
    if facts is not None:
        scope = request_context(request, world.outside_before(None), {})
        given = RuleInput(request, facts, scope, payload.data)
        for stage in STAGES:
            found = (_said(policy, stage, payload, given) for policy in policies.policies)
            responses += [one for one in found if one is not None]
    return EngineResponse(payload.data, payload.data, tuple(responses), payload.document)


def _said(
    policy: CompiledPolicy, stage: Stage, payload: Payload, given: RuleInput
) -> PolicyResponse | None:
    results: list[RuleResult] = []
    for rule in policy.rules:
        body = rule.payloads.get(payload.mode)
        if body is None or rule.stage is not stage:
            continue
        outcome = evaluate_rule(rule._replace(body=body, matches=lambda _: True), given)
        if outcome is not None:
            results.append(result_of(rule, outcome, payload.data, results))
    if not results:
        return None
    return PolicyResponse(policy.policy, stage.phase, payload.data, tuple(results))
