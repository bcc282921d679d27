"""KH001: a Pod refers to an object that nothing creates in time."""

from collections.abc import Iterator

from kyvsim.kube.objects import Json, object_key
from kyvsim.kube.pod_references import Reference, references
from kyvsim.kube.pod_spec import POD_SPEC_PATHS
from kyvsim.model.result import Phase, RuleStatus
from kyvsim.model.simulation import Hazard, HazardLevel
from kyvsim.sim.hazards.facts import Facts

_ALWAYS_THERE = frozenset({("ServiceAccount", "default"), ("ConfigMap", "kube-root-ca.crt")})


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield the Pods that wait at the end, and the mutate rules that made them refer to it."""
    added = _added_by(facts)
    for pod in facts.parts.store.list("v1", "Pod", ""):
        for reference in references(pod):
            kind, namespace, name = reference.target
            there = facts.parts.store.get("v1", kind, namespace, name) is not None
            if there or reference.optional or (kind, name) in _ALWAYS_THERE:
                continue
            yield _hazard(facts, pod, reference, added.get(reference.target, ()))


def _hazard(facts: Facts, pod: Json, reference: Reference, rules: tuple[str, ...]) -> Hazard:
    kind, namespace, name = reference.target
    places = ", ".join(reference.places)
    by = f"; the reference comes from {', '.join(f'`{one}`' for one in rules)}" if rules else ""
    message = f"the Pod waits for {kind} {namespace}/{name} ({places}), which nobody creates{by}"
    key = object_key(pod)
    shown = facts.parts.timeline.about(key)
    return Hazard(
        "KH001",
        HazardLevel.ERROR if rules else HazardLevel.WARNING,
        message,
        objects=(key,),
        policies=rules,
        events=(shown[0], shown[-1]) if len(shown) > 1 else tuple(shown),
        location=facts.place_of(rules[0]) if rules else None,
    )


def _added_by(facts: Facts) -> dict[tuple[str, str, str], tuple[str, ...]]:
    """Return the rules that put references into what they mutated, by what is referred to."""
    found: dict[tuple[str, str, str], dict[str, None]] = {}
    for admission in facts.admissions:
        before = admission.review.object
        kind = object_key(before).kind
        if not admission.mutating or (kind != "Pod" and kind not in POD_SPEC_PATHS):
            continue
        for response in admission.responses:
            if response.phase is not Phase.MUTATE or not response.changed:
                continue
            had = {one.target for one in references(before)}
            new = [one for one in references(response.object) if one.target not in had]
            rules = [one.rule.name for one in response.results if one.status is RuleStatus.PASS]
            for reference in new:
                names = found.setdefault(reference.target, {})
                names.update({f"{response.policy.key}/{rule}": None for rule in rules})
            before = response.object
    return {target: tuple(names) for target, names in found.items()}
