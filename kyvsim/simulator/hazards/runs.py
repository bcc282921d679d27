"""Hazards of a whole run: workloads without Pods, dropped work, a run that was cut."""

from collections.abc import Iterator

from kyvsim.kubernetes.objects import (
    ObjectKey,
    object_key,
    text_field,
)
from kyvsim.model.request import Operation
from kyvsim.model.result import RuleStatus
from kyvsim.model.simulation import FailureCause, FailureReason, Hazard, HazardLevel, TimelineEvent
from kyvsim.simulator.admission.classic import Admission
from kyvsim.simulator.admission.review import enforces
from kyvsim.simulator.hazards.facts import Facts
from kyvsim.simulator.kubernetes.controller import controller_of

_POD = ("v1", "Pod")


def denied_pods(facts: Facts) -> Iterator[Hazard]:
    """KH017: a workload is admitted, but its Pods are denied."""
    objects = facts.objects_by_uid()
    last: dict[str, Admission] = {}
    for admission in facts.admissions:
        uid = text_field(controller_of(admission.review.object), "uid")
        creates = admission.review.request.operation is Operation.CREATE
        before = last.get(uid)
        if before is not None and before.review.request is admission.review.request:
            creates = creates and not before.blocked
        if uid and creates and admission.review.request.key[:2] == _POD:
            last[uid] = admission
    reported: set[tuple[ObjectKey, tuple[str, ...]]] = set()
    for uid, admission in last.items():
        # The topmost controller, such as the Deployment of a ReplicaSet.
        top = objects.get(uid)
        while above := objects.get(text_field(controller_of(top), "uid")):
            top = above
        owner = object_key(top) if top is not None else None
        if not admission.blocked or owner is None or facts.sim.store.get(*owner) is None:
            continue
        namespace = facts.sim.store.get("v1", "Namespace", "", admission.request.namespace)
        messages = {
            "/".join(filter(None, (response.policy.key, result.rule.name))): result.message
            for response in admission.responses
            for result in response.results
            # A failed mutation denies a request, whatever the policy's action.
            if result.status in {RuleStatus.FAIL, RuleStatus.ERROR}
            and (admission.mutating or enforces(response.policy, result.rule, namespace))
        }
        if (owner, tuple(messages)) not in reported:
            reported.add((owner, tuple(messages)))
            yield _denied_pods_hazard(facts, owner, messages, mutating=admission.mutating)


def _denied_pods_hazard(
    facts: Facts, owner: ObjectKey, messages: dict[str, str], *, mutating: bool
) -> Hazard:
    """Return the hazard; `messages` are those of the rules that denied a Pod, by `policy/rule`."""
    reasons = "; ".join(
        f"`{rule}`{': ' if text else ''}{' '.join(text.split())}" for rule, text in messages.items()
    )
    denials = [
        one.number
        for one in facts.events
        if one.object[:2] == _POD
        and one.outcome == "denied"
        and any(rule in each.rules for each in one.failure_reasons for rule in messages)
    ]
    hint = (
        "exclude Pods that the rule cannot change"
        if mutating
        else "change the Pod template to comply, or let the rule also match Pod controllers, so "
        "that users see the denial"
    )
    message = f"the {owner.kind} is admitted, but its Pods are denied: {reasons}; {hint}"
    return facts.hazard(
        "KH017", message, objects=[owner], policies=tuple(messages), events=denials[:1]
    )


def cut_run(facts: Facts) -> Iterator[Hazard]:
    """KH014: the run was stopped before it ended.

    Yield one hazard for a run that was stopped, with the first step that was not completed.
    """
    if facts.cut is None:
        return
    left = len(facts.cut.steps)
    steps = f"{left} {'step was' if left == 1 else 'steps were'} not run"
    hint = "; raise `--max-events` if this is not a loop" if facts.cut.by_events else ""
    text = (
        f"the run was stopped at {facts.cut.reason}, before it "
        f"ended{f': {steps}' if left else ''}; what would have happened is unknown{hint}"
    )
    yield facts.hazard("KH014", text, location=facts.cut.steps[0] if left else None)


_CAUSES = (
    (
        FailureCause.CONFLICT,
        FailureCause.EXISTS,
        FailureCause.NOT_FOUND,
        FailureCause.NOT_MET,
        FailureCause.NO_KIND,
        FailureCause.OTHER,
        FailureCause.RULE_GONE,
        FailureCause.TRIGGER_DIFFERS,
    ),
    (FailureCause.NAMESPACE_GOES,),
    (FailureCause.TRIGGER_MISSING, FailureCause.TRIGGER_STAYS),
)
"""In the order in which they are reported."""
_NOTHING_LOST = "no functional impact, but the controller logs errors"


def given_up(facts: Facts) -> Iterator[Hazard]:
    """KH026: an UpdateRequest was dropped for a reason that no other hazard reports.

    Yield each one: as an error if something is missing, as an info if not.
    """
    for event, failure, rules in (one for some in _CAUSES for one in facts.failures(*some)):
        level, text = HazardLevel.INFO, ""
        if failure.reason is FailureCause.NAMESPACE_GOES:
            text = f"nothing is written to a namespace that is being deleted: {_NOTHING_LOST}"
        elif event.given_up and failure.reason in _CAUSES[2]:
            text = _without_trigger(facts, event, failure)
        elif event.given_up:
            level = HazardLevel.ERROR
            text = f"an UpdateRequest was dropped after five attempts: {failure.message}"
        if text:
            objects, events = [failure.object], [event.number]
            yield facts.hazard(
                "KH026", text, level=level, objects=objects, policies=rules, events=events
            )


def _without_trigger(facts: Facts, event: TimelineEvent, failure: FailureReason) -> str:
    """Return why there was no trigger, "" if it was denied (KH002) or late (KH013)."""
    request = facts.request_of(event)
    if request is not None and request.outcome == "denied":
        return ""
    if request is not None and request.outcome == "failed":
        return f"the request that created the UpdateRequest failed: {_NOTHING_LOST}"
    stored = facts.stored.get(failure.uid)
    if stored is not None and stored.number > event.number:
        return ""
    return f"the trigger was deleted before the UpdateRequest was processed: {_NOTHING_LOST}"
