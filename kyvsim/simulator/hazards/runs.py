"""Hazards of a whole run: workloads without Pods, work that was given up, a run that was cut."""

from collections.abc import Iterator

from kyvsim.kubernetes.objects import Json, ObjectKey, entries, metadata, object_key, text_field
from kyvsim.model.request import Operation
from kyvsim.model.result import RuleStatus
from kyvsim.model.simulation import FailureCause, FailureReason, Hazard, HazardLevel, TimelineEvent
from kyvsim.simulator.admission.classic import Admission
from kyvsim.simulator.admission.review import enforces
from kyvsim.simulator.api_server import ObjectStore
from kyvsim.simulator.hazards.facts import Facts, rules_of

_DENYING = frozenset({RuleStatus.FAIL, RuleStatus.ERROR})
_POD = ("v1", "Pod")


def denied_pods(facts: Facts) -> Iterator[Hazard]:
    """KH017: a workload is let in, and its Pods are denied.

    Yield the workloads whose last try to make a Pod was denied.
    """
    objects = facts.objects_by_uid()
    last: dict[str, Admission] = {}
    for admission in facts.admissions:
        uid = _controller(admission.review.object)
        creates = admission.review.request.operation is Operation.CREATE
        before = last.get(uid)
        if before is not None and before.review.request is admission.review.request:
            creates = creates and not before.blocked
        if uid and creates and admission.review.request.key[:2] == _POD:
            last[uid] = admission
    reported: set[tuple[ObjectKey, tuple[str, ...]]] = set()
    for uid, admission in last.items():
        owner = _highest(uid, objects)
        if not admission.blocked or owner is None or facts.sim.store.get(*owner) is None:
            continue
        causes = _causes(admission, facts.sim.store)
        if (owner, tuple(causes)) not in reported:
            reported.add((owner, tuple(causes)))
            yield _denied_pods_hazard(facts, owner, admission, causes)


def _controller(obj: Json) -> str:
    """Return the uid of the controller that an object belongs to, "" where it has none."""
    found = entries(metadata(obj), "ownerReferences") if obj is not None else ()
    return next((text_field(one, "uid") for one in found if one.get("controller") is True), "")


def _highest(uid: str, objects: dict[str, Json]) -> ObjectKey | None:
    """Return the controller of controllers: the Deployment of a ReplicaSet, say."""
    obj = objects.get(uid)
    while obj is not None and (above := objects.get(_controller(obj))) is not None:
        obj = above
    return object_key(obj) if obj is not None else None


def _causes(admission: Admission, store: ObjectStore) -> dict[str, str]:
    """Return what the rules said that denied a Pod, by `policy/rule`."""
    namespace = store.get("v1", "Namespace", "", admission.request.namespace)
    return {
        "/".join(filter(None, (response.policy.key, result.rule.name))): result.message
        for response in admission.responses
        for result in response.results
        # A mutation that fails denies whatever the policy does with violations.
        if result.status in _DENYING
        and (admission.mutating or enforces(response.policy, result.rule, namespace))
    }


def _denied_pods_hazard(
    facts: Facts, owner: ObjectKey, admission: Admission, causes: dict[str, str]
) -> Hazard:
    said = "; ".join(
        f"`{rule}`{': ' if text else ''}{' '.join(text.split())}" for rule, text in causes.items()
    )
    denials = [
        one.number
        for one in facts.events
        if one.object[:2] == _POD
        and one.outcome == "denied"
        and any(rule in each.rules for each in one.failure_reasons for rule in causes)
    ]
    hint = (
        "let the rule pass over Pods that it cannot change"
        if admission.mutating
        else "let the template have what is asked for, or let the rule look at the controllers of "
        "Pods too, so that whoever makes one is told"
    )
    return Hazard(
        "KH017",
        HazardLevel.ERROR,
        f"the {owner.kind} is let in, and its Pods are denied: {said}; {hint}",
        objects=(owner,),
        policies=tuple(causes),
        events=tuple(denials[:1]),
        location=facts.place_of(next(iter(causes))) if causes else None,
    )


def cut_run(facts: Facts) -> Iterator[Hazard]:
    """KH014: the run was stopped before its end.

    Yield that a run was stopped, with the first step that was not played to its end.
    """
    if facts.cut is None:
        return
    left = len(facts.cut.steps)
    steps = f"{left} {'step was' if left == 1 else 'steps were'} not played"
    hint = "; `--max-events` lets it go on, where it is no loop" if facts.cut.by_events else ""
    yield Hazard(
        "KH014",
        HazardLevel.ERROR,
        f"the run was stopped at {facts.cut.reason}, before its end"
        f"{f': {steps}' if left else ''}; what would have come is not known{hint}",
        location=facts.cut.steps[0] if left else None,
    )


_LOST = (
    FailureCause.CONFLICT,
    FailureCause.EXISTS,
    FailureCause.NOT_FOUND,
    FailureCause.NOT_MET,
    FailureCause.NO_KIND,
    FailureCause.OTHER,
    FailureCause.RULE_GONE,
    FailureCause.TRIGGER_DIFFERS,
)
_NOTHING_LOST = "nothing is lost, the controller's log has errors that are none"


def given_up(facts: Facts) -> Iterator[Hazard]:
    """KH026: an UpdateRequest was given up for a reason that no other hazard reports.

    Yield what was given up: an error where something is wanting, an info where nothing is.
    """
    for event, failure_reason in facts.hindered(*_LOST):
        if event.given_up:
            text = f"an UpdateRequest was given up after five attempts: {failure_reason.message}"
            yield _given_up_hazard(facts, event, failure_reason, text)
    for event, failure_reason in facts.hindered(FailureCause.NAMESPACE_GOES):
        text = f"nothing is written into a namespace that is being deleted: {_NOTHING_LOST}"
        yield _given_up_hazard(facts, event, failure_reason, text)._replace(level=HazardLevel.INFO)
    for event, failure_reason in facts.hindered(
        FailureCause.TRIGGER_MISSING, FailureCause.TRIGGER_STAYS
    ):
        text = _without_trigger(facts, event, failure_reason)
        if event.given_up and text:
            yield _given_up_hazard(facts, event, failure_reason, text)._replace(
                level=HazardLevel.INFO
            )


def _without_trigger(facts: Facts, event: TimelineEvent, failure_reason: FailureReason) -> str:
    """Return why there was no trigger, "" where it was denied (KH002) or came late (KH013)."""
    request = facts.request_of(event)
    if request is not None and request.outcome == "denied":
        return ""
    if request is not None and request.outcome == "failed":
        return f"the request for which the UpdateRequest was written failed: {_NOTHING_LOST}"
    stored = facts.stored.get(failure_reason.uid)
    if stored is not None and stored.number > event.number:
        return ""
    return f"the trigger was gone when the UpdateRequest was worked on: {_NOTHING_LOST}"


def _given_up_hazard(
    facts: Facts, event: TimelineEvent, failure_reason: FailureReason, text: str
) -> Hazard:
    rules = rules_of(event, failure_reason)
    return Hazard(
        "KH026",
        HazardLevel.ERROR,
        text,
        objects=(failure_reason.object,) if failure_reason.object else (),
        policies=rules,
        events=(event.number,),
        location=facts.place_of(rules[0]) if rules else None,
    )
