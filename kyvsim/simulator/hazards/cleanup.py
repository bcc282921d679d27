"""Hazards of cleanup policies and lifetimes."""

from collections.abc import Iterator

from kyvsim.kubernetes.objects import ObjectKey, labels, object_key
from kyvsim.model.simulation import FailureCause, FailureReason, Hazard, HazardLevel, TimelineEvent
from kyvsim.simulator.api_server.metadata import is_terminating
from kyvsim.simulator.cleanup import TTL_LABEL, missing_verbs
from kyvsim.simulator.hazards.facts import Facts

_ACTOR = "cleanup"
_ROLE = (
    "a ClusterRole with the label `rbac.kyverno.io/aggregate-to-cleanup-controller: "
    '"true"` gives it the right'
)
_EXCLUDE = "exclude the subject `kyverno-cleanup-controller` there"


def hindered_cleanup(facts: Facts) -> Iterator[Hazard]:
    """KH023: something that a cleanup policy or a lifetime wants gone may not be deleted.

    Yield what the cleanup controller could not list or delete, each thing once.
    """
    reported: set[tuple[object, ...]] = set()
    for event in facts.events:
        if event.actor != _ACTOR or event.action not in {"delete", "list"}:
            continue
        for failure_reason in event.failure_reasons:
            about = (event.object, event.policies, failure_reason.reason)
            if (
                failure_reason.reason in {FailureCause.DENIED, FailureCause.NO_RIGHT}
                and about not in reported
            ):
                reported.add(about)
                yield _hindered_cleanup_hazard(facts, event, failure_reason)


def _hindered_cleanup_hazard(
    facts: Facts, event: TimelineEvent, failure_reason: FailureReason
) -> Hazard:
    wanting = tuple(one for one in event.policies if one not in failure_reason.rules)
    wish = "its cleanup policy" if wanting else "its label `cleanup.kyverno.io/ttl`"
    if failure_reason.reason is FailureCause.DENIED:
        by = ", ".join(f"`{one}`" for one in failure_reason.rules) or "another webhook"
        why = f"{by} denies the deletion; {_EXCLUDE}"
    else:
        why = f"the cleanup controller lacks a permission: {failure_reason.message}; {_ROLE}"
    what = "nothing of the kind is deleted" if event.action == "list" else "the object stays"
    policies = (*wanting, *failure_reason.rules)
    return Hazard(
        "KH023",
        HazardLevel.ERROR,
        f"{what}, whatever {wish} says: {why}",
        objects=(event.object,) if event.object.name else (),
        policies=policies,
        events=(event.number,),
        location=facts.place_of(policies[0]) if policies else None,
    )


def lasting_lifetime(facts: Facts) -> Iterator[Hazard]:
    """KH024: an object has a lifetime, and is of a kind that the cleanup controller may not delete.

    Yield the kinds with a lifetime that nobody watches, with the objects of each.
    """
    found: dict[tuple[str, str], list[ObjectKey]] = {}
    for obj in facts.sim.store.every():
        if TTL_LABEL in labels(obj) and not is_terminating(obj):
            key = object_key(obj)
            found.setdefault(key[:2], []).append(key)
    for kind, keys in found.items():
        verbs = missing_verbs(keys[0], facts.sim.store)
        if verbs:
            yield _lasting_lifetime_hazard(facts, kind, keys, verbs)


def _lasting_lifetime_hazard(
    facts: Facts, kind: tuple[str, str], keys: list[ObjectKey], verbs: list[str]
) -> Hazard:
    listed = ", ".join(verbs)
    numbers = (number for key in keys for number in facts.sim.timeline.about(key)[:1])
    return Hazard(
        "KH024",
        HazardLevel.ERROR,
        f"the label `{TTL_LABEL}` does nothing here: the cleanup controller lacks the right to "
        f"{listed} {kind[1]} of {kind[0]}, and says so only in its log; a ClusterRole with the "
        'label `rbac.kyverno.io/aggregate-to-cleanup-controller: "true"` gives it the right',
        objects=tuple(keys),
        events=tuple(sorted(numbers))[:1],
    )
