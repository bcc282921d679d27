"""KH024: an object has a lifetime, and is of a kind that the cleanup controller may not delete."""

from collections.abc import Iterator

from kyvsim.kube.objects import ObjectKey, labels, object_key
from kyvsim.model.simulation import Hazard, HazardLevel
from kyvsim.sim.cleanup.time_to_live import TTL_LABEL
from kyvsim.sim.cleanup.ttl_controller import missing_verbs
from kyvsim.sim.hazards.facts import Facts
from kyvsim.sim.server.metadata import is_terminating


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield the kinds with a lifetime that nobody watches, with the objects of each."""
    found: dict[tuple[str, str], list[ObjectKey]] = {}
    for obj in facts.parts.store.every():
        if TTL_LABEL in labels(obj) and not is_terminating(obj):
            key = object_key(obj)
            found.setdefault(key[:2], []).append(key)
    for kind, keys in found.items():
        verbs = missing_verbs(keys[0], facts.parts.store)
        if verbs:
            yield _hazard(facts, kind, keys, verbs)


def _hazard(facts: Facts, kind: tuple[str, str], keys: list[ObjectKey], verbs: list[str]) -> Hazard:
    listed = ", ".join(verbs)
    numbers = (number for key in keys for number in facts.parts.timeline.about(key)[:1])
    return Hazard(
        "KH024",
        HazardLevel.ERROR,
        f"the label `{TTL_LABEL}` does nothing here: the cleanup controller lacks the right to "
        f"{listed} {kind[1]} of {kind[0]}, and says so only in its log; a ClusterRole with the "
        'label `rbac.kyverno.io/aggregate-to-cleanup-controller: "true"` gives it the right',
        objects=tuple(keys),
        events=tuple(sorted(numbers))[:1],
    )
