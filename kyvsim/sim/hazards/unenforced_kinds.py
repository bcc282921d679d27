"""KH016: objects are there that would decide about others in a cluster, and do not here."""

from collections.abc import Iterator
from types import MappingProxyType

from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import ObjectKey
from kyvsim.model.simulation import Hazard, HazardLevel
from kyvsim.schema.facts import CEL_GROUP
from kyvsim.sim.hazards.facts import Facts
from kyvsim.sim.kyverno.cel_limits import not_done
from kyvsim.sim.kyverno.policy_cache import CEL_KINDS

_ADMISSION = "admissionregistration.k8s.io"
_HEEDED = frozenset((*CEL_KINDS, "PolicyException"))
_KINDS = MappingProxyType(
    {
        (_ADMISSION, "ValidatingWebhookConfiguration"): "its webhooks",
        (_ADMISSION, "MutatingWebhookConfiguration"): "its webhooks",
        ("", "ResourceQuota"): "its limits",
        ("", "LimitRange"): "its limits and defaults",
        ("policy", "PodDisruptionBudget"): "its budget, at evictions",
    }
)
"""What does not count here of a kind."""


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield each kind of which the simulation takes objects without doing what they say."""
    found: dict[tuple[str, str], dict[ObjectKey, int]] = {}
    for event in facts.events:
        group = split_api_version(event.object.api_version)[0]
        what = group, event.object.kind
        counts = what in _KINDS or (group == CEL_GROUP and what[1] not in _HEEDED)
        if counts and event.action == "create" and event.outcome == "done":
            found.setdefault(what, {}).setdefault(event.object, event.number)
    yield from _in_part(facts)
    for (group, kind), events in found.items():
        part = _KINDS.get((group, kind), "what it says")
        yield Hazard(
            "KH016",
            HazardLevel.WARNING,
            f"{kind} ({group or 'v1'}) is stored and not enforced: {part} would count in a "
            "cluster, and nothing here tells how",
            objects=tuple(events),
            events=tuple(events.values()),
        )


def _in_part(facts: Facts) -> Iterator[Hazard]:
    """Yield policies in CEL of which something counts for nothing here."""
    told: set[tuple[ObjectKey, str]] = set()
    for event in facts.events:
        if event.outcome != "done" or event.after is None:
            continue
        for what in not_done(event.after):
            if (event.object, what) not in told:
                told.add((event.object, what))
                yield Hazard(
                    "KH016",
                    HazardLevel.WARNING,
                    f"of the {event.object.kind} {what} is not simulated: it would count in a "
                    "cluster, and nothing here tells how",
                    objects=(event.object,),
                    events=(event.number,),
                )
