"""KH002: a generate rule's trigger is denied by a validate rule, and generation tried in vain."""

from collections.abc import Iterator, Mapping

from kyvsim.kube.objects import Json
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.simulation import Hazard, HazardLevel, TimelineEvent
from kyvsim.sim.hazards.facts import Facts

_GONE = "failed to fetch trigger resource"


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield triggers that were denied, with the match that would keep the generate rule out."""
    rules = {
        f"{policy.key}/{rule.name}": (policy, rule)
        for policy in facts.policies()
        for rule in policy.rules
    }
    for event in facts.failed_attempts(_GONE):
        denial = _denial_of(event, facts)
        if denial is None:
            continue
        for name in event.policies:
            yield _hazard(facts, name, denial, rules)


def _denial_of(event: TimelineEvent, facts: Facts) -> TimelineEvent | None:
    """Return the denial of the request that led to an attempt, or None."""
    at: TimelineEvent | None = event
    while at is not None:
        if at.outcome == "denied":
            return at
        at = None if at.cause is None else facts.events[at.cause]
    return None


def _hazard(
    facts: Facts, name: str, denial: TimelineEvent, rules: Mapping[str, tuple[Policy, Rule]]
) -> Hazard:
    deniers = [one for one in denial.policies if one in rules]
    by = ", ".join(f"`{one}`" for one in deniers) or "another webhook"
    message = (
        f"`{name}` was to generate for an object that {by} denied: the UpdateRequest is written "
        "before the verdict, finds no trigger in five attempts, and is dropped; nothing is lost, "
        "and the controller's log says `trigger resource not found`"
    )
    hints = [hint for one in deniers for hint in _hints(rules[one][1])]
    if hints:
        message = f"{message}. The generate rule would keep out of it with {' and '.join(hints)}"
    place = facts.place(*rules[name]) if name in rules else None
    return Hazard(
        "KH002",
        HazardLevel.INFO,
        message,
        objects=(denial.object,),
        policies=(name, *deniers),
        events=(denial.number,),
        location=place,
    )


def _hints(rule: Rule) -> Iterator[str]:
    """Yield what a generate rule could ask for, so that it wants only what a rule lets in."""
    validate = rule.data.get("validate") or {}
    wanted = ((validate.get("pattern") or {}).get("metadata") or {}).get("labels")
    if wanted.__class__ is dict:
        listed = ", ".join(f"{_plain(key)}: {value!r}" for key, value in wanted.items())
        yield f"`match: resources: selector: matchLabels: {{{listed}}}`".replace("'", '"')
    elif validate:
        yield f"preconditions that say what `{rule.name}` asks for"


def _plain(key: Json) -> str:
    """Return a key of a pattern without its anchor."""
    text = str(key)
    return text[text.index("(") + 1 : -1] if text.endswith(")") and "(" in text else text
