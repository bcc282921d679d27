"""One attempt at an UpdateRequest for generate rules.

Source of the rules and texts: upstream pkg/background/generate/controller.go.
"""

from typing import NamedTuple

from kyvsim.compile import CompiledPolicy, CompiledRule
from kyvsim.engine import World, check_rule, old_facts, open_background
from kyvsim.kube.objects import Json, object_key
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.rules.generate import Wish, compile_wishes
from kyvsim.rules.protocol import Evaluation, Outcome, RuleContext, passed
from kyvsim.sim.kyverno.downstreams import Owner, delete_all, downstreams_of, realize
from kyvsim.sim.kyverno.installed import Kyverno
from kyvsim.sim.kyverno.live_triggers import TriggerError, live_trigger
from kyvsim.sim.kyverno.recorded_requests import request_of
from kyvsim.sim.kyverno.update_requests import rules_of


class Attempt(NamedTuple):
    """How an attempt ended."""

    problems: tuple[str, ...] = ()
    """Why it failed; it is tried again."""
    note: str = ""
    """What is to be told where it did not fail."""


class _Case(NamedTuple):
    """A rule and a trigger that it may apply to."""

    policy: CompiledPolicy
    rule: CompiledRule
    trigger: Json
    request: AdmissionRequest | None


def attempt_generate(update_request: Json, kyverno: Kyverno) -> Attempt:
    """Generate or delete what an UpdateRequest asks for."""
    spec = update_request.get("spec") or {}
    request = request_of(spec.get("context"), kyverno.parts.store)
    problems: list[str] = []
    notes: list[str] = []
    for context in spec.get("ruleContext") or ():
        attempt = _attempt(update_request, context, request, kyverno)
        problems += [f"rule {context.get('rule')} failed: {one}" for one in attempt.problems]
        notes += [attempt.note] if attempt.note else []
    return Attempt(tuple(problems), "; ".join(dict.fromkeys(notes)))


def _attempt(
    update_request: Json, context: Json, request: AdmissionRequest | None, kyverno: Kyverno
) -> Attempt:
    spec = update_request["spec"]
    try:
        trigger = live_trigger(context.get("trigger") or {}, request, kyverno.parts.store)
    except TriggerError as error:
        return Attempt((f"failed to fetch trigger resource: {error}",))
    policy = kyverno.lister.get(spec["policy"])
    if context.get("deleteDownstream") or policy is None:
        return _delete(update_request, context, policy, kyverno)
    rule = next((one for one in policy.rules if one.rule.name == context.get("rule")), None)
    if rule is None:
        return Attempt(note="the policy has no such rule any more")
    return _apply(_Case(policy, rule, trigger, request), kyverno)


def _delete(
    update_request: Json, context: Json, policy: CompiledPolicy | None, kyverno: Kyverno
) -> Attempt:
    rules = rules_of(update_request["spec"])
    listed = (update_request.get("status") or {}).get("generatedResources")
    if listed:
        problems = delete_all(listed, rules, kyverno.parts)
        why = "failed to clean up downstream resources on policy deletion"
        return Attempt((f"{why}: {'; '.join(problems)}",)) if problems else Attempt()
    if policy is None:
        return Attempt(note="the policy is gone")
    found = [
        {**object_key(obj)._asdict(), "apiVersion": obj["apiVersion"]}
        for rule in policy.policy.rules
        if rule.name == context.get("rule") and rule.generates
        for obj in downstreams_of(policy.policy, rule, context["trigger"], kyverno.parts)
    ]
    problems = delete_all(found, rules, kyverno.parts)
    why = "failed to clean up downstream resources on source deletion"
    return Attempt((f"{why}: {'; '.join(problems)}",)) if problems else Attempt()


def _apply(case: _Case, kyverno: Kyverno) -> Attempt:
    """Check again whether a rule applies, and generate what it wants."""
    policy, rule, trigger, request = case
    mismatch = _mismatch(request, trigger)
    if mismatch:
        return Attempt((mismatch,))
    world = World(kyverno.parts.store)
    given = open_background(policy.policy, trigger, request, world)
    old = old_facts(request, world) if request else None
    met: list[Evaluation] = []

    def note(evaluation: Evaluation) -> Outcome:
        met.append(evaluation)
        return passed("")

    outcome = check_rule(rule, given, old, note)
    if outcome is None:
        return Attempt(("policy does not apply to resource",))
    if not met:
        return Attempt(note=f"nothing to do: {outcome.message or 'the rule is not met'}")
    environment = kyverno.cache.environment
    wishes = compile_wishes(RuleContext(policy.policy, rule.rule, environment))
    return _fulfil([*wishes(met[0].scope)], Owner(policy.policy, rule.rule, trigger), kyverno)


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


def _fulfil(wishes: list[Wish], owner: Owner, kyverno: Kyverno) -> Attempt:
    """Write what is wanted; without a loop the first failure ends it, and NotFound is no failure.

    upstream: pkg/background/generate/controller.go, ApplyGeneratePolicy
    """
    loops = bool(owner.rule.data["generate"].get("foreach"))
    problems = []
    for wish in wishes:
        if wish.problem:
            problems.append(": ".join(filter(None, (wish.place, wish.problem))))
            continue
        for obj in wish.objects:
            error = realize(obj, owner, kyverno.parts)
            if error is None:
                continue
            if not loops and error.reason == "NotFound":
                return Attempt(note=f"nothing generated: {error.message}")
            problems.append(error.message)
            break
    return Attempt(tuple(problems))
