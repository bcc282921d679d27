"""Hazards of generate rules: what they need is missing, denied, or made again and again."""

from collections.abc import Iterator, Mapping
from itertools import product

from kyvsim.engine.background import check_rule, open_background
from kyvsim.engine.world import World
from kyvsim.kubernetes.objects import Json, ObjectKey, labels, metadata, object_key, text_field
from kyvsim.kubernetes.pods import POD_SPEC_PATHS, references
from kyvsim.languages import CLASSIC_POLICIES
from kyvsim.languages.cel.facts import mutates
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.result import Phase, RuleStatus
from kyvsim.model.simulation import FailureCause, Hazard, HazardLevel, TimelineEvent
from kyvsim.simulator.background.update_requests import LABEL
from kyvsim.simulator.configuration import ADMISSION
from kyvsim.simulator.downstream_watch import SOURCE, TRIGGER
from kyvsim.simulator.hazards.facts import Facts
from kyvsim.simulator.timeline import OF_EVERY_NAMESPACE


def unmet_reference(facts: Facts) -> Iterator[Hazard]:
    """KH001: a Pod refers to an object that nothing creates in time.

    Yield the Pods that wait at the end, and the mutate rules that made them refer to it.
    """
    added = _added_by(facts)
    for pod in facts.sim.store.list("v1", "Pod", ""):
        for reference in references(pod):
            kind, namespace, name = reference.target
            there = facts.sim.store.get("v1", kind, namespace, name) is not None
            if there or reference.optional or (kind, name) in OF_EVERY_NAMESPACE:
                continue
            rules = added.get(reference.target, ())
            places = ", ".join(reference.places)
            by = (
                f"; the reference comes from {', '.join(f'`{one}`' for one in rules)}"
                if rules
                else ""
            )
            key = object_key(pod)
            shown = facts.sim.timeline.about(key)
            yield facts.hazard(
                "KH001",
                f"the Pod waits for {kind} {namespace}/{name} ({places}), which nobody creates{by}",
                level=HazardLevel.ERROR if rules else HazardLevel.WARNING,
                objects=[key],
                policies=rules,
                events=(shown[0], shown[-1]) if len(shown) > 1 else shown,
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
    rules = _rules_by_name(facts)
    for event, _, names in facts.failures(FailureCause.TRIGGER_MISSING, FailureCause.TRIGGER_STAYS):
        request = facts.request_of(event)
        if request is not None and request.outcome == "denied" and event.given_up:
            yield from (_denied_trigger_hazard(facts, one, request, rules) for one in names)


def _rules_by_name(facts: Facts) -> dict[str, tuple[Policy, Rule]]:
    return {
        "/".join(filter(None, (policy.key, rule.name))): (policy, rule)
        for policy in facts.policies
        for rule in policy.rules
    }


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
    return facts.hazard(
        "KH002",
        message,
        level=HazardLevel.INFO,
        objects=[denial.object],
        policies=(name, *deniers),
        events=[denial.number],
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
        rule = _rule_of(obj)
        # What it comes from, trigger by trigger and owner by owner.
        chain: list[Json] = []
        at: Json | None = obj if rule else None
        while at is not None and at not in chain:
            chain.append(at)
            owners = metadata(at).get("ownerReferences") or ()
            parent = labels(at).get(TRIGGER) or (text_field(owners[0], "uid") if owners else "")
            at = known.get(parent)
        again = [one for one in chain[1:] if _rule_of(one) == rule]
        if again and len(chain) > len(longest.get(rule, ())):
            longest[rule] = chain
    for rule, chain in longest.items():
        keys = [object_key(one) for one in reversed(chain)]
        titles = [f"{key.kind} {key.name}" for key in keys]
        shown = titles if len(titles) <= _MOST_SHOWN else [*titles[:_MOST_SHOWN], "…"]
        made = sum(_rule_of(one) == rule for one in chain)
        ends = f"{made} times in this run" if facts.cut is None else "the run was stopped for it"
        yield facts.hazard(
            "KH003",
            f"`{rule}` is triggered by what comes of its own objects ({ends}): "
            f"{' → '.join(shown)}; exclude them by a label that the Pod template of the generated "
            "object carries too",
            objects=keys,
            policies=(rule,),
            events=[
                one.number
                for one in facts.events
                if one.object in keys and rule in one.policies and one.action == "generate"
            ],
        )


def _rule_of(obj: Json) -> str:
    """Return the rule that generated an object, as `policy/rule`, "" for none."""
    marks = labels(obj)
    parts = ("policy-namespace", "policy-name", "rule-name")
    namespace, policy, rule = (marks.get(f"{LABEL}{part}", "") for part in parts)
    return f"{'/'.join(filter(None, (namespace, policy)))}/{rule}" if rule else ""


def missing_source(facts: Facts) -> Iterator[Hazard]:
    """KH005: a clone rule's source is not there when the trigger comes.

    Yield UpdateRequests that were given up for want of a source.
    """
    for event, failure, rules in facts.failures(FailureCause.SOURCE_MISSING):
        yield facts.hazard(
            "KH005",
            f"nothing was cloned: {failure.message}; a source that comes later changes "
            "nothing until the trigger changes",
            policies=rules,
            events=[event.number],
        )


_WRITES = frozenset({"generate", "synchronize"})
_OWNER = tuple(
    f"{LABEL}{part}" for part in ("policy-namespace", "policy-name", "rule-name", "trigger-uid")
)


def downstream_name(facts: Facts) -> Iterator[Hazard]:
    """KH006: the name of a generated object is not valid, or is taken already.

    Yield objects that could not be written, and those that others owned before.
    """
    found: list[tuple[TimelineEvent, str]] = []
    for attempt, failure, _ in facts.failures(FailureCause.INVALID):
        tried = (
            one
            for one in facts.events
            if one.cause == attempt.number and failure.object == one.object and one.failure_reasons
        )
        found.append((next(tried, attempt), f"the object is refused: {failure.message}"))
    reported: set[tuple[object, ...]] = set()
    for event, text in found:
        if (event.object, text) not in reported:
            reported.add((event.object, text))
            yield _downstream_name_hazard(facts, event, text)
    for event in facts.events:
        taken = _taken(event)
        if taken and (event.object, event.policies) not in reported:
            reported.add((event.object, event.policies))
            yield _downstream_name_hazard(facts, event, taken)


def _taken(event: TimelineEvent) -> str:
    """Return the owner of an object that a rule overwrote, "" if it was its own or had none."""
    if event.action not in _WRITES or event.outcome != "done" or event.before is None:
        return ""
    before, after = (
        tuple(labels(one).get(name, "") for name in _OWNER) for one in (event.before, event.after)
    )
    if not any(before):
        return "there was an object of this name that no rule had made: it is taken over"
    if before == after:
        return ""
    if before[:3] != after[:3]:
        return f"it overwrites what `{before[1]}/{before[2]}` generated: the last one wins"
    return "two triggers generate one object: each overwrites what the other one made"


def _downstream_name_hazard(facts: Facts, event: TimelineEvent, text: str) -> Hazard:
    objects, events = [event.object], [event.number]
    return facts.hazard("KH006", text, objects=objects, policies=event.policies, events=events)


def missing_namespace(facts: Facts) -> Iterator[Hazard]:
    """KH010: a generated object's namespace does not exist: nothing is created or reported.

    Yield UpdateRequests that could write nothing for want of a namespace.
    """
    for event, failure, rules in facts.failures(FailureCause.NO_NAMESPACE):
        end = (
            "the UpdateRequest was given up after five attempts"
            if event.given_up
            else "Kyverno takes this for done, tries no second time and says so only in its log"
        )
        yield facts.hazard(
            "KH010",
            f"{failure.message}: {end}",
            objects=[failure.object],
            policies=rules,
            events=[event.number],
        )


_UNSEEN = frozenset({"kube-system", "kube-public", "kube-node-lease", "kyverno"})


def early_trigger(facts: Facts) -> Iterator[Hazard]:
    """KH011: an object that a generate rule is for was there before the policy was ready.

    Yield objects that a rule would generate for, had they come later.
    """
    ready: dict[tuple[str, str, str], int] = {}
    for event in facts.events:
        if event.action == "update status":
            key = event.object
            ready.setdefault((key.kind, key.namespace, key.name), event.number)
    created = [*_created(facts)]
    served = {labels(obj).get(TRIGGER) for obj in facts.objects_by_uid().values()}
    world = World(facts.sim.store, account=ADMISSION)
    for policy in facts.kyverno.cache.every():
        own = policy.policy
        rules = [
            one
            for one in policy.rules
            if (generation := one.rule.facts.generation) is not None and not generation.looks_back
        ]
        is_ready = ready.get((own.kind, own.namespace, own.name), 0)
        early = [
            (obj, event)
            for obj, event in (created if rules else ())
            if event.number < is_ready
            and event.actor != "cluster"
            and text_field(metadata(obj), "uid") not in served
        ]
        for rule, (obj, event) in product(rules, early):
            outcome = check_rule(rule, open_background(own, obj, None, world), None)
            if outcome is None or outcome.status is not RuleStatus.PASS:
                continue
            name = f"{own.key}/{rule.rule.name}"
            yield facts.hazard(
                "KH011",
                f"`{name}` generates nothing for an object that was there before the policy was "
                "ready; `generateExisting: true` makes it look back",
                level=HazardLevel.INFO if event.actor == "setup" else HazardLevel.WARNING,
                objects=[event.object],
                policies=(name,),
                events=[event.number],
            )


def _created(facts: Facts) -> Iterator[tuple[Json, TimelineEvent]]:
    """Yield what is there at the end, with the event of its creation."""
    events = {one.object: one for one in facts.events if one.action == "create"}
    for obj in facts.sim.store.every():
        key = object_key(obj)
        place = key.name if key.kind == "Namespace" else key.namespace
        if key in events and place not in _UNSEEN and key.kind not in CLASSIC_POLICIES.kinds:
            yield obj, events[key]


_TRIES = "the UpdateRequest used up its five attempts before the object was stored"
_ONE_TRY = "its only attempt came before the object was stored"


def lost_trigger(facts: Facts) -> Iterator[Hazard]:
    """KH013: an UpdateRequest was given up before the object that it is about was stored.

    Yield triggers that were let in, and stored only when the attempts were used up.
    """
    known = facts.objects_by_uid()
    for event, failure, rules in facts.failures(FailureCause.TRIGGER_MISSING):
        stored = facts.stored.get(failure.uid)
        if stored is None or stored.number < event.number:
            continue
        done, how = ("generated", _TRIES) if event.given_up else ("mutated", _ONE_TRY)
        yield facts.hazard(
            "KH013",
            f"nothing is {done} for an object that was let in: {how}, as happens where other "
            "webhooks or the API server take long; a later change of the object makes a new "
            "UpdateRequest",
            objects=[object_key(known[failure.uid])],
            policies=rules,
            events=[event.number],
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
    reported: set[tuple[ObjectKey | None, tuple[str, ...]]] = set()
    for event, failure, rules in facts.failures(FailureCause.DENIED):
        writes = [
            one
            for one in facts.events
            if one.cause == event.number
            and one.object == failure.object
            and one.outcome == "denied"
        ]
        reasons = (each for one in writes for each in one.failure_reasons)
        deniers = tuple(dict.fromkeys(rule for each in reasons for rule in each.rules))
        if (failure.object, (*rules, *deniers)) in reported:
            continue
        reported.add((failure.object, (*rules, *deniers)))
        by = ", ".join(f"`{one}`" for one in deniers) or "another webhook"
        end = (
            "the UpdateRequest is given up after five attempts"
            if event.given_up
            else "it is tried again"
        )
        yield facts.hazard(
            "KH020",
            f"what the rule writes is denied by {by}: {end}, and a later change of that policy "
            f"alone brings nothing; {_WAY_OUT}",
            objects=[failure.object],
            policies=(*rules, *deniers),
            events=(event.number, *(one.number for one in writes[:1])),
        )


def lost_drift(facts: Facts) -> Iterator[Hazard]:
    """KH021: a rule depends on the requesting user, and restoring its objects has none.

    Yield work that was made by no request and failed for want of one.
    """
    reported: set[tuple[str, ...]] = set()
    for event, failure, rules in facts.failures(FailureCause.USER_UNKNOWN):
        if rules in reported:
            continue
        reported.add(rules)
        request = facts.request_of(event)
        yield facts.hazard(
            "KH021",
            "the rule asks who makes a request (`request.userInfo`), and work that restores or "
            "renews what it generated is made by no request: objects that are changed or deleted "
            "stay so although the rule says `synchronize: true`; note the user on the trigger by a "
            f"mutate rule, and read it from there ({failure.message})",
            objects=[request.object] if request else (),
            policies=rules,
            events=(*((request.number,) if request else ()), event.number),
        )


def unsynchronized_deletion(facts: Facts) -> Iterator[Hazard]:
    """KH031: an object of a rule without synchronization is deleted with those of its neighbours.

    Yield rules with `synchronize: false` whose objects the background controller deleted.

    It looks for what to delete by policy, trigger and kind, and not by rule
    (`kyvsim/simulator/background/generate.py`), so it also finds what neighbours made.
    """
    rules = _rules_by_name(facts)
    found: dict[str, list[TimelineEvent]] = {}
    for event in facts.events:
        named = _rule_of(event.before) if event.before is not None else ""
        if event.action == "delete downstream" and event.outcome == "done" and named in rules:
            found.setdefault(named, []).append(event)
    for named, events in found.items():
        policy, rule = rules[named]
        if rule.facts.generation is None or rule.facts.generation.synchronizes:
            continue
        others = [
            one
            for one in dict.fromkeys(one for each in events for one in each.policies)
            if one != named
        ]
        causes = " and ".join(f"`{one}`" for one in others) or f"`{policy.key}`"
        yield facts.hazard(
            "KH031",
            f"`{named}` has `synchronize: false`, and what it made is deleted on account of "
            f"{causes}: Kyverno looks for what to delete by policy, trigger and kind, and not by "
            "rule; a policy of its own keeps them apart",
            level=HazardLevel.WARNING,
            objects=dict.fromkeys(one.object for one in events),
            policies=(named, *others),
            events=[one.number for one in events],
            location=facts.place(policy, rule),
        )


def unfollowed_copy(facts: Facts) -> Iterator[Hazard]:
    """KH032: a generated object that was made again is not followed any more.

    Yield what GeneratingPolicies restored after a deletion and do not know since.

    The controller keeps an object under the uid that it had
    (upstream: pkg/background/gpol/dynamic_watcher.go), and what it makes in its place has another.
    """
    last: dict[ObjectKey, TimelineEvent] = {}
    for event in facts.events:
        if event.action == "restore" and event.outcome == "done" and event.before is None:
            last[event.object] = event
    for event in last.values():
        live = facts.sim.store.get(*event.object)
        if live is None or facts.kyverno.downstreams.knows(live):
            continue
        if metadata(live).get("uid") != metadata(event.after).get("uid"):
            continue
        source = "is not changed or deleted with its source, " if SOURCE in labels(live) else ""
        yield facts.hazard(
            "KH032",
            f"{event.object.kind} {event.object.name} was deleted and made again, and Kyverno "
            f"knows it only by the uid that it had: from now on it {source}is not restored when "
            "somebody changes or deletes it; a change of the policy or of the trigger, or a "
            "restart of the background controller, makes it known again",
            level=HazardLevel.WARNING,
            objects=[event.object],
            policies=event.policies,
            events=[event.number],
        )
