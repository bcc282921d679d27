"""Hazards of generate rules: what they need is missing, denied, or made again and again."""

from collections.abc import Iterator, Mapping
from itertools import product

from kyvsim.engine.background import check_rule, open_background
from kyvsim.engine.compile import CompiledPolicy, CompiledRule
from kyvsim.engine.world import World
from kyvsim.kubernetes.objects import Json, ObjectKey, labels, metadata, object_key, text_field
from kyvsim.kubernetes.pods import POD_SPEC_PATHS, Reference, references
from kyvsim.languages import CLASSIC_POLICIES
from kyvsim.languages.cel.facts import mutates
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.result import Phase, RuleStatus
from kyvsim.model.simulation import FailureCause, FailureReason, Hazard, HazardLevel, TimelineEvent
from kyvsim.simulator.background.update_requests import LABEL
from kyvsim.simulator.configuration import ADMISSION
from kyvsim.simulator.downstream_watch import SOURCE
from kyvsim.simulator.hazards.facts import Facts, rules_of

_LABEL = "generate.kyverno.io/"

_ALWAYS_THERE = frozenset({("ServiceAccount", "default"), ("ConfigMap", "kube-root-ca.crt")})


def unmet_reference(facts: Facts) -> Iterator[Hazard]:
    """KH001: a Pod refers to an object that nothing creates in time.

    Yield the Pods that wait at the end, and the mutate rules that made them refer to it.
    """
    added = _added_by(facts)
    for pod in facts.sim.store.list("v1", "Pod", ""):
        for reference in references(pod):
            kind, namespace, name = reference.target
            there = facts.sim.store.get("v1", kind, namespace, name) is not None
            if there or reference.optional or (kind, name) in _ALWAYS_THERE:
                continue
            yield _unmet_reference_hazard(facts, pod, reference, added.get(reference.target, ()))


def _unmet_reference_hazard(
    facts: Facts, pod: Json, reference: Reference, rules: tuple[str, ...]
) -> Hazard:
    kind, namespace, name = reference.target
    places = ", ".join(reference.places)
    by = f"; the reference comes from {', '.join(f'`{one}`' for one in rules)}" if rules else ""
    message = f"the Pod waits for {kind} {namespace}/{name} ({places}), which nobody creates{by}"
    key = object_key(pod)
    shown = facts.sim.timeline.about(key)
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


_OBJECT = ("generate for an object", "no trigger", "trigger resource not found")
_TARGETS = ("change existing objects for an object", "no trigger", "not found")
_DELETION = ("act on a deletion", "the trigger still there", "still exists in the cluster")


def denied_trigger(facts: Facts) -> Iterator[Hazard]:
    """KH002: a generate rule's trigger is denied by a validate rule, and generation tried in vain.

    Yield triggers that were denied, with the match that would keep the generate rule out.
    """
    rules = {
        "/".join(filter(None, (policy.key, rule.name))): (policy, rule)
        for policy in facts.policies
        for rule in policy.rules
    }
    for event, failure_reason in facts.hindered(
        FailureCause.TRIGGER_MISSING, FailureCause.TRIGGER_STAYS
    ):
        request = facts.request_of(event)
        if request is None or request.outcome != "denied" or not event.given_up:
            continue
        for name in rules_of(event, failure_reason):
            yield _denied_trigger_hazard(facts, name, request, rules)


def _denied_trigger_hazard(
    facts: Facts, name: str, denial: TimelineEvent, rules: Mapping[str, tuple[Policy, Rule]]
) -> Hazard:
    named = dict.fromkeys(rule for one in denial.failure_reasons for rule in one.rules)
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


_MOST_SHOWN = 5


def generate_loop(facts: Facts) -> Iterator[Hazard]:
    """KH003: what a generate rule makes, or what is made from it, is a trigger of the same rule.

    Yield a rule for which generated objects lead back to it, with the longest chain seen.
    """
    known = facts.objects_by_uid()
    longest: dict[str, list[Json]] = {}
    for obj in known.values():
        rule = _generate_loop_rule_of(obj)
        chain = _ancestors(obj, known) if rule else []
        again = [one for one in chain[1:] if _generate_loop_rule_of(one) == rule]
        if again and len(chain) > len(longest.get(rule, ())):
            longest[rule] = chain
    for rule, chain in longest.items():
        yield _generate_loop_hazard(facts, rule, chain)


def _generate_loop_hazard(facts: Facts, rule: str, chain: list[Json]) -> Hazard:
    keys = [object_key(one) for one in reversed(chain)]
    titles = [f"{key.kind} {key.name}" for key in keys]
    shown = titles if len(titles) <= _MOST_SHOWN else [*titles[:_MOST_SHOWN], "…"]
    made = sum(_generate_loop_rule_of(one) == rule for one in chain)
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


def _generate_loop_rule_of(obj: Json) -> str:
    marks = labels(obj)
    names = (marks.get(f"{_LABEL}{part}-name", "") for part in ("policy", "rule"))
    policy, rule = names
    namespace = marks.get(f"{_LABEL}policy-namespace", "")
    return f"{'/'.join(filter(None, (namespace, policy)))}/{rule}" if rule else ""


def missing_source(facts: Facts) -> Iterator[Hazard]:
    """KH005: a clone rule's source is not there when the trigger comes.

    Yield UpdateRequests that were given up for want of a source.
    """
    for event, failure_reason in facts.hindered(FailureCause.SOURCE_MISSING):
        rules = rules_of(event, failure_reason)
        yield Hazard(
            "KH005",
            HazardLevel.ERROR,
            f"nothing was cloned: {failure_reason.message}; a source that comes later changes "
            "nothing until the trigger changes",
            policies=rules,
            events=(event.number,),
            location=facts.place_of(rules[0]),
        )


_WRITES = frozenset({"generate", "synchronize"})
_OWNER = tuple(
    f"{_LABEL}{part}" for part in ("policy-namespace", "policy-name", "rule-name", "trigger-uid")
)


def downstream_name(facts: Facts) -> Iterator[Hazard]:
    """KH006: the name of a generated object is not valid, or is taken already.

    Yield objects that could not be written, and those that others owned before.
    """
    yield from _invalid(facts)
    reported: set[tuple[object, ...]] = set()
    for event in facts.events:
        taken = _taken(event)
        if taken and (event.object, event.policies) not in reported:
            reported.add((event.object, event.policies))
            yield _downstream_name_hazard(facts, event, taken, HazardLevel.ERROR)


def _invalid(facts: Facts) -> Iterator[Hazard]:
    reported: set[tuple[ObjectKey, str]] = set()
    for attempt, failure_reason in facts.hindered(FailureCause.INVALID):
        tried = [
            one
            for one in facts.events
            if one.cause == attempt.number
            and failure_reason.object == one.object
            and one.failure_reasons
        ]
        text = f"the object is refused: {failure_reason.message}"
        event = tried[0] if tried else attempt
        if (event.object, text) not in reported:
            reported.add((event.object, text))
            yield _downstream_name_hazard(facts, event, text, HazardLevel.ERROR)


def _taken(event: TimelineEvent) -> str:
    """Return the owner of an object that a rule overwrote, "" if it was its own or had none."""
    if event.action not in _WRITES or event.outcome != "done" or event.before is None:
        return ""
    before, after = _owner(event.before), _owner(event.after)
    if not any(before):
        return "there was an object of this name that no rule had made: it is taken over"
    if before == after:
        return ""
    if before[:3] != after[:3]:
        return f"it overwrites what `{before[1]}/{before[2]}` generated: the last one wins"
    return "two triggers generate one object: each overwrites what the other one made"


def _owner(obj: Json) -> tuple[str, ...]:
    marks = labels(obj)
    return tuple(marks.get(name, "") for name in _OWNER)


def _downstream_name_hazard(
    facts: Facts, event: TimelineEvent, text: str, level: HazardLevel
) -> Hazard:
    return Hazard(
        "KH006",
        level,
        text,
        objects=(event.object,),
        policies=event.policies,
        events=(event.number,),
        location=facts.place_of(event.policies[0]) if event.policies else None,
    )


def missing_namespace(facts: Facts) -> Iterator[Hazard]:
    """KH010: a generated object's namespace does not exist: nothing is created or reported.

    Yield UpdateRequests that could write nothing for want of a namespace.
    """
    for event, failure_reason in facts.hindered(FailureCause.NO_NAMESPACE):
        rules = rules_of(event, failure_reason)
        end = (
            "the UpdateRequest was given up after five attempts"
            if event.given_up
            else "Kyverno takes this for done, tries no second time and says so only in its log"
        )
        yield Hazard(
            "KH010",
            HazardLevel.ERROR,
            f"{failure_reason.message}: {end}",
            objects=(failure_reason.object,) if failure_reason.object else (),
            policies=rules,
            events=(event.number,),
            location=facts.place_of(rules[0]),
        )


_UNSEEN = frozenset({"kube-system", "kube-public", "kube-node-lease", "kyverno"})
_TRIGGER = "generate.kyverno.io/trigger-uid"


def early_trigger(facts: Facts) -> Iterator[Hazard]:
    """KH011: an object that a generate rule is for was there before the policy was ready.

    Yield objects that a rule would generate for, had they come later.
    """
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
                yield _early_trigger_hazard(facts, f"{policy.policy.key}/{rule.rule.name}", event)


def _created(facts: Facts) -> Iterator[tuple[Json, TimelineEvent]]:
    """Yield what is there at the end, with the event of its creation."""
    events = {one.object: one for one in facts.events if one.action == "create"}
    for obj in facts.sim.store.every():
        key = object_key(obj)
        place = key.name if key.kind == "Namespace" else key.namespace
        if key in events and place not in _UNSEEN and key.kind not in CLASSIC_POLICIES.kinds:
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
    given = open_background(policy.policy, obj, None, World(facts.sim.store, account=ADMISSION))
    outcome = check_rule(rule, given, None)
    return outcome is not None and outcome.status is RuleStatus.PASS


def _early_trigger_hazard(facts: Facts, name: str, event: TimelineEvent) -> Hazard:
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


_TRIES = "the UpdateRequest used up its five attempts before the object was stored"
_ONE_TRY = "its only attempt came before the object was stored"


def lost_trigger(facts: Facts) -> Iterator[Hazard]:
    """KH013: an UpdateRequest was given up before the object that it is about was stored.

    Yield triggers that were let in, and stored only when the attempts were used up.
    """
    known = facts.objects_by_uid()
    for event, failure_reason in facts.hindered(FailureCause.TRIGGER_MISSING):
        stored = facts.stored.get(failure_reason.uid)
        if stored is None or stored.number < event.number:
            continue
        rules = rules_of(event, failure_reason)
        done, how = ("generated", _TRIES) if event.given_up else ("mutated", _ONE_TRY)
        yield Hazard(
            "KH013",
            HazardLevel.ERROR,
            f"nothing is {done} for an object that was let in: {how}, as happens where other "
            "webhooks or the API server take long; a later change of the object makes a new "
            "UpdateRequest",
            objects=(object_key(known[failure_reason.uid]),),
            policies=rules,
            events=(event.number,),
            location=facts.place_of(rules[0]) if rules else None,
        )


_WAY_OUT = (
    "let the object have what is asked for, or exclude it there: by the label "
    "`app.kubernetes.io/managed-by: kyverno`, which generated objects carry, or by the subject "
    "`kyverno-background-controller`"
)


def denied_downstream(facts: Facts) -> Iterator[Hazard]:
    """KH020: what a rule writes in the background is denied.

    Yield objects of rules that other rules, or other webhooks, do not let in.
    """
    reported: set[tuple[object, ...]] = set()
    for event, failure_reason in facts.hindered(FailureCause.DENIED):
        hazard = _denied_downstream_hazard(facts, event, failure_reason)
        about = (hazard.objects, hazard.policies)
        if about not in reported:
            reported.add(about)
            yield hazard


def _denied_downstream_hazard(
    facts: Facts, event: TimelineEvent, failure_reason: FailureReason
) -> Hazard:
    writes = [
        one
        for one in facts.events
        if one.cause == event.number
        and one.object == failure_reason.object
        and one.outcome == "denied"
    ]
    deniers = tuple(
        dict.fromkeys(rule for one in writes for each in one.failure_reasons for rule in each.rules)
    )
    by = ", ".join(f"`{one}`" for one in deniers) or "another webhook"
    rules = rules_of(event, failure_reason)
    end = (
        "the UpdateRequest is given up after five attempts"
        if event.given_up
        else "it is tried again"
    )
    return Hazard(
        "KH020",
        HazardLevel.ERROR,
        f"what the rule writes is denied by {by}: {end}, and a later change of that policy alone "
        f"brings nothing; {_WAY_OUT}",
        objects=(failure_reason.object,) if failure_reason.object else (),
        policies=(*rules, *deniers),
        events=(event.number, *(one.number for one in writes[:1])),
        location=facts.place_of(rules[0]) if rules else None,
    )


def lost_drift(facts: Facts) -> Iterator[Hazard]:
    """KH021: a rule depends on the requesting user, and restoring its objects has none.

    Yield work that was made by no request and failed for want of one.
    """
    reported: set[tuple[str, ...]] = set()
    for event, failure_reason in facts.hindered(FailureCause.USER_UNKNOWN):
        rules = rules_of(event, failure_reason)
        if rules in reported:
            continue
        reported.add(rules)
        request = facts.request_of(event)
        yield Hazard(
            "KH021",
            HazardLevel.ERROR,
            "the rule asks who makes a request (`request.userInfo`), and work that restores or "
            "renews what it generated is made by no request: objects that are changed or deleted "
            "stay so although the rule says `synchronize: true`; note the user on the trigger by a "
            f"mutate rule, and read it from there ({failure_reason.message})",
            objects=(request.object,) if request else (),
            policies=rules,
            events=(*((request.number,) if request else ()), event.number),
            location=facts.place_of(rules[0]) if rules else None,
        )


def unsynchronized_deletion(facts: Facts) -> Iterator[Hazard]:
    """KH031: an object of a rule without synchronization is deleted with those of its neighbours.

    Yield rules with `synchronize: false` whose objects the background controller deleted.

    It looks for what to delete by policy, trigger and kind, and not by rule
    (`kyvsim/simulator/background/generate.py`), so it also finds what neighbours made.
    """
    found: dict[str, list[TimelineEvent]] = {}
    for event in facts.events:
        named = _unsynchronized_deletion_rule_of(event)
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


def _unsynchronized_deletion_rule_of(event: TimelineEvent) -> str:
    """Return the rule that made the object of an event, as `policy/rule`, "" for none."""
    marks = labels(event.before) if event.before is not None else {}
    keys = (f"{LABEL}policy-namespace", f"{LABEL}policy-name", f"{LABEL}rule-name")
    namespace, policy, rule = (marks.get(one) or "" for one in keys)
    return "/".join(filter(None, (namespace, policy, rule))) if policy and rule else ""


def _find(facts: Facts, named: str) -> tuple[Policy | None, Rule | None]:
    for policy in facts.policies:
        for rule in policy.rules:
            if named == f"{policy.key}/{rule.name}":
                return policy, rule
    return None, None


def unfollowed_copy(facts: Facts) -> Iterator[Hazard]:
    """KH032: a generated object that was made again is not followed any more.

    Yield what GeneratingPolicies restored after a deletion and do not know since.

    The controller keeps an object under the uid that it had
    (upstream: pkg/background/gpol/dynamic_watcher.go), and what it makes in its place has another.
    """
    last: dict[tuple[str, ...], TimelineEvent] = {}
    for event in facts.events:
        if event.action == "restore" and event.outcome == "done" and event.before is None:
            last[event.object] = event
    for event in last.values():
        live = facts.sim.store.get(*event.object)
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
