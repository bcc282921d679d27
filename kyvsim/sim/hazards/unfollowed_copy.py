"""KH032: a generated object that was made again is not followed any more."""

from collections.abc import Iterator

from kyvsim.kube.objects import labels, metadata, text_field
from kyvsim.model.simulation import Hazard, HazardLevel, TimelineEvent
from kyvsim.sim.hazards.facts import Facts
from kyvsim.sim.kyverno.downstream_watch import SOURCE


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield what GeneratingPolicies restored after a deletion and do not know since.

    The controller keeps an object under the uid that it had
    (upstream: pkg/background/gpol/dynamic_watcher.go), and what it makes in its place has another.
    """
    last: dict[tuple[str, ...], TimelineEvent] = {}
    for event in facts.events:
        if event.action == "restore" and event.outcome == "done" and event.before is None:
            last[event.object] = event
    for event in last.values():
        live = facts.parts.store.get(*event.object)
        if live is None or _uid(live) != _uid(event.after) or facts.kyverno.downstreams.knows(live):
            continue
        is_copy = SOURCE in labels(live)
        source = "is not changed or deleted with its source, " if is_copy else ""
        yield Hazard(
            "KH032",
            HazardLevel.WARNING,
            f"{event.object.kind} {event.object.name} was deleted and made again, and Kyverno "
            f"knows it only by the uid that it had: from now on it {source}is not restored when "
            "somebody changes or deletes it; a change of the policy or of the trigger, or a "
            "restart of the background controller, makes it known again",
            objects=(event.object,),
            policies=event.policies,
            events=(event.number,),
            location=facts.place_of(event.policies[0]) if event.policies else None,
        )


def _uid(obj: object) -> str:
    return text_field(metadata(obj), "uid") if obj is not None else ""
