"""Hazards of generate rules: missing sources and triggers, denied objects, endless loops."""

from collections.abc import Iterator, Mapping
from itertools import product

from kyvsim.engine.background import check_rule, open_background
from kyvsim.engine.world import World
from kyvsim.kubernetes.objects import (
    KubernetesObject,
    ObjectKey,
    labels,
    metadata,
    object_key,
    text_field,
)
from kyvsim.kubernetes.pods import POD_SPEC_PATHS, references
from kyvsim.languages import CLASSIC_POLICIES
from kyvsim.languages.cel.facts import mutates
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.result import Phase, RuleStatus
from kyvsim.model.simulation import FailureCause, FailureReason, Hazard, HazardLevel, TimelineEvent
from kyvsim.schema.kinds import CEL_GROUP
from kyvsim.simulator.api_server.metadata import is_terminating
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
            exists = facts.sim.store.get("v1", kind, namespace, name) is not None
            if exists or reference.optional or (kind, name) in OF_EVERY_NAMESPACE:
                continue
            rules = added.get(reference.target, ())
            places = ", ".join(reference.places)
            names = ", ".join(f"`{one}`" for one in rules)
            by = f"; the reference was added by {names}" if rules else ""
            key = object_key(pod)
            shown = facts.sim.timeline.about(key)
            yield facts.hazard(
                "KH001",
                f"the Pod waits for {kind} {namespace}/{name} ({places}), "
                f"which nothing creates{by}",
                level=HazardLevel.ERROR if rules else HazardLevel.WARNING,
                objects=[key],
                policies=rules,
                events=(shown[0], shown[-1]) if len(shown) > 1 else shown,
            )


def _added_by(facts: Facts) -> dict[tuple[str, str, str], tuple[str, ...]]:
    """Return the rules that added references to mutated objects, by target."""
    added: dict[tuple[str, str, str], dict[str, None]] = {}
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
                names = added.setdefault(reference.target, {})
                names.update({f"{response.policy.key}/{rule}": None for rule in rules})
            before = response.object
    return {target: tuple(names) for target, names in added.items()}


_OBJECT = ("an object", "does not find the object in five attempts", "trigger resource not found")
_TARGETS = ("an object", "does not find the object in five attempts", "not found")
_DELETION = (
    "a deletion",
    "finds in five attempts that the object still exists",
    "still exists in the cluster",
)


def denied_trigger(facts: Facts) -> Iterator[Hazard]:
    """KH002: the trigger of a generate rule is denied by a validate rule.

    Yield triggers that were denied, with the match that would exclude them from the generate rule.
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
        f"`{name}` was triggered by {subject} that {by} denied. The UpdateRequest is created "
        f"before the denial; the controller {finds} and drops the request. No object is missing "
        f"or wrong in the cluster, but the controller logs `{log}`"
    )
    hints = [hint for one in deniers for hint in _hints(rules[one][1])]
    if hints:
        message += f". To exclude such objects, add {' and '.join(hints)} to the generate rule"
    return facts.hazard(
        "KH002",
        message,
        level=HazardLevel.INFO,
        objects=[denial.object],
        policies=(name, *deniers),
        events=[denial.number],
    )


def _hints(rule: Rule) -> Iterator[str]:
    """Yield criteria for a generate rule that exclude the objects that a validate rule denies."""
    required = rule.facts.asked_labels
    if required is not None:
        listed = ", ".join(f"{_plain(key)}: {value!r}" for key, value in required.items())
        yield f"`match: resources: selector: matchLabels: {{{listed}}}`".replace("'", '"')
    elif rule.facts.section == "validate":
        yield f"preconditions that repeat the check of `{rule.name}`"


def _plain(key: object) -> str:
    """Return a key of a pattern without its anchor."""
    text = str(key)
    return text[text.index("(") + 1 : -1] if text.endswith(")") and "(" in text else text


_MOST_SHOWN = 5


def generate_loop(facts: Facts) -> Iterator[Hazard]:
    """KH003: a generate rule is triggered by its own objects, or by objects made from them.

    Yield a rule for which generated objects lead back to it, with the longest chain seen.
    """
    known = facts.objects_by_uid()
    longest: dict[str, list[KubernetesObject]] = {}
    for obj in known.values():
        rule = _rule_of(obj)
        # The object, its trigger or owner, that one's, and so on.
        chain: list[KubernetesObject] = []
        at: KubernetesObject | None = obj if rule else None
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
        ends = f"{made} times in this run" if facts.cut is None else "the run was stopped"
        yield facts.hazard(
            "KH003",
            f"`{rule}` is triggered by its own generated objects ({ends}): {' → '.join(shown)}; "
            "exclude them by a label that is also on the Pod template of the generated object",
            objects=keys,
            policies=(rule,),
            events=[
                one.number
                for one in facts.events
                if one.object in keys and rule in one.policies and one.action == "generate"
            ],
        )


def _rule_of(obj: KubernetesObject) -> str:
    """Return the rule that generated an object, as `policy/rule`, or ""."""
    marks = labels(obj)
    parts = ("policy-namespace", "policy-name", "rule-name")
    namespace, policy, rule = (marks.get(f"{LABEL}{part}", "") for part in parts)
    return f"{'/'.join(filter(None, (namespace, policy)))}/{rule}" if rule else ""


def missing_source(facts: Facts) -> Iterator[Hazard]:
    """KH005: the source of a clone rule does not exist when the rule is triggered."""
    for event, failure, rules in facts.failures(FailureCause.SOURCE_MISSING):
        hint = "creating the source later has no effect until the trigger changes"
        text = f"nothing was cloned: {failure.message}; {hint}"
        yield facts.hazard("KH005", text, policies=rules, events=[event.number])


_OWNER = tuple(
    f"{LABEL}{part}" for part in ("policy-namespace", "policy-name", "rule-name", "trigger-uid")
)


def downstream_name(facts: Facts) -> Iterator[Hazard]:
    """KH006: the name of a generated object is invalid or already in use."""
    found: dict[tuple[object, ...], tuple[TimelineEvent, str]] = {}
    for attempt, failure, _ in facts.failures(FailureCause.INVALID):
        tried = (
            one
            for one in facts.events
            if one.cause == attempt.number and failure.object == one.object and one.failure_reasons
        )
        event, text = next(tried, attempt), f"the API server rejects the object: {failure.message}"
        found.setdefault((event.object, text), (event, text))
    for event in facts.events:
        taken = _taken(event)
        if taken:
            found.setdefault((event.object, event.policies), (event, taken))
    for event, text in found.values():
        objects, events = [event.object], [event.number]
        yield facts.hazard("KH006", text, objects=objects, policies=event.policies, events=events)


def _taken(event: TimelineEvent) -> str:
    """Return the problem of a write that overwrote an object of another owner, or ""."""
    writes = event.action in {"generate", "synchronize"} and event.outcome == "done"
    if not writes or event.before is None:
        return ""
    before, after = (
        tuple(labels(one).get(name, "") for name in _OWNER) for one in (event.before, event.after)
    )
    if not any(before):
        return "it overwrites an existing object that no rule generated"
    if before[:3] != after[:3]:
        by = f"{before[1]}/{before[2]}"
        return f"it overwrites the object that `{by}` generated: the last one wins"
    text = "two triggers generate the same object: each overwrites the other's"
    return "" if before == after else text


def missing_namespace(facts: Facts) -> Iterator[Hazard]:
    """KH010: the namespace of a generated object does not exist: nothing is created or reported."""
    for event, failure, rules in facts.failures(FailureCause.NO_NAMESPACE):
        end = (
            "the UpdateRequest was dropped after five attempts"
            if event.given_up
            else "Kyverno counts this as done, does not retry, and only logs it"
        )
        text = f"{failure.message}: {end}"
        yield facts.hazard(
            "KH010", text, objects=[failure.object], policies=rules, events=[event.number]
        )


_UNSEEN = frozenset({"kube-system", "kube-public", "kube-node-lease", "kyverno"})


def early_trigger(facts: Facts) -> Iterator[Hazard]:
    """KH011: a trigger of a generate rule was created before the policy was ready."""
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
                f"`{name}` generates nothing for an object that was created before the policy "
                "was ready; `generateExisting: true` includes existing objects",
                level=HazardLevel.INFO if event.actor == "setup" else HazardLevel.WARNING,
                objects=[event.object],
                policies=(name,),
                events=[event.number],
            )


def _created(facts: Facts) -> Iterator[tuple[KubernetesObject, TimelineEvent]]:
    """Yield the objects that exist at the end, with the events of their creation."""
    events = {one.object: one for one in facts.events if one.action == "create"}
    for obj in facts.sim.store.every():
        key = object_key(obj)
        place = key.name if key.kind == "Namespace" else key.namespace
        if key in events and place not in _UNSEEN and key.kind not in CLASSIC_POLICIES.kinds:
            yield obj, events[key]


def lost_trigger(facts: Facts) -> Iterator[Hazard]:
    """KH013: an UpdateRequest was dropped before its trigger was stored."""
    known = facts.objects_by_uid()
    for event, failure, rules in facts.failures(FailureCause.TRIGGER_MISSING):
        stored = facts.stored.get(failure.uid)
        if stored is None or stored.number < event.number:
            continue
        done, how = "mutated", "its only attempt came"
        if event.given_up:
            done, how = "generated", "the UpdateRequest used up its five attempts"
        yield facts.hazard(
            "KH013",
            f"nothing is {done} for an admitted object: {how} before the object was stored, as "
            "happens if other webhooks or the API server are slow; a later change of the object "
            "creates a new UpdateRequest",
            objects=[object_key(known[failure.uid])],
            policies=rules,
            events=[event.number],
        )


_WAY_OUT = (
    "make the generated object comply, or exclude it in that policy: by the label "
    "`app.kubernetes.io/managed-by: kyverno`, which generated objects have, or by the subject "
    "`kyverno-background-controller`"
)


def denied_downstream(facts: Facts) -> Iterator[Hazard]:
    """KH020: an object that a rule writes in the background is denied."""
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
        dropped = "the UpdateRequest is dropped after five attempts"
        end = dropped if event.given_up else "it is retried"
        yield facts.hazard(
            "KH020",
            f"the object that the rule writes is denied by {by}: {end}, and changing only that "
            f"policy later does not trigger it again; {_WAY_OUT}",
            objects=[failure.object],
            policies=(*rules, *deniers),
            events=(event.number, *(one.number for one in writes[:1])),
        )


def lost_drift(facts: Facts) -> Iterator[Hazard]:
    """KH021: a rule depends on the requesting user, which is unknown when its objects are restored.

    Yield background work that failed because it has no request.
    """
    first: dict[tuple[str, ...], tuple[TimelineEvent, FailureReason]] = {}
    for event, failure, rules in facts.failures(FailureCause.USER_UNKNOWN):
        first.setdefault(rules, (event, failure))
    for rules, (event, failure) in first.items():
        request = facts.request_of(event)
        yield facts.hazard(
            "KH021",
            "the rule depends on the requesting user (`request.userInfo`), and Kyverno restores "
            "or updates generated objects without a request: objects that are changed or "
            "deleted stay so despite `synchronize: true`; store the user on the trigger with a "
            f"mutate rule, and read it from there ({failure.message})",
            objects=[request.object] if request else (),
            policies=rules,
            events=(*((request.number,) if request else ()), event.number),
        )


def unsynchronized_deletion(facts: Facts) -> Iterator[Hazard]:
    """KH031: an object of a rule without synchronization is deleted with those of other rules.

    Yield rules with `synchronize: false` whose objects the background controller deleted.

    It selects what to delete by policy, trigger and kind, and not by rule
    (`kyvsim/simulator/background/generate.py`), so it also finds objects of other rules.
    """
    rules = _rules_by_name(facts)
    deletions: dict[str, list[TimelineEvent]] = {}
    for event in facts.events:
        named = _rule_of(event.before) if event.before is not None else ""
        if event.action == "delete downstream" and event.outcome == "done" and named in rules:
            deletions.setdefault(named, []).append(event)
    for named, events in deletions.items():
        policy, rule = rules[named]
        if rule.facts.generation is None or rule.facts.generation.synchronizes:
            continue
        every = dict.fromkeys(one for each in events for one in each.policies)
        others = [one for one in every if one != named]
        causes = " and ".join(f"`{one}`" for one in others) or f"`{policy.key}`"
        yield facts.hazard(
            "KH031",
            f"`{named}` has `synchronize: false`, but its objects are deleted because of "
            f"{causes}: Kyverno selects the objects to delete by policy, trigger and kind, not "
            "by rule; put the rules into separate policies",
            level=HazardLevel.WARNING,
            objects=dict.fromkeys(one.object for one in events),
            policies=(named, *others),
            events=[one.number for one in events],
            location=facts.place(policy, rule),
        )


def unfollowed_copy(facts: Facts) -> Iterator[Hazard]:
    """KH032: a generated object that was deleted and recreated is no longer synchronized.

    Yield objects that GeneratingPolicies restored after a deletion and no longer track.

    The controller tracks an object by its uid (upstream: pkg/background/gpol/dynamic_watcher.go),
    and the recreated object has a new one.
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
        source = "is not updated or deleted with its source, " if SOURCE in labels(live) else ""
        yield facts.hazard(
            "KH032",
            f"{event.object.kind} {event.object.name} was deleted and recreated, but Kyverno "
            f"tracks it by its old uid: from now on it {source}is not restored when it is "
            "changed or deleted; changing the policy or the trigger, or restarting the "
            "background controller, makes Kyverno track it again",
            level=HazardLevel.WARNING,
            objects=[event.object],
            policies=event.policies,
            events=[event.number],
        )


def leftover_objects(facts: Facts) -> Iterator[Hazard]:
    """KH034: generated objects remain although their policy or rule was removed.

    Yield each removed policy or rule with the objects that it generated.
    """
    by_key = {policy.key: policy for policy in facts.policies}
    every = tuple(facts.sim.store.every())
    there = {object_key(obj)[1:] for obj in every}
    left: dict[tuple[str, str], list[ObjectKey]] = {}
    for obj in every:
        marks = (f"{LABEL}policy-namespace", f"{LABEL}policy-name", f"{LABEL}rule-name")
        *owner, rule = (labels(obj).get(mark, "") for mark in marks)
        policy = by_key.get("/".join(filter(None, owner)))
        if policy is None or is_terminating(obj):
            continue
        is_gone = (policy.kind, policy.namespace, policy.name) not in there
        if is_gone or (rule and all(one.name != rule for one in policy.rules)):
            left.setdefault((policy.key, "" if is_gone else rule), []).append(object_key(obj))
    for (key, rule), keys in left.items():
        what = f"rule `{rule}` was removed from `{key}`" if rule else f"`{key}` was deleted"
        yield facts.hazard(
            "KH034",
            f"{what}, but the objects that it generated remain, and nothing updates or deletes "
            "them any more: delete them yourself",
            level=HazardLevel.WARNING,
            objects=keys,
            policies=(key,),
        )


def _losing_policy(event: TimelineEvent, facts: Facts) -> str:
    """Return the policy that a generated object was deleted for, "" if a request caused it."""
    if event.before is None:
        return ""
    key, _, rule = _rule_of(event.before).rpartition("/")
    if event.cause is not None:
        # Without a request, a policy caused the UpdateRequest.
        by_request = facts.request_of(facts.events[event.cause]) is not None
        return "" if by_request else key or event.policies[0]
    # The controller deletes objects of a CEL policy itself; copies also with their source.
    return "" if rule or SOURCE in labels(event.before) else event.policies[0]


def _is_made_again(event: TimelineEvent, change: TimelineEvent, facts: Facts) -> bool:
    """Return whether a changed CEL policy generates an object again, as in some releases."""
    is_change = change.action == "update" and change.object.api_version.startswith(CEL_GROUP)
    return is_change and facts.sim.store.get(*event.object) is not None


def objects_lost_with_policy(facts: Facts) -> Iterator[Hazard]:
    """KH035: generated objects were deleted because their policy was deleted or changed."""
    policies = {(one.kind, one.namespace, one.name): one.key for one in facts.policies}
    changes: dict[str, int] = {}
    lost: dict[int, list[TimelineEvent]] = {}
    for event in facts.events:
        key = policies.get(event.object[1:])
        if key and event.action in {"delete", "update"} and event.outcome == "done":
            changes[key] = event.number
        if event.action == "delete downstream" and event.outcome == "done":
            number = changes.get(_losing_policy(event, facts))
            if number is not None and not _is_made_again(event, facts.events[number], facts):
                lost.setdefault(number, []).append(event)
    for number, events in lost.items():
        request = facts.events[number]
        key = "/".join(filter(None, (request.object.namespace, request.object.name)))
        happened, remedy = "changed", "apply the change before there are objects to keep"
        if request.action == "delete":
            happened = "deleted"
            remedy = "to keep them, set `orphanDownstreamOnPolicyDelete: true` in its rules first"
            if request.object.api_version.startswith(CEL_GROUP):
                option = "`spec.evaluation.orphanDownstreamOnPolicyDelete: {enabled: true}`"
                remedy = f"to keep them, set {option} first"
        yield facts.hazard(
            "KH035",
            f"the objects that `{key}` generated were deleted when the policy was {happened}: "
            f"{remedy}",
            level=HazardLevel.WARNING,
            objects=dict.fromkeys(one.object for one in events),
            policies=(key,),
            events=[number, *(one.number for one in events)],
        )
