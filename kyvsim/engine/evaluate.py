"""Evaluates a request in all stages: the code path of every command."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final

from kyvsim.engine.compile import (
    CompiledRule,
    FastResult,
    KindPlans,
    PolicyRules,
    PolicySet,
    UnresolvedRules,
)
from kyvsim.engine.compile.compiled import CompiledPolicy
from kyvsim.engine.compile.plan import StagePlan
from kyvsim.engine.compile.policy_set import Plan
from kyvsim.engine.context import request_context
from kyvsim.engine.match import match_facts
from kyvsim.engine.missing_input import may_lack_input
from kyvsim.engine.policy import (
    RuleInput,
    evaluate_rule,
    faulted,
    open_for,
    open_request,
    reopened,
    result_of,
    run_policy_rules,
    within_request,
)
from kyvsim.engine.world import World
from kyvsim.kubernetes.objects import KubernetesObject, object_key, text_field
from kyvsim.model.policy import Rule
from kyvsim.model.request import AdmissionRequest, Operation, Payload
from kyvsim.model.result import (
    EngineResponse,
    PassingPolicies,
    Phase,
    PolicyResponse,
    RuleResult,
    RuleStatus,
    Stage,
)

# The order in which the stages of a request run; defined only here.

STAGES = (
    Stage.MUTATE,
    Stage.VERIFY_IMAGES,
    Stage.VALIDATE,
    Stage.NATIVE_MUTATE,
    Stage.CEL_MUTATE,
    Stage.NATIVE_VALIDATE,
    Stage.CEL_VALIDATE,
    Stage.CEL_GENERATE,
    Stage.GENERATE,
    Stage.CEL_VERIFY_IMAGES,
    Stage.CEL_DELETE,
    Stage.DELETE,
)
"""Each policy sees the mutations of the previous policy and of the previous stage.

Deletion uses objects as given, since it runs at a different time.
upstream: cmd/cli/kubectl-kyverno/processor/policy_processor.go
"""


# The rules that apply when an object is deleted.
#
# Source of the rules: upstream pkg/webhooks/resource (mutation and generation), pkg/webhooks/utils.

_LISTING = frozenset({Stage.MUTATE, Stage.GENERATE})
"""Stages of rules that must list DELETE to apply; in other stages the match block decides."""


def lists_deletion(rule: Rule) -> bool:
    """Return whether a rule lists the operation DELETE. upstream: pkg/webhooks/utils/match.go."""
    return any("DELETE" in one.operations for one in rule.tree.match.filters)


def acting_on_deletion(stage_rules: Iterable[PolicyRules], stage: Stage) -> Iterator[PolicyRules]:
    """Yield the policies of a stage with those of their rules that apply to a deletion.

    A deleted object is not changed; other objects are changed or generated if a rule lists DELETE.
    """

    def acts(one: CompiledRule) -> bool:
        if stage.phase is Phase.MUTATE and not one.rule.mutates_existing:
            return False
        return stage not in _LISTING or lists_deletion(one.rule)

    for policy_rules in stage_rules:
        rules = tuple(filter(acts, policy_rules.rules))
        if rules:
            yield (
                policy_rules if rules == policy_rules.rules else policy_rules._replace(rules=rules)
            )


# Results that are known before a rule is evaluated, from a plan or a cache.
#
# Plans support creations of whole objects, without given values.

_REPLACED: Final = frozenset({"object", "operation"})
"""Fields of a request that proofs read."""


def fast_results(
    of_kind: KindPlans, stage: Stage, request: AdmissionRequest, world: World
) -> Iterable[FastResult]:
    """Return the known results of a stage's rules for a request, and the unresolved rules."""
    stage_rules = of_kind.stages[stage]
    if request.object is None:
        return map(UnresolvedRules, acting_on_deletion(stage_rules, stage))
    if stage.phase is not Phase.VALIDATE or world.values or not _is_plain(request):
        return map(UnresolvedRules, stage_rules)

    obj = request.object
    kind = text_field(obj, "apiVersion"), text_field(obj, "kind")
    plan = of_kind.plan(stage, kind, partial(_make_plan, stage.phase, stage_rules, request, world))
    return map(UnresolvedRules, stage_rules) if plan is None else plan(obj)


def _make_plan(
    phase: Phase, stage_rules: Sequence[PolicyRules], request: AdmissionRequest, world: World
) -> Plan | None:
    given = open_request(request, world, "")
    if given is None:
        return None
    return StagePlan(phase, stage_rules, given.facts, given.scope).fast_results


def shown_passes(
    of_kind: KindPlans, stage: Stage, request: AdmissionRequest, world: World
) -> Callable[[PolicyRules], tuple[RuleResult, ...] | None]:
    """Return a function from the rules of a policy to their results if proved to pass, or None.

    It is for callers that run complete `PolicyRules` themselves.
    """
    if stage not in of_kind.stages:
        return lambda _: None
    found = {
        shown.policy: shown.results
        for one in fast_results(of_kind, stage, request, world)
        if isinstance(one, PassingPolicies)
        for shown in one.passes
    }
    if not found:
        return lambda _: None
    whole = {policy_rules.policy.policy: policy_rules for policy_rules in of_kind.stages[stage]}

    def shown_of(policy_rules: PolicyRules) -> tuple[RuleResult, ...] | None:
        policy = policy_rules.policy.policy
        return found.get(policy) if whole.get(policy) is policy_rules else None

    return shown_of


def passing(
    policy_rules: PolicyRules,
    phase: Phase,
    obj: KubernetesObject | None,
    results: tuple[RuleResult, ...],
) -> PolicyResponse:
    """Return the response of a policy all of whose rules pass."""
    return PolicyResponse(policy_rules.policy.policy, phase, obj, results)


def _is_plain(request: AdmissionRequest) -> bool:
    return (
        request.operation is Operation.CREATE
        and request.object.__class__ is dict
        and not request.subresource
        and request.parent_kind is None
        and (request.details is None or _REPLACED.isdisjoint(request.details))
    )


def evaluate(
    policies: PolicySet,
    request: AdmissionRequest,
    world: World,
    stages: Iterable[Stage] = STAGES,
    *,
    given: RuleInput | None = None,
) -> EngineResponse:
    """Return the policies' results for a request, and the resulting object.

    A pure function: the same arguments give the same response. `given` is the result of
    `open_request` for this request, if the caller evaluates several sets of policies on it.
    """
    policies.begin_resource()
    answers: list[PolicyResponse | PassingPolicies] = []
    current = request
    of_kind = policies.of_kind(
        request.parent_kind[2] if request.parent_kind else text_field(request.subject, "kind")
    )
    for stage in filter(of_kind.stages.__contains__, stages):
        source, given = (request, None) if stage.phase is Phase.DELETE else (current, given)
        begun = source
        for prospect in fast_results(of_kind, stage, source, world):
            if not isinstance(prospect, UnresolvedRules):
                answers.append(prospect)
                continue
            # Given values differ between policies; without them all policies share one input, until
            # the object changes.
            given = (
                open_for(prospect.policy_rules.policy.policy, source, world)
                if given is None or world.values
                else (given if given.request is source else reopened(given, source, world))
            )
            if given is None:
                continue
            seen = given
            if stage is Stage.CEL_MUTATE and source is not begun:
                seen = within_request(given, begun, world)
            response = _evaluated(prospect, stage.phase, seen, world, subject=source.subject)
            if response.results or response.silent:
                answers.append(response)
            if response.changed:
                source = current = current._replace(object=response.object)
            if stage is Stage.CEL_MUTATE and world.targets:
                world, given = _with_targets_after(world, response), None
    return EngineResponse(request.subject, current.object, tuple(answers), request=request)


def _evaluated(
    prospect: UnresolvedRules,
    phase: Phase,
    given: RuleInput,
    world: World,
    *,
    subject: KubernetesObject,
) -> PolicyResponse:
    policy_rules, settled, cache = prospect
    try:
        response = run_policy_rules(policy_rules, phase, given, world, settled=settled)
    except Exception as error:  # noqa: BLE001 — INVARIANT: a policy's failure is its error here
        return faulted(policy_rules, phase, subject, error)
    if not cache or response.silent:
        return response
    # Notes on missing inputs depend on more of an object than its results do.
    has_notes = any(
        one.status is not RuleStatus.PASS and may_lack_input(one.rule, one.status, given.object)
        for one in response.results
    )
    if has_notes:
        return response
    return response._replace(results=cache.keep(given.object, response.results))


def _with_targets_after(world: World, response: PolicyResponse) -> World:
    """Return a world with the targets that a policy changed: the next one changes them further."""
    after = {
        object_key(one.object): one.object
        for result in response.results
        for one in result.targets
        if one.changed
    }
    return world._replace(targets=[after.get(object_key(one), one) for one in world.targets])


# Evaluates a payload with the policies of its mode: nothing is matched or changed.
#
# upstream: policy_processor.go and authz_processor.go of cmd/cli/kubectl-kyverno/processor

_NOBODY: Mapping[str, str] = MappingProxyType({"kind": "Payload"})
"""Used in place of an object."""


def evaluate_payload(policies: PolicySet, payload: Payload, world: World) -> EngineResponse:
    """Return the results of the policies for a payload's mode."""
    request = AdmissionRequest(Operation.CREATE, _NOBODY, is_payload=True)
    facts = match_facts(request, _NOBODY, {})
    responses: list[PolicyResponse] = []
    if facts is not None:
        scope = request_context(request, world.outside_before(None), {})
        given = RuleInput(request, facts, scope, payload.data)
        for stage in STAGES:
            found = (
                _payload_response(policy, stage, payload, given) for policy in policies.policies
            )
            responses += [one for one in found if one is not None]
    return EngineResponse(payload.data, payload.data, tuple(responses), payload.document)


def _payload_response(
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
