"""KH002: a generate rule's trigger is denied by a validate rule, and generation tried in vain."""

from collections.abc import Iterator, Mapping

from kyvsim.kube.objects import Json
from kyvsim.languages.cel.facts import mutates
from kyvsim.model.obstacle import Reason
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.simulation import Hazard, HazardLevel, TimelineEvent
from kyvsim.sim.hazards.facts import Facts, rules_of

_OBJECT = ("generate for an object", "no trigger", "trigger resource not found")
_TARGETS = ("change existing objects for an object", "no trigger", "not found")
_DELETION = ("act on a deletion", "the trigger still there", "still exists in the cluster")


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield triggers that were denied, with the match that would keep the generate rule out."""
    rules = {
        "/".join(filter(None, (policy.key, rule.name))): (policy, rule)
        for policy in facts.policies
        for rule in policy.rules
    }
    for event, obstacle in facts.hindered(Reason.TRIGGER_MISSING, Reason.TRIGGER_STAYS):
        request = facts.request_of(event)
        if request is None or request.outcome != "denied" or not event.given_up:
            continue
        for name in rules_of(event, obstacle):
            yield _hazard(facts, name, request, rules)


def _hazard(
    facts: Facts, name: str, denial: TimelineEvent, rules: Mapping[str, tuple[Policy, Rule]]
) -> Hazard:
    named = dict.fromkeys(rule for one in denial.obstacles for rule in one.rules)
    deniers = [one for one in named if one in rules]
    by = ", ".join(f"`{one}`" for one in deniers) or "another webhook"
    policy = rules[name][0] if name in rules else None
    subject, finds, log = _DELETION if denial.action == "delete" else _OBJECT
    if policy is not None and mutates(policy.kind):
        subject, finds, log = _TARGETS
    message = (
        f"`{name}` was to {subject} that {by} denied: the UpdateRequest is written before the "
        f"verdict, finds {finds} in five attempts, and is dropped; nothing is lost, and the "
        f"controller's log says `{log}`"
    )
    hints = [hint for one in deniers for hint in _hints(rules[one][1])]
    if hints:
        message = f"{message}. The generate rule would keep out of it with {' and '.join(hints)}"
    place = facts.place_of(name)
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
    wanted = rule.facts.asked_labels
    if wanted is not None:
        listed = ", ".join(f"{_plain(key)}: {value!r}" for key, value in wanted.items())
        yield f"`match: resources: selector: matchLabels: {{{listed}}}`".replace("'", '"')
    elif rule.facts.section == "validate":
        yield f"preconditions that say what `{rule.name}` asks for"


def _plain(key: Json) -> str:
    """Return a key of a pattern without its anchor."""
    text = str(key)
    return text[text.index("(") + 1 : -1] if text.endswith(")") and "(" in text else text
