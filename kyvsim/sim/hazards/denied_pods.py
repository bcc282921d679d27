"""KH017: a workload is let in, and its Pods are denied."""

from collections.abc import Iterator

from kyvsim.kube.objects import Json, ObjectKey, metadata, object_key, text_field
from kyvsim.model.request import Operation
from kyvsim.model.result import RuleStatus
from kyvsim.model.simulation import Hazard, HazardLevel
from kyvsim.sim.hazards.facts import Facts
from kyvsim.sim.kyverno.admission import Admission
from kyvsim.sim.kyverno.failure_action import enforces
from kyvsim.sim.server import Store
from kyvsim.sim.server.filling import entries

_DENYING = frozenset({RuleStatus.FAIL, RuleStatus.ERROR})
_POD = ("v1", "Pod")


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield the workloads whose last try to make a Pod was denied."""
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
    told: set[tuple[ObjectKey, tuple[str, ...]]] = set()
    for uid, admission in last.items():
        owner = _highest(uid, objects)
        if not admission.blocked or owner is None or facts.parts.store.get(*owner) is None:
            continue
        causes = _causes(admission, facts.parts.store)
        if (owner, tuple(causes)) not in told:
            told.add((owner, tuple(causes)))
            yield _hazard(facts, owner, admission, causes)


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


def _causes(admission: Admission, store: Store) -> dict[str, str]:
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


def _hazard(facts: Facts, owner: ObjectKey, admission: Admission, causes: dict[str, str]) -> Hazard:
    said = "; ".join(
        f"`{rule}`{': ' if text else ''}{' '.join(text.split())}" for rule, text in causes.items()
    )
    denials = [
        one.number
        for one in facts.events
        if one.object[:2] == _POD
        and one.outcome == "denied"
        and any(rule in each.rules for each in one.obstacles for rule in causes)
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
