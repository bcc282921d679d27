"""One attempt at an UpdateRequest for generate rules.

Source of the rules and texts: upstream pkg/background/generate/controller.go.
"""

from typing import NamedTuple

from kyvsim.compile import CompiledPolicy
from kyvsim.engine import World, check_rule, old_facts, open_background
from kyvsim.kube.objects import Json, object_key
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.rules.generate import compile_wishes
from kyvsim.rules.protocol import Evaluation, Outcome, RuleContext, passed
from kyvsim.sim.background.attempt import Attempt
from kyvsim.sim.background.downstreams import Owner, delete_all, downstreams_of
from kyvsim.sim.background.fulfilment import fulfil, report
from kyvsim.sim.background.live_triggers import TriggerError, live_trigger
from kyvsim.sim.background.recorded_requests import request_of
from kyvsim.sim.background.update_requests import reference, rules_of
from kyvsim.sim.kyverno.event_notes import background_failed
from kyvsim.sim.kyverno.events import Source
from kyvsim.sim.kyverno.installed import Kyverno


class _Given(NamedTuple):
    """One entry of an UpdateRequest, with its trigger as it is now."""

    update_request: Json
    context: Json
    trigger: Json
    request: AdmissionRequest | None

    @property
    def rule(self) -> str:
        """The name of the rule."""
        return str(self.context.get("rule"))


def attempt_generate(update_request: Json, kyverno: Kyverno) -> Attempt:
    """Generate or delete what an UpdateRequest asks for."""
    spec = update_request["spec"]
    store = kyverno.parts.store
    request = request_of(spec.get("context"), store)
    policy = kyverno.lister.get(spec["policy"])
    problems: list[str] = []
    notes: list[str] = []
    for context in spec.get("ruleContext") or ():
        try:
            trigger = live_trigger(context.get("trigger") or {}, request, store)
        except TriggerError as error:
            attempt = Attempt((f"failed to fetch trigger resource: {error}",))
        else:
            attempt = _work(_Given(update_request, context, trigger, request), policy, kyverno)
        problems += [f"rule {context.get('rule')} failed: {one}" for one in attempt.problems]
        notes += [attempt.note] if attempt.note else []
    return Attempt(tuple(problems), "; ".join(dict.fromkeys(notes)))


def _work(given: _Given, policy: CompiledPolicy | None, kyverno: Kyverno) -> Attempt:
    if policy is None:
        return _delete(given, None, kyverno)
    deletes = given.context.get("deleteDownstream")
    attempt = _delete(given, policy, kyverno) if deletes else _apply(given, policy, kyverno)
    if attempt.problems:
        why = "; ".join(attempt.problems)
        source = Source.GENERATE
        kyverno.events.record(
            background_failed(kyverno.parts, source, policy.policy, why, rule=given.rule)
        )
    return attempt


def _delete(given: _Given, policy: CompiledPolicy | None, kyverno: Kyverno) -> Attempt:
    """Delete what the UpdateRequest lists, else what was generated for the trigger."""
    rules = rules_of(given.update_request["spec"])
    found = (given.update_request.get("status") or {}).get("generatedResources")
    cause = "policy deletion"
    if not found:
        if policy is None:
            return Attempt(note="the policy is gone")
        cause = "source deletion"
        found = [
            reference(obj)
            for rule in policy.policy.rules
            if rule.name == given.rule and rule.generates
            for obj in downstreams_of(policy.policy, rule, given.context["trigger"], kyverno.parts)
        ]
    problems = delete_all(found, rules, kyverno.parts)
    why = f"failed to clean up downstream resources on {cause}"
    return Attempt((f"{why}: {'; '.join(problems)}",)) if problems else Attempt()


def _apply(given: _Given, policy: CompiledPolicy, kyverno: Kyverno) -> Attempt:
    """Check again whether a rule applies, and generate what it wants."""
    rule = next((one for one in policy.rules if one.rule.name == given.rule), None)
    if rule is None or not rule.rule.generates:
        return Attempt(note="the policy has no such rule any more")
    trigger, request = given.trigger, given.request
    mismatch = _mismatch(request, trigger)
    if mismatch:
        return Attempt((mismatch,))
    world = World(kyverno.parts.store)
    opened = open_background(policy.policy, trigger, request, world)
    old = old_facts(request, world) if request else None
    met: list[Evaluation] = []

    def note(evaluation: Evaluation) -> Outcome:
        met.append(evaluation)
        return passed("")

    outcome = check_rule(rule, opened, old, note)
    if outcome is None:
        return Attempt(("policy does not apply to resource",))
    owner = Owner(policy.policy, rule.rule, trigger)
    if not met:
        report(owner, outcome, kyverno)
        return Attempt(note=f"nothing to do: {outcome.message or 'the rule is not met'}")
    context = RuleContext(policy.policy, rule.rule, kyverno.cache.environment)
    wishes = [*compile_wishes(context)(met[0].scope)]
    return fulfil(wishes, owner, kyverno)


def _mismatch(request: AdmissionRequest | None, trigger: Json) -> str:
    """Return that a request was about another object, or ""."""
    sent = request.object if request and request.operation is not Operation.DELETE else None
    if not sent or object_key(sent) == object_key(trigger):
        return ""
    want, got = object_key(trigger), object_key(sent)
    return (
        f"resources don't match, want: {want.namespace}/{want.name}, "
        f"got: {got.namespace}/{got.name}"
    )
