"""One attempt at an UpdateRequest for generate rules, and its objects."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kyvsim.engine.background import check_rule, old_facts, open_background
from kyvsim.engine.compile import CompiledPolicy, CompiledRule
from kyvsim.engine.compile.compiled import Evaluation, Outcome, passed
from kyvsim.engine.match import MatchFacts
from kyvsim.engine.policy import RuleInput
from kyvsim.engine.world import World
from kyvsim.kubernetes.discovery import parse_kind_selector, split_api_version
from kyvsim.kubernetes.objects import Json, ObjectKey, labels, metadata, object_key, text_field
from kyvsim.languages.classic.rules.generate import GeneratedSet, GeneratedSets, with_owner_labels
from kyvsim.model.background import GeneratePattern
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.ports import BudgetError
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.model.result import Phase, PolicyResponse, RuleResult, RuleStatus
from kyvsim.model.simulation import FailureCause, FailureReason
from kyvsim.patch.json_patch import merge_patch
from kyvsim.simulator.api_server import ApiRequest, ApiResponse, Client, Purpose
from kyvsim.simulator.api_server.authorizer import denial
from kyvsim.simulator.api_server.metadata import with_metadata
from kyvsim.simulator.background.update_requests import (
    LABEL,
    Attempt,
    TriggerError,
    as_by_someone,
    failed,
    failure_reason_of,
    live_trigger,
    messages,
    noted,
    policy_labels,
    reference,
    request_of,
    rules_of,
    selected,
    within,
)
from kyvsim.simulator.configuration import BACKGROUND
from kyvsim.simulator.context import SimulationContext
from kyvsim.simulator.events import EventSource, background_failed, background_succeeded, generated
from kyvsim.simulator.kyverno import Kyverno

# Generated objects: written as rules want them, found again, and deleted.
#
# Source of the rules: upstream pkg/background/generate (generator.go, data.go, clone.go,
# cleanup.go, source.go).

_SOURCE = f"{LABEL}clone-source"
_UNWRITTEN = dict.fromkeys(
    ("uid", "creationTimestamp", "resourceVersion", "generation", "managedFields")
)
"""The fields of `metadata` that no client writes."""


class Owner(NamedTuple):
    """On whose behalf an object is written."""

    policy: Policy
    rule: Rule
    trigger: Json

    @property
    def name(self) -> str:
        """The rule, as the timeline calls it."""
        return f"{self.policy.key}/{self.rule.name}"

    def client(self, action: str, sim: SimulationContext) -> Client:
        """Return the API for requests that do something on account of the rule."""
        return sim.client(BACKGROUND, Purpose(action, (self.name,)))


def realize(
    wanted: Json, owner: Owner, sim: SimulationContext
) -> tuple[Json, FailureReason | None]:
    """Let an object be as a rule wants it; return it if it is new, or why that failed."""
    key, marks = object_key(wanted), labels(wanted)
    uid, kind = (marks.get(f"{LABEL}source-{part}", "") for part in ("uid", "kind"))
    source = sim.store.by_uid(wanted["apiVersion"], kind, uid) if uid else None
    for read in (object_key(source), key) if source is not None else (key,):
        refused = denial(BACKGROUND, "get", read, sim.store)
        if refused is not None:
            return None, failure_reason_of(refused, read)
    # The object that was copied is labelled, so that its changes are noticed.
    if source is not None and _SOURCE not in labels(source):
        marked = with_metadata(source, {"labels": {**labels(source), _SOURCE: ""}})
        owner.client("label source", sim).update(marked)
    owned = with_owner_labels(wanted, owner.policy, owner.rule, owner.trigger)
    live = sim.store.get(*key)
    if live is None:
        response = owner.client("generate", sim).create(owned)
        if response.error is not None and response.error.reason == "AlreadyExists":
            return owned, None
    elif not ((generation := owner.rule.facts.generation) and generation.synchronizes) or (
        f"{LABEL}source-uid" in marks
        and with_metadata(owned, _UNWRITTEN) == with_metadata(live, _UNWRITTEN)
    ):
        return None, None
    else:
        response = _update(owned, live, owner, sim)
    failure = failure_reason_of(response.error, key) if response.error else None
    return (response.object if live is None else None), failure


def _update(owned: Json, live: Json, owner: Owner, sim: SimulationContext) -> ApiResponse:
    client = owner.client("synchronize", sim)
    if owner.policy.facts.applies_server_side:
        applied = merge_patch(live, owned)
        return client.send(
            ApiRequest(Operation.UPDATE, object_key(live), BACKGROUND, applied, patch="apply")
        )
    version = metadata(live).get("resourceVersion")
    return client.update(with_metadata(owned, {"resourceVersion": version}))


def downstreams_of(
    policy: Policy, rule: Rule, trigger: Json, sim: SimulationContext
) -> Iterator[Json]:
    """Give what a policy generated for a trigger, of the kinds that a rule generates.

    The name of the rule is not asked for, as upstream does not.
    """
    group, version = split_api_version(text_field(trigger, "apiVersion"))
    wanted = {
        **policy_labels(policy),
        f"{LABEL}trigger-namespace": text_field(trigger, "namespace"),
        f"{LABEL}trigger-kind": text_field(trigger, "kind"),
        f"{LABEL}trigger-group": group,
        f"{LABEL}trigger-version": version,
    }
    by_uid = {**wanted, f"{LABEL}trigger-uid": text_field(trigger, "uid")}
    by_name = {**wanted, f"{LABEL}trigger-name": text_field(trigger, "name")}
    for api_version, kind in kinds_of(rule):
        found = selected(sim.store, api_version, kind, by_uid)
        yield from found or selected(sim.store, api_version, kind, by_name)


def kinds_of(rule: Rule) -> Iterator[tuple[str, str]]:
    """Give apiVersion and kind of what a rule generates, pattern by pattern."""
    generation = rule.facts.generation
    for pattern in generation.patterns if generation else ():
        if pattern.kind:
            yield pattern.api_version, pattern.kind
            continue
        for selector in map(parse_kind_selector, pattern.clone_kinds):
            group = "" if selector.group == "*" else f"{selector.group}/"
            yield f"{group}{selector.version}", selector.kind


# Objects that a changed rule does not generate any more: they lose the labels of their policy.
#
# Source of the rules: upstream pkg/policy/generate.go (ruleChange, unlabelDownstream).

_OWNER = tuple(f"{LABEL}{name}" for name in ("policy-name", "policy-namespace", "rule-name"))


def release_stale_targets(before: Policy, policy: Policy, sim: SimulationContext) -> None:
    """Take the owner's labels from what rules generated whose target or source has changed."""
    for rule, kind in _stale_kinds(before, policy):
        purpose = Purpose(
            "release", (f"{policy.key}/{rule}",), "the rule generates a different object now"
        )
        wanted = dict(zip(_OWNER, (policy.name, policy.namespace, rule), strict=True))
        named = parse_kind_selector(kind).kind
        places = [place for place in sim.store.kinds() if place[1] == named]
        for obj in (one for place in places for one in selected(sim.store, *place, wanted)):
            kept = {name: value for name, value in labels(obj).items() if name not in _OWNER}
            sim.client(BACKGROUND, purpose).update(with_metadata(obj, {"labels": kept}))


def _stale_kinds(before: Policy, policy: Policy) -> Iterator[tuple[str, str]]:
    """Give rules with a kind of which they generated what they do not any more."""
    now = {rule.name: rule.facts.generation for rule in policy.rules}
    for rule in before.rules:
        old, new = rule.facts.generation, now.get(rule.name)
        if old is None or new is None:
            continue
        pairs = [(old.whole, new.whole)]
        pairs += [
            (one, other)
            for one in old.loops or ()
            for other in new.loops or ()
            if one.list == other.list
        ]
        for one, other in pairs:
            # upstream looks for the kind of the rule, also where that of a loop has changed.
            if _target(one) != _target(other) and old.whole.kind:
                yield rule.name, old.whole.kind
            if one.clone_list != other.clone_list:
                yield from ((rule.name, kind) for kind in old.whole.clone_kinds)


def _target(made: GeneratePattern) -> tuple[Json, ...]:
    """Return what is made, and of which source."""
    return made.api_version, made.kind, made.namespace, made.name, made.clone


# Writing and reporting what a generate rule generates.
#
# Source of the rules: upstream pkg/background/generate/controller.go (ApplyGeneratePolicy).

_NOT_FOUND = frozenset({FailureCause.NOT_FOUND, FailureCause.NO_NAMESPACE})


def apply_generated(
    generated_sets: Sequence[GeneratedSet], owner: Owner, kyverno: Kyverno
) -> Attempt:
    """Write the generated objects; outside a loop, "not found" is not a failure."""
    generation = owner.rule.facts.generation
    loops = generation is not None and bool(generation.loops)
    problems: list[FailureReason] = []
    created: list[Json] = []
    for generated_set in generated_sets:
        if generated_set.problem:
            messages = ": ".join(filter(None, (generated_set.place, generated_set.problem)))
            problems.append(FailureReason(generated_set.reason, messages))
            continue
        failure_reason = None
        for obj in generated_set.objects:
            new, failure_reason = realize(obj, owner, kyverno.sim)
            if failure_reason is not None:
                break
            created += [new] if new else []
        if failure_reason is not None and not loops and failure_reason.reason in _NOT_FOUND:
            report(owner, Outcome(RuleStatus.PASS, ""), kyverno)
            return Attempt(notes=tuple(within("nothing generated: ", [failure_reason])))
        problems += [failure_reason] if failure_reason is not None else []
    if not problems:
        report(owner, Outcome(RuleStatus.PASS, "", generated=tuple(created)), kyverno)
        policy, source = owner.policy, EventSource.GENERATE
        kyverno.events.record(
            *(generated(source, policy, owner.rule.name, obj) for obj in created),
            *background_succeeded(kyverno.sim, source, policy, created),
        )
        report(owner, Outcome(RuleStatus.PASS, "", generated=tuple(created)), kyverno)
    return Attempt(tuple(problems))


def report(owner: Owner, outcome: Outcome, kyverno: Kyverno) -> None:
    """Let the report of a trigger say how a rule ended, and what it made."""
    phase, generated_now = Phase.GENERATE, outcome.generated
    result = RuleResult(owner.rule, phase, outcome.status, outcome.message, generated_now)
    kyverno.reports.add_results(
        owner.trigger, [PolicyResponse(owner.policy, phase, owner.trigger, (result,))]
    )


# One attempt at an UpdateRequest for generate rules.
#
# Source of the rules and texts: upstream pkg/background/generate/controller.go.


def attempt_generate(update_request: Json, kyverno: Kyverno) -> Attempt:
    """Process an UpdateRequest: generate or delete objects."""
    spec = update_request["spec"]
    store = kyverno.sim.store
    request = request_of(spec.get("context"), store)
    policy = kyverno.lister.get(spec["policy"])
    problems: list[FailureReason] = []
    notes: list[FailureReason] = []
    for context in spec.get("ruleContext") or ():
        try:
            trigger = live_trigger(context.get("trigger") or {}, request, store)
        except TriggerError as error:
            attempt = Attempt(
                tuple(within("failed to fetch trigger resource: ", [error.failure_reason]))
            )
        else:
            attempt = _work(update_request, context, trigger, request, policy, kyverno)
        rule = text_field(context, "rule")
        wanted_by = f"{spec['policy']}/{rule}"
        of_rule = within(f"rule {rule} failed: ", attempt.problems)
        problems += (one._replace(wanted_by=wanted_by) for one in of_rule)
        notes += (one._replace(wanted_by=wanted_by) for one in attempt.notes)
    return Attempt(tuple(problems), tuple(notes))


def _work(
    update_request: Json,
    context: Json,
    trigger: Json,
    request: AdmissionRequest | None,
    policy: CompiledPolicy | None,
    kyverno: Kyverno,
) -> Attempt:
    """Work on one entry of an UpdateRequest, with its trigger as it is now."""
    if policy is None or context.get("deleteDownstream"):
        attempt = _delete(update_request, context, policy, kyverno)
    else:
        attempt = _apply(str(context.get("rule")), trigger, request, policy, kyverno)
    if attempt.problems and policy is not None:
        why, rule = messages(attempt.problems), str(context.get("rule"))
        source = EventSource.GENERATE
        kyverno.events.record(background_failed(kyverno.sim, source, policy.policy, why, rule=rule))
    return attempt


def _delete(
    update_request: Json, context: Json, policy: CompiledPolicy | None, kyverno: Kyverno
) -> Attempt:
    """Delete what the UpdateRequest lists, else what was generated for the trigger."""
    found = (update_request.get("status") or {}).get("generatedResources")
    cause = "policy deletion"
    if not found:
        if policy is None:
            return noted(FailureCause.RULE_GONE, "the policy was deleted")
        cause = "source deletion"
        found = [
            reference(obj)
            for rule in policy.policy.rules
            if rule.name == context.get("rule") and rule.generates
            for obj in downstreams_of(policy.policy, rule, context["trigger"], kyverno.sim)
        ]
    problems = []
    rules = rules_of(update_request["spec"])
    client = kyverno.sim.client(BACKGROUND, Purpose("delete downstream", rules))
    for one in found:
        fields = ("apiVersion", "kind", "namespace", "name")
        key = ObjectKey(*(text_field(one, field) for field in fields))
        error = client.delete(key).error
        if error is not None and error.reason != "NotFound":
            problems.append(failure_reason_of(error, key))
    why = f"failed to clean up downstream resources on {cause}: "
    return Attempt(tuple(within(why, problems)))


def _apply(
    name: str,
    trigger: Json,
    request: AdmissionRequest | None,
    policy: CompiledPolicy,
    kyverno: Kyverno,
) -> Attempt:
    """Check again whether a rule applies, and generate what it wants."""
    rule = next((one for one in policy.rules if one.rule.name == name), None)
    if rule is None or not rule.rule.generates:
        return noted(FailureCause.RULE_GONE, "the policy no longer has this rule")
    sent = request.object if request and request.operation is not Operation.DELETE else None
    want, got = object_key(trigger), object_key(sent) if sent else object_key(trigger)
    if want != got:
        text = (
            f"resources don't match, want: {want.namespace}/{want.name}, "
            f"got: {got.namespace}/{got.name}"
        )
        return failed(FailureCause.TRIGGER_DIFFERS, text)
    world = World(kyverno.sim.store, account=BACKGROUND)
    opened = open_background(policy.policy, trigger, request, world)
    old = old_facts(request, world) if request else None
    sets_of = kyverno.lister.generated_sets(policy, rule)
    outcome, sets, problem = _generation(rule, opened, old, sets_of)
    # Evaluated a second time only where it failed.
    if request is None and problem is not None:
        *_, again = _generation(rule, as_by_someone(opened), old, sets_of)
        problem = problem if again else FailureCause.USER_UNKNOWN
    owner = Owner(policy.policy, rule.rule, trigger)
    if outcome is None:
        return failed(FailureCause.NOT_MET, "policy does not apply to resource")
    if sets is None:
        report(owner, outcome, kyverno)
        text = f"nothing to do: {outcome.message or 'the rule does not match'}"
        return noted(problem or FailureCause.NOT_MET, text)
    if problem is FailureCause.USER_UNKNOWN:
        sets = tuple(one._replace(reason=problem) for one in sets)
    return apply_generated(sets, owner, kyverno)


def _generation(
    rule: CompiledRule, given: RuleInput, old: MatchFacts | None, sets_of: GeneratedSets
) -> tuple[Outcome | None, tuple[GeneratedSet, ...] | None, FailureCause | None]:
    """Return what a rule says of a trigger, the objects that it wants, and why it cannot say it.

    The outcome is None where the rule is not for it, the objects where it does not come to them.
    """
    met: list[Evaluation] = []

    def note(evaluation: Evaluation) -> Outcome:
        met.append(evaluation)
        return passed("")

    outcome = check_rule(rule, given, old, note)
    if not met:
        fails = outcome is not None and outcome.status is RuleStatus.ERROR
        return outcome, None, FailureCause.RULE_FAILED if fails else None
    if rule.meter is not None:
        rule.meter.begin_rule()
    try:
        generated_sets = tuple(sets_of(met[0].scope))
    except BudgetError as error:
        generated_sets = (GeneratedSet(problem=str(error)),)
    problems = (one.reason for one in generated_sets if one.problem)
    return outcome, generated_sets, next(problems, None)
