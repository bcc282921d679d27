"""KH023: something that a cleanup policy or a lifetime wants gone may not be deleted."""

from collections.abc import Iterator

from kyvsim.model.obstacle import Obstacle, Reason
from kyvsim.model.simulation import Hazard, HazardLevel, TimelineEvent
from kyvsim.sim.hazards.facts import Facts

_ACTOR = "cleanup"
_ROLE = (
    "a ClusterRole with the label `rbac.kyverno.io/aggregate-to-cleanup-controller: "
    '"true"` gives it the right'
)
_EXCLUDE = "exclude the subject `kyverno-cleanup-controller` there"


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield what the cleanup controller could not list or delete, each thing once."""
    told: set[tuple[object, ...]] = set()
    for event in facts.events:
        if event.actor != _ACTOR or event.action not in {"delete", "list"}:
            continue
        for obstacle in event.obstacles:
            about = (event.object, event.policies, obstacle.reason)
            if obstacle.reason in {Reason.DENIED, Reason.NO_RIGHT} and about not in told:
                told.add(about)
                yield _hazard(facts, event, obstacle)


def _hazard(facts: Facts, event: TimelineEvent, obstacle: Obstacle) -> Hazard:
    wanting = tuple(one for one in event.policies if one not in obstacle.rules)
    wish = "its cleanup policy" if wanting else "its label `cleanup.kyverno.io/ttl`"
    if obstacle.reason is Reason.DENIED:
        by = ", ".join(f"`{one}`" for one in obstacle.rules) or "another webhook"
        why = f"{by} denies the deletion; {_EXCLUDE}"
    else:
        why = f"the cleanup controller lacks a permission: {obstacle.message}; {_ROLE}"
    what = "nothing of the kind is deleted" if event.action == "list" else "the object stays"
    policies = (*wanting, *obstacle.rules)
    return Hazard(
        "KH023",
        HazardLevel.ERROR,
        f"{what}, whatever {wish} says: {why}",
        objects=(event.object,) if event.object.name else (),
        policies=policies,
        events=(event.number,),
        location=facts.place_of(policies[0]) if policies else None,
    )
