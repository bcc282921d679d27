"""One attempt at an UpdateRequest for a mutate rule: its targets are patched and written.

Source of the rules and texts: upstream pkg/background/mutate/mutate.go.
"""

from collections.abc import Iterator

from kyvsim.compile import CompiledPolicy, Step
from kyvsim.engine import World, open_background, run_step
from kyvsim.kube.objects import Json
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.model.result import Phase, RuleResult, RuleStatus
from kyvsim.sim.kyverno.generate import Attempt
from kyvsim.sim.kyverno.installed import Kyverno
from kyvsim.sim.kyverno.live_triggers import TriggerError, created_trigger, find
from kyvsim.sim.kyverno.recorded_requests import request_of
from kyvsim.sim.kyverno.users import BACKGROUND

_FAILED = frozenset({RuleStatus.FAIL, RuleStatus.ERROR, RuleStatus.WARN})


def attempt_mutation(update_request: Json, kyverno: Kyverno) -> Attempt:
    """Patch the targets of the rule that an UpdateRequest names, and those of its sisters.

    That the trigger is not there ends the work, without another attempt, as upstream has it.
    """
    spec = update_request["spec"]
    policy = kyverno.lister.get(spec["policy"])
    rules = policy.policy.rules if policy else ()
    if policy is None or not any(
        _is_meant(one.name, spec) for one in rules if one.mutates_existing
    ):
        return Attempt(note="the policy has no such rule any more")
    request = request_of(spec.get("context"), kyverno.parts.store)
    try:
        trigger = _trigger(spec.get("resource") or {}, request, kyverno)
    except TriggerError as error:
        return Attempt(note=f"failed to get trigger resource: {error}")
    return Attempt(tuple(_mutate(policy, trigger, request, kyverno)))


def _is_meant(name: str, spec: Json) -> bool:
    return bool(name == spec.get("rule"))


def _trigger(trigger: Json, request: AdmissionRequest | None, kyverno: Kyverno) -> Json:
    store = kyverno.parts.store
    if request is None:
        return find(trigger, None, store)
    if request.operation is Operation.CREATE:
        return created_trigger(trigger, request, store)
    return request.object or request.old_object


def _mutate(
    policy: CompiledPolicy, trigger: Json, request: AdmissionRequest | None, kyverno: Kyverno
) -> Iterator[str]:
    """Write the targets as all rules of a policy leave them, and give what failed."""
    world = World(kyverno.parts.store)
    given = open_background(policy.policy, trigger, request, world)
    rules = tuple(
        one for one in policy.rules if one.phase is Phase.MUTATE and one.rule.mutates_existing
    )
    response = run_step(Step(policy, rules), Phase.MUTATE, given, world)
    for result in response.results:
        if result.status in _FAILED:
            yield (
                f"failed to mutate existing resource, rule {result.rule.name}, "
                f"response {result.status.value}: {result.message}"
            )
        elif result.status is RuleStatus.PASS:
            yield from _write(result, policy, kyverno)


def _write(result: RuleResult, policy: CompiledPolicy, kyverno: Kyverno) -> Iterator[str]:
    parts = kyverno.parts
    for target in result.targets:
        response = parts.client(BACKGROUND).update(target.object, target.subresource)
        event = parts.timeline.events[-1]
        parts.timeline.amend(event, policies=(f"{policy.policy.key}/{result.rule.name}",))
        parts.timeline.retell(event, action="mutate existing")
        if response.error is not None:
            yield response.error.message
