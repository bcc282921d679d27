"""KH031: an object of a rule without synchronization is deleted with those of its neighbours."""

from collections.abc import Iterator

from kyvsim.kube.objects import labels
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.simulation import Hazard, HazardLevel, TimelineEvent
from kyvsim.sim.background.ownership import LABEL
from kyvsim.sim.hazards.facts import Facts


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield rules with `synchronize: false` whose objects the background controller deleted.

    It looks for what to delete by policy, trigger and kind, and not by rule
    (`kyvsim/sim/background/downstreams.py`), so it also finds what neighbours made.
    """
    found: dict[str, list[TimelineEvent]] = {}
    for event in facts.events:
        named = _rule_of(event)
        if event.action == "delete downstream" and event.outcome == "done" and named:
            found.setdefault(named, []).append(event)
    for named, events in found.items():
        policy, rule = _find(facts, named)
        if policy is None or rule is None:
            continue
        if rule.facts.generation is None or rule.facts.generation.synchronizes:
            continue
        others = tuple(dict.fromkeys(one for each in events for one in each.policies))
        causes = " and ".join(f"`{one}`" for one in others if one != named) or f"`{policy.key}`"
        yield Hazard(
            "KH031",
            HazardLevel.WARNING,
            f"`{named}` has `synchronize: false`, and what it made is deleted on account of "
            f"{causes}: Kyverno looks for what to delete by policy, trigger and kind, and not by "
            "rule; a policy of its own keeps them apart",
            objects=tuple(dict.fromkeys(one.object for one in events)),
            policies=(named, *(one for one in others if one != named)),
            events=tuple(one.number for one in events),
            location=facts.place(policy, rule),
        )


def _rule_of(event: TimelineEvent) -> str:
    """Return the rule that made the object of an event, as `policy/rule`, "" for none."""
    marks = labels(event.before) if event.before is not None else {}
    parts = (f"{LABEL}policy-namespace", f"{LABEL}policy-name", f"{LABEL}rule-name")
    namespace, policy, rule = (marks.get(one) or "" for one in parts)
    return "/".join(filter(None, (namespace, policy, rule))) if policy and rule else ""


def _find(facts: Facts, named: str) -> tuple[Policy | None, Rule | None]:
    for policy in facts.policies:
        for rule in policy.rules:
            if named == f"{policy.key}/{rule.name}":
                return policy, rule
    return None, None
