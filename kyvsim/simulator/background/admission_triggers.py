"""Requests that make work for the background: triggers that come, change, leave.

Source of the rules: upstream pkg/webhooks/resource (updaterequest.go, utils.go),
pkg/webhooks/resource/generation/handler.go.
"""

from collections.abc import Iterable, Iterator

from kyvsim.engine.background import check_rule, old_facts, open_background
from kyvsim.engine.compile import CompiledPolicy, CompiledRule, Model
from kyvsim.engine.evaluate import asks_for_deletion
from kyvsim.engine.match import MatchFacts
from kyvsim.engine.policy import RuleInput
from kyvsim.engine.world import World
from kyvsim.kubernetes.objects import Json, object_key
from kyvsim.model.policy import Rule
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.model.result import RuleStatus
from kyvsim.simulator.api_server import Review
from kyvsim.simulator.background.generate_in_cel import generating_work
from kyvsim.simulator.background.mutate_existing_in_cel import mutating_work
from kyvsim.simulator.background.policy_events import managed_work
from kyvsim.simulator.background.update_requests import (
    GENERATE,
    MUTATE,
    Work,
    reference,
    rule_context,
    submit,
)
from kyvsim.simulator.kyverno.admission import UNMET
from kyvsim.simulator.kyverno.configuration import ADMISSION, BACKGROUND
from kyvsim.simulator.kyverno.installed import Kyverno
from kyvsim.simulator.kyverno.match_conditions import concerns
from kyvsim.simulator.latency import UPDATE_REQUEST

_ACTOR = "admission-controller"


def start_admission_triggers(kyverno: Kyverno) -> None:
    """Let admission write UpdateRequests for what it sees."""
    parts = kyverno.parts

    def emit(review: Review, request: AdmissionRequest) -> None:
        works = [*_triggered(kyverno, request), *generating_work(kyverno, request)]
        # The webhooks are registered for the kinds that are generated, not for their subresources.
        if not _is_own(request) and not request.subresource:
            works += managed_work(kyverno, request)
        write_soon(review, works)

    def write_soon(review: Review, works: Iterable[Work]) -> None:
        before = len(parts.timeline.events)

        def write(work: Work) -> None:
            with parts.timeline.following(_event_of(kyverno, review, before)):
                submit(work, parts, ADMISSION)

        for work in works:
            parts.scheduler.after(UPDATE_REQUEST, _ACTOR, lambda work=work: write(work))  # type: ignore[misc]

    kyverno.admission.background.append(emit)
    kyverno.admission.mutated.append(
        lambda review, request: write_soon(review, [*mutating_work(kyverno, request)])
    )


def _event_of(kyverno: Kyverno, review: Review, start: int) -> int | None:
    """Return the number of the event that tells of a request, among those from `start` on."""
    key = review.request.key
    obj = review.object
    wanted = key if key.name or obj is None else object_key(obj)
    return kyverno.parts.timeline.first_about(wanted, start)


def _is_own(request: AdmissionRequest) -> bool:
    return request.user is not None and request.user.username == BACKGROUND.username


def _triggered(kyverno: Kyverno, request: AdmissionRequest) -> Iterator[Work]:
    """Give the work for rules that the object of a request is, or was, a trigger of."""
    outside = World(kyverno.parts.store, account=ADMISSION).outside
    policies: list[CompiledPolicy] = []
    for policy in filter(_works, kyverno.cache.every()):
        if concerns(policy.policy, request, outside):
            policies.append(policy)
        else:
            kyverno.admission.pass_by(policy.policy, _working(policy), request, UNMET)
    for policy in policies:
        yield from _mutations(kyverno, policy, request)
    for policy in policies:
        works = (_generation(kyverno, policy, request), _leaving(kyverno, policy, request))
        yield from (work for work in works if work.contexts)


def _works(policy: CompiledPolicy) -> bool:
    """Return whether a policy has rules that work in the background."""
    return any(True for _ in _working(policy))


def _working(policy: CompiledPolicy) -> Iterator[CompiledRule]:
    return (one for one in policy.rules if one.rule.generates or one.rule.mutates_existing)


def _verdicts(
    kyverno: Kyverno, policy: CompiledPolicy, request: AdmissionRequest, trigger: Json
) -> Iterator[tuple[CompiledRule, RuleStatus]]:
    """Give the background rules that say something of a trigger, and what each says."""
    world = World(kyverno.parts.store, account=ADMISSION)
    new = open_background(policy.policy, trigger, request, world) if trigger else None
    old = old_facts(request, world)
    for rule in policy.rules:
        verdict = _verdict(rule, new, old) if _takes_part(rule.rule, request) else None
        if rule.rule.generates or rule.rule.mutates_existing:
            _tell_deaf(kyverno, policy, rule, request)
        if verdict is None:
            continue
        yield rule, verdict
        if policy.policy.applies_one_rule and verdict is not RuleStatus.SKIP:
            return


def _verdict(
    rule: CompiledRule, new: RuleInput | None, old: MatchFacts | None
) -> RuleStatus | None:
    outcome = check_rule(rule, new, old)
    return outcome.status if outcome else None


def _takes_part(rule: Rule, request: AdmissionRequest) -> bool:
    """Return whether a rule works in the background, for whoever makes the request."""
    if not rule.generates and not rule.mutates_existing:
        return False
    return rule.facts.sees_background or not _is_own(request)


def _tell_deaf(
    kyverno: Kyverno, policy: CompiledPolicy, rule: CompiledRule, request: AdmissionRequest
) -> None:
    """Tell that a rule does not hear of what the background controller makes itself."""
    if not _takes_part(rule.rule, request):
        why = "the background controller made the request, and `skipBackgroundRequests` is not off"
        kyverno.admission.pass_by(policy.policy, [rule], request, why)


def _mutations(
    kyverno: Kyverno, policy: CompiledPolicy, request: AdmissionRequest
) -> Iterator[Work]:
    trigger = request.subject
    if not any(rule.rule.mutates_existing for rule in policy.rules):
        return
    for rule, verdict in _verdicts(kyverno, policy, request, trigger):
        deletes = request.operation is Operation.DELETE and not asks_for_deletion(rule.rule)
        if verdict is not RuleStatus.PASS or deletes:
            continue
        yield Work(
            MUTATE,
            policy.policy.key,
            rule=rule.rule.name,
            trigger=reference(trigger),
            request=request,
        )


def _generation(kyverno: Kyverno, policy: CompiledPolicy, request: AdmissionRequest) -> Work:
    """Return the work for rules that a trigger meets."""
    work = Work(GENERATE, policy.policy.key, request=request)
    if request.operation is Operation.DELETE or not _generates(policy):
        return work
    verdicts = _verdicts(kyverno, policy, request, request.object)
    met = [one.rule for one, verdict in verdicts if verdict is RuleStatus.PASS]
    trigger = reference(request.object)
    contexts = tuple(rule_context(rule.name, trigger) for rule in met if rule.generates)
    if contexts and _is_gated(kyverno, policy):
        _tell_gate(kyverno, policy, request)
        return work
    return work._replace(contexts=contexts)


def _leaving(kyverno: Kyverno, policy: CompiledPolicy, request: AdmissionRequest) -> Work:
    """Return the work for rules that a trigger met before, and does not any more."""
    work = Work(GENERATE, policy.policy.key, request=request)
    if not request.old_object or not _generates(policy):
        return work
    obj = None if request.operation is Operation.DELETE else request.object
    verdicts = _verdicts(kyverno, policy, request, obj)
    left = [one.rule for one, verdict in verdicts if verdict is RuleStatus.FAIL]
    trigger = reference(request.old_object)
    contexts: list[Json] = []
    for rule in left:
        if request.operation is Operation.DELETE and asks_for_deletion(rule):
            contexts.append(rule_context(rule.name, trigger))
        elif rule.facts.generation is not None and rule.facts.generation.synchronizes:
            contexts.append(rule_context(rule.name, trigger, deletes=True))
    return work._replace(contexts=tuple(contexts))


def _generates(policy: CompiledPolicy) -> bool:
    return any(rule.rule.generates for rule in policy.rules)


def _is_gated(kyverno: Kyverno, policy: CompiledPolicy) -> bool:
    model = kyverno.parts.settings.model
    return model is Model.BACKGROUND_GATES_GENERATE and not policy.policy.background


def _tell_gate(kyverno: Kyverno, policy: CompiledPolicy, request: AdmissionRequest) -> None:
    timeline = kyverno.parts.timeline
    message = (
        "generate rules do not run for new objects: the policy has background: false "
        f"(model {Model.BACKGROUND_GATES_GENERATE.value})"
    )
    key = object_key(request.subject)
    gated = [rule for rule in policy.rules if rule.rule.generates]
    kyverno.admission.pass_by(policy.policy, gated, request, message)
    event = timeline.record("admission", "generate", key, outcome="skipped", message=message)
    timeline.amend(event, policies=(policy.policy.key,))
