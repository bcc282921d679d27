"""One attempt at an UpdateRequest for a policy in CEL that generates.

Source of the rules and texts: upstream pkg/background/gpol/generate_controller.go.
"""

from typing import NamedTuple

from kyvsim.compile import CompiledPolicy
from kyvsim.compile.compiled import Outcome
from kyvsim.engine import World, creation_of, open_request
from kyvsim.engine.policy import evaluate_rule
from kyvsim.kube.objects import Json, object_key, text_field
from kyvsim.languages.cel.facts import generating_facts
from kyvsim.model.obstacle import Obstacle, Reason
from kyvsim.model.request import AdmissionRequest
from kyvsim.model.result import Phase, PolicyResponse, RuleResult, RuleStatus
from kyvsim.sim.background.attempt import Attempt, failed, noted, within
from kyvsim.sim.background.generated_objects import Cause, GeneratedObjects
from kyvsim.sim.background.live_triggers import TriggerError, live_trigger
from kyvsim.sim.background.recorded_requests import request_of
from kyvsim.sim.kyverno.configuration import Filtered, is_filtered
from kyvsim.sim.kyverno.event_notes import (
    background_failed,
    background_succeeded,
    excepted,
    generated,
)
from kyvsim.sim.kyverno.events import Source
from kyvsim.sim.kyverno.installed import Kyverno
from kyvsim.sim.kyverno.users import BACKGROUND

_FAILED = frozenset({RuleStatus.ERROR, RuleStatus.FAIL})


class _Given(NamedTuple):
    """One entry of an UpdateRequest, with its trigger as it is now."""

    policy: CompiledPolicy
    context: Json
    trigger: Json
    request: AdmissionRequest

    @property
    def uid(self) -> str:
        """The trigger's uid, by which its objects are found again."""
        return text_field(self.context["trigger"], "uid")


def attempt_generate_in_cel(update_request: Json, kyverno: Kyverno) -> Attempt:
    """Generate or delete what an UpdateRequest asks for."""
    spec = update_request["spec"]
    policy = spec["policy"]
    request = request_of(spec.get("context"), kyverno.parts.store)
    problems: list[Obstacle] = []
    notes: list[Obstacle] = []
    for context in spec.get("ruleContext") or ():
        if context.get("deleteDownstream"):
            kyverno.downstreams.delete(policy, text_field(context["trigger"], "uid"))
            continue
        attempt = _attempt(policy, context, request, kyverno)
        problems += (one._replace(wanted_by=policy) for one in attempt.problems)
        notes += (one._replace(wanted_by=policy) for one in attempt.notes)
    return Attempt(tuple(problems), tuple(notes))


def _attempt(
    policy: str, context: Json, request: AdmissionRequest | None, kyverno: Kyverno
) -> Attempt:
    store = kyverno.parts.store
    try:
        trigger = live_trigger(context.get("trigger") or {}, request, store)
    except TriggerError as error:
        why = f"gpol {policy} failed: failed to fetch trigger resource: "
        return Attempt(tuple(within(why, [error.obstacle])))
    key = object_key(trigger)
    if is_filtered(Filtered(key.api_version, key.kind, "", key.namespace, key.name), store):
        return noted(Reason.NOT_MET, "nothing to do: a resource filter keeps the trigger out")
    found = kyverno.generating.get(policy)
    if found is None:
        return failed(Reason.RULE_GONE, f"gpol {policy} failed: the policy is gone")
    asked = request or creation_of(trigger, None, None)
    return _generate(_Given(found, context, trigger, asked), kyverno)


def _generate(given: _Given, kyverno: Kyverno) -> Attempt:
    """Evaluate the policy, which writes what it generates, and tell how that ended."""
    policy, watch = given.policy.policy, kyverno.downstreams
    restores, synchronizes = (
        bool(given.context.get(name)) for name in ("cacheRestore", "synchronize")
    )
    objects = GeneratedObjects(Cause(policy, given.request, restores), kyverno.parts)
    world = World(kyverno.parts.store, account=BACKGROUND, writes=objects.write)
    opened = open_request(given.request, world, policy.name)
    outcome = evaluate_rule(given.policy.rules[0], opened) if opened else None
    if outcome is None:
        if synchronizes:
            watch.delete(policy.key, given.uid)
        return noted(Reason.NOT_MET, "nothing to do: the policy does not match")
    outcome = outcome._replace(generated=tuple(objects.written))
    _tell(given, outcome, kyverno)
    if outcome.status in _FAILED:
        return _failure(given, outcome, objects.obstacle)
    keeps = outcome.status is RuleStatus.PASS and generating_facts(policy).synchronizes
    if keeps and objects.written:
        watch.take(policy.key, given.uid, objects.written)
    if keeps and synchronizes:
        watch.delete_others(policy.key, given.uid, objects.written)
    return Attempt()


def _failure(given: _Given, outcome: Outcome, obstacle: Obstacle | None) -> Attempt:
    policy, trigger = given.policy.policy, given.context["trigger"]
    shown = "/".join(
        text_field(trigger, name) for name in ("apiVersion", "kind", "namespace", "name")
    )
    text = (
        f"gpol {policy.key} rule {outcome.rule_name or policy.name} {outcome.status} "
        f"for trigger {shown}: {outcome.message}"
    )
    if obstacle is None:
        return failed(Reason.RULE_FAILED, text)
    return Attempt((obstacle._replace(message=text),))


def _tell(given: _Given, outcome: Outcome, kyverno: Kyverno) -> None:
    """Let events and the trigger's report tell how a policy ended."""
    policy, parts, source = given.policy.policy, kyverno.parts, Source.GENERATE
    rule = given.policy.rules[0].rule._replace(name=outcome.rule_name or policy.name)
    result = RuleResult(
        rule,
        Phase.GENERATE,
        outcome.status,
        outcome.message,
        outcome.generated,
        exceptions=outcome.exceptions,
        properties=outcome.properties,
    )
    response = PolicyResponse(policy, Phase.GENERATE, given.trigger, (result,))
    if outcome.status is RuleStatus.SKIP:
        kyverno.events.record(*excepted(parts, source, response, result))
    elif outcome.status in _FAILED:
        event = background_failed(parts, source, policy, outcome.message, rule=rule.name)
        kyverno.events.record(event)
    else:
        kyverno.events.record(
            *background_succeeded(parts, source, policy, outcome.generated),
            *(generated(source, policy, rule.name, obj) for obj in outcome.generated),
        )
    kyverno.reports.tell(given.trigger, [response])
