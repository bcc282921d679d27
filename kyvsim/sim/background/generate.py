"""One attempt at an UpdateRequest for generate rules.

Source of the rules and texts: upstream pkg/background/generate/controller.go.
"""

from collections.abc import Callable
from typing import NamedTuple

from kyvsim.compile import CompiledPolicy, CompiledRule
from kyvsim.compile.compiled import Evaluation, Outcome, passed
from kyvsim.engine import World
from kyvsim.engine.background import check_rule, old_facts, open_background
from kyvsim.engine.policy import RuleInput
from kyvsim.kube.objects import Json, object_key, text_field
from kyvsim.languages.classic.rules.generate import Wish, Wishes
from kyvsim.match import MatchFacts
from kyvsim.model.budget import BudgetError
from kyvsim.model.obstacle import Obstacle, Reason
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.model.result import RuleStatus
from kyvsim.sim.background.attempt import Attempt, failed, noted, told, within
from kyvsim.sim.background.downstreams import Owner, delete_all, downstreams_of
from kyvsim.sim.background.fulfilment import fulfil, report
from kyvsim.sim.background.live_triggers import TriggerError, live_trigger
from kyvsim.sim.background.recorded_requests import request_of
from kyvsim.sim.background.unknown_user import as_by_someone
from kyvsim.sim.background.update_requests import reference, rules_of
from kyvsim.sim.kyverno.event_notes import background_failed
from kyvsim.sim.kyverno.events import Source
from kyvsim.sim.kyverno.installed import Kyverno
from kyvsim.sim.kyverno.users import BACKGROUND


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
    problems: list[Obstacle] = []
    notes: list[Obstacle] = []
    for context in spec.get("ruleContext") or ():
        try:
            trigger = live_trigger(context.get("trigger") or {}, request, store)
        except TriggerError as error:
            attempt = Attempt(tuple(within("failed to fetch trigger resource: ", [error.obstacle])))
        else:
            attempt = _work(_Given(update_request, context, trigger, request), policy, kyverno)
        rule = text_field(context, "rule")
        wanted_by = f"{spec['policy']}/{rule}"
        of_rule = within(f"rule {rule} failed: ", attempt.problems)
        problems += (one._replace(wanted_by=wanted_by) for one in of_rule)
        notes += (one._replace(wanted_by=wanted_by) for one in attempt.notes)
    return Attempt(tuple(problems), tuple(notes))


def _work(given: _Given, policy: CompiledPolicy | None, kyverno: Kyverno) -> Attempt:
    if policy is None:
        return _delete(given, None, kyverno)
    deletes = given.context.get("deleteDownstream")
    attempt = _delete(given, policy, kyverno) if deletes else _apply(given, policy, kyverno)
    if attempt.problems:
        why = told(attempt.problems)
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
            return noted(Reason.RULE_GONE, "the policy is gone")
        cause = "source deletion"
        found = [
            reference(obj)
            for rule in policy.policy.rules
            if rule.name == given.rule and rule.generates
            for obj in downstreams_of(policy.policy, rule, given.context["trigger"], kyverno.parts)
        ]
    problems = delete_all(found, rules, kyverno.parts)
    why = f"failed to clean up downstream resources on {cause}: "
    return Attempt(tuple(within(why, problems)))


def _apply(given: _Given, policy: CompiledPolicy, kyverno: Kyverno) -> Attempt:
    """Check again whether a rule applies, and generate what it wants."""
    rule = next((one for one in policy.rules if one.rule.name == given.rule), None)
    if rule is None or not rule.rule.generates:
        return noted(Reason.RULE_GONE, "the policy has no such rule any more")
    trigger, request = given.trigger, given.request
    mismatch = _mismatch(request, trigger)
    if mismatch:
        return failed(Reason.TRIGGER_DIFFERS, mismatch)
    world = World(kyverno.parts.store, account=BACKGROUND)
    opened = open_background(policy.policy, trigger, request, world)
    old = old_facts(request, world) if request else None
    wishes_of = kyverno.lister.wishes(policy, rule)

    def look(given: RuleInput) -> _Wanted:
        return _wanted(rule, given, old, wishes_of)

    wanted = look(opened)
    # Evaluated a second time only where it failed.
    if request is None and wanted.problem and not look(as_by_someone(opened)).problem:
        wanted = wanted._replace(problem=Reason.USER_UNKNOWN)
    return _fulfilled(wanted, Owner(policy.policy, rule.rule, trigger), kyverno)


class _Wanted(NamedTuple):
    """What a rule says of a trigger, and the objects that it wants for it."""

    outcome: Outcome | None
    """None where the rule is not for it."""
    wishes: tuple[Wish, ...] | None = None
    """None where it does not come to that."""
    problem: Reason | None = None
    """Why something could not be evaluated."""


def _bounded(rule: CompiledRule, make: Callable[[], tuple[Wish, ...]]) -> tuple[Wish, ...]:
    """Return what a rule wants, or one problem where that takes more than a rule may."""
    if rule.meter is not None:
        rule.meter.begin_rule()
    try:
        return make()
    except BudgetError as error:
        return (Wish(problem=str(error)),)


def _wanted(
    rule: CompiledRule, given: RuleInput, old: MatchFacts | None, wishes_of: Wishes
) -> _Wanted:
    met: list[Evaluation] = []

    def note(evaluation: Evaluation) -> Outcome:
        met.append(evaluation)
        return passed("")

    outcome = check_rule(rule, given, old, note)
    if met:
        wishes = _bounded(rule, lambda: tuple(wishes_of(met[0].scope)))
        problems = [one.reason for one in wishes if one.problem]
        return _Wanted(outcome, wishes, problems[0] if problems else None)
    fails = outcome is not None and outcome.status is RuleStatus.ERROR
    return _Wanted(outcome, problem=Reason.RULE_FAILED if fails else None)


def _fulfilled(wanted: _Wanted, owner: Owner, kyverno: Kyverno) -> Attempt:
    outcome, reason = wanted.outcome, wanted.problem
    if outcome is None:
        return failed(Reason.NOT_MET, "policy does not apply to resource")
    if wanted.wishes is not None:
        unknown = reason is Reason.USER_UNKNOWN
        told = [one._replace(reason=reason or one.reason) for one in wanted.wishes]
        return fulfil(told if unknown else wanted.wishes, owner, kyverno)
    report(owner, outcome, kyverno)
    text = f"nothing to do: {outcome.message or 'the rule is not met'}"
    return noted(reason or Reason.NOT_MET, text)


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
