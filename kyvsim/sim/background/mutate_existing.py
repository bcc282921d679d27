"""One attempt at an UpdateRequest for a mutate rule: its targets are patched and written.

Source of the rules and texts: upstream pkg/background/mutate/mutate.go.
"""

from collections.abc import Iterator

from kyvsim.compile import CompiledPolicy, Turn
from kyvsim.engine import World, run_turn
from kyvsim.engine.background import open_background
from kyvsim.kube.objects import Json, object_key
from kyvsim.model.obstacle import Obstacle, Reason
from kyvsim.model.policy import Policy
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.model.result import PatchedTarget, Phase, RuleResult, RuleStatus
from kyvsim.sim.background.attempt import Attempt, noted, obstacle_of, within
from kyvsim.sim.background.live_triggers import TriggerError, created_trigger, find
from kyvsim.sim.background.recorded_requests import request_of
from kyvsim.sim.background.served_kinds import ServedKinds
from kyvsim.sim.kyverno.event_notes import background_failed, background_succeeded
from kyvsim.sim.kyverno.events import Source
from kyvsim.sim.kyverno.installed import Kyverno
from kyvsim.sim.kyverno.users import BACKGROUND
from kyvsim.sim.server import ApiResponse, Purpose

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
        return noted(Reason.RULE_GONE, "the policy has no such rule any more")
    request = request_of(spec.get("context"), kyverno.parts.store)
    try:
        trigger = _trigger(spec.get("resource") or {}, request, kyverno)
    except TriggerError as error:
        return Attempt(notes=tuple(within("failed to get trigger resource: ", [error.obstacle])))
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
) -> Iterator[Obstacle]:
    """Write the targets as all rules of a policy leave them, and give what failed."""
    world = World(ServedKinds(kyverno.parts.store, policy.policy), account=BACKGROUND)
    given = open_background(policy.policy, trigger, request, world)
    rules = tuple(
        one for one in policy.rules if one.phase is Phase.MUTATE and one.rule.mutates_existing
    )
    response = run_turn(Turn(policy, rules), Phase.MUTATE, given, world)
    kyverno.reports.tell(trigger, [response])
    kyverno.reports.tell(trigger, [response])
    for result in response.results:
        if result.status in _FAILED:
            text = (
                f"failed to mutate existing resource, rule {result.rule.name}, "
                f"response {result.status.value}: {result.message}"
            )
            rule = f"{policy.policy.key}/{result.rule.name}"
            yield Obstacle(Reason.RULE_FAILED, text, wanted_by=rule)
        elif result.status is RuleStatus.PASS:
            yield from _write_all(result, policy.policy, kyverno)


def _write_all(result: RuleResult, policy: Policy, kyverno: Kyverno) -> Iterator[Obstacle]:
    """Write the targets of a rule, tell of each, and give what failed."""
    parts, source, rule = kyverno.parts, Source.MUTATE, result.rule.name
    for target in result.targets:
        named = f"{policy.key}/{rule}"
        error = _write(target, named, kyverno).error
        if error is None:
            told = background_succeeded(parts, source, policy, [target.object])
            kyverno.events.record(*told)
            continue
        kyverno.events.record(background_failed(parts, source, policy, error.message, rule=rule))
        yield obstacle_of(error, object_key(target.object))._replace(wanted_by=named)


def _write(target: PatchedTarget, rule: str, kyverno: Kyverno) -> ApiResponse:
    parts = kyverno.parts
    obj, part = target.object, target.subresource
    if part == "scale":
        obj = {**obj, "spec": {"replicas": (obj.get("spec") or {}).get("replicas")}}
    return parts.client(BACKGROUND, Purpose("mutate existing", (rule,))).update(obj, part)
