"""KH003: what a generate rule makes, or what is made from it, is a trigger of the same rule."""

from collections.abc import Iterator, Mapping

from kyvsim.kube.objects import Json, labels, metadata, object_key, text_field
from kyvsim.model.simulation import Hazard, HazardLevel
from kyvsim.sim.hazards.facts import Facts

_LABEL = "generate.kyverno.io/"
_MOST_SHOWN = 5


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield a rule for which generated objects lead back to it, with the longest chain seen."""
    known = facts.objects_by_uid()
    longest: dict[str, list[Json]] = {}
    for obj in known.values():
        rule = _rule_of(obj)
        chain = _ancestors(obj, known) if rule else []
        again = [one for one in chain[1:] if _rule_of(one) == rule]
        if again and len(chain) > len(longest.get(rule, ())):
            longest[rule] = chain
    for rule, chain in longest.items():
        yield _hazard(facts, rule, chain)


def _hazard(facts: Facts, rule: str, chain: list[Json]) -> Hazard:
    keys = [object_key(one) for one in reversed(chain)]
    titles = [f"{key.kind} {key.name}" for key in keys]
    shown = titles if len(titles) <= _MOST_SHOWN else [*titles[:_MOST_SHOWN], "…"]
    made = sum(_rule_of(one) == rule for one in chain)
    ends = "the run was stopped for it" if facts.endless else f"{made} times in this run"
    message = (
        f"`{rule}` is triggered by what comes of its own objects ({ends}): "
        f"{' → '.join(shown)}; exclude them by a label that the Pod template of the generated "
        "object carries too"
    )
    events = [
        one.number
        for one in facts.events
        if one.object in keys and rule in one.policies and one.action == "generate"
    ]
    return Hazard(
        "KH003",
        HazardLevel.ERROR,
        message,
        objects=tuple(keys),
        policies=(rule,),
        events=tuple(events),
        location=facts.place_of(rule),
    )


def _ancestors(obj: Json, known: Mapping[str, Json]) -> list[Json]:
    """Return an object and what it comes from, trigger by trigger and owner by owner."""
    chain: list[Json] = []
    at: Json | None = obj
    while at is not None and at not in chain:
        chain.append(at)
        at = known.get(_parent(at))
    return chain


def _parent(obj: Json) -> str:
    trigger = labels(obj).get(f"{_LABEL}trigger-uid")
    if trigger:
        return trigger
    owners = metadata(obj).get("ownerReferences") or ()
    return text_field(owners[0], "uid") if owners else ""


def _rule_of(obj: Json) -> str:
    marks = labels(obj)
    names = (marks.get(f"{_LABEL}{part}-name", "") for part in ("policy", "rule"))
    policy, rule = names
    namespace = marks.get(f"{_LABEL}policy-namespace", "")
    return f"{'/'.join(filter(None, (namespace, policy)))}/{rule}" if rule else ""
