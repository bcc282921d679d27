"""KH011: an object that a generate rule is for was there before the policy was ready."""

from collections.abc import Iterator
from itertools import product

from kyvsim.compile import CompiledPolicy, CompiledRule
from kyvsim.engine import World
from kyvsim.engine.background import check_rule, open_background
from kyvsim.kube.objects import Json, labels, metadata, object_key, text_field
from kyvsim.languages import classic
from kyvsim.model.result import RuleStatus
from kyvsim.model.simulation import Hazard, HazardLevel, TimelineEvent
from kyvsim.sim.hazards.facts import Facts
from kyvsim.sim.kyverno.users import ADMISSION

_UNSEEN = frozenset({"kube-system", "kube-public", "kube-node-lease", "kyverno"})
_TRIGGER = "generate.kyverno.io/trigger-uid"


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield objects that a rule would generate for, had they come later."""
    ready, created = _ready(facts), [*_created(facts)]
    served = {labels(obj).get(_TRIGGER) for obj in facts.objects_by_uid().values()}
    for policy in facts.kyverno.cache.every():
        rules = [one for one in policy.rules if _looks_ahead_only(one)]
        if not rules:
            continue
        own = policy.policy
        is_ready = ready.get((own.kind, own.namespace, own.name), 0)
        early = [
            (obj, event)
            for obj, event in created
            if event.number < is_ready
            and event.actor != "cluster"
            and text_field(metadata(obj), "uid") not in served
        ]
        for rule, (obj, event) in product(rules, early):
            if _wants(facts, policy, rule, obj):
                yield _hazard(facts, f"{policy.policy.key}/{rule.rule.name}", event)


def _created(facts: Facts) -> Iterator[tuple[Json, TimelineEvent]]:
    """Yield what is there at the end, with the event of its creation."""
    events = {one.object: one for one in facts.events if one.action == "create"}
    for obj in facts.parts.store.every():
        key = object_key(obj)
        place = key.name if key.kind == "Namespace" else key.namespace
        if key in events and place not in _UNSEEN and key.kind not in classic.LANGUAGE.kinds:
            yield obj, events[key]


def _ready(facts: Facts) -> dict[tuple[str, str, str], int]:
    """Return the events with which policies first became ready, by kind, namespace and name."""
    found: dict[tuple[str, str, str], int] = {}
    for event in facts.events:
        key = event.object
        if event.action == "update status":
            found.setdefault((key.kind, key.namespace, key.name), event.number)
    return found


def _looks_ahead_only(rule: CompiledRule) -> bool:
    """Return whether a rule generates, and not for what is there already."""
    generation = rule.rule.facts.generation
    return generation is not None and not generation.looks_back


def _wants(facts: Facts, policy: CompiledPolicy, rule: CompiledRule, obj: Json) -> bool:
    given = open_background(policy.policy, obj, None, World(facts.parts.store, account=ADMISSION))
    outcome = check_rule(rule, given, None)
    return outcome is not None and outcome.status is RuleStatus.PASS


def _hazard(facts: Facts, name: str, event: TimelineEvent) -> Hazard:
    setup = event.actor == "setup"
    message = (
        f"`{name}` generates nothing for an object that was there before the policy was ready; "
        "`generateExisting: true` makes it look back"
    )
    return Hazard(
        "KH011",
        HazardLevel.INFO if setup else HazardLevel.WARNING,
        message,
        objects=(event.object,),
        policies=(name,),
        events=(event.number,),
        location=facts.place_of(name),
    )
