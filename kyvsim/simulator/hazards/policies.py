"""Hazards of policies as written and installed: settings, permissions, unsimulated features."""

import json
from collections.abc import Iterator
from math import ceil
from types import MappingProxyType

from kyvsim.engine.compile import Model
from kyvsim.engine.missing_input import is_limit_of_kyvsim, remedy_for
from kyvsim.kubernetes.discovery import parse_kind_selector, split_api_version
from kyvsim.kubernetes.lifetimes import TTL_LABEL
from kyvsim.kubernetes.objects import ObjectKey, annotations, labels, object_key, text_field
from kyvsim.languages import language_of
from kyvsim.languages.classic.validation.variables import user_dependencies
from kyvsim.model.explanation import Step, StepKind
from kyvsim.model.simulation import (
    FailureCause,
    Hazard,
    HazardLevel,
    TimelineEvent,
    Unevaluated,
)
from kyvsim.schema.kinds import CEL_GROUP
from kyvsim.simulator.admission.cel import not_done
from kyvsim.simulator.admission.policy_validation import NO_CLEANUP_RIGHT, lacking_needs, roles_for
from kyvsim.simulator.api_server.metadata import is_terminating
from kyvsim.simulator.cleanup import (
    LAST_RUN,
    deciding_steps,
    is_scheduled,
    missing_verbs,
    next_run,
    selects_kind,
)
from kyvsim.simulator.hazards.facts import Facts
from kyvsim.simulator.policies import CEL_KINDS, POLICY_KINDS

_ROLE = (
    "grant it with a ClusterRole (as `--object FILE`) that has the label "
    '`rbac.kyverno.io/aggregate-to-{}: "true"`'
)
_CLEANUP_ROLE = _ROLE.format("cleanup-controller")


def missing_permission(facts: Facts) -> Iterator[Hazard]:
    """KH007: the background controller lacks a permission that a rule needs."""
    hint = _ROLE.format("background-controller")
    for event, failure, rules in facts.failures(FailureCause.NO_RIGHT):
        text = f"the background controller lacks a permission: {failure.message}; {hint}"
        yield facts.hazard("KH007", text, policies=rules, events=[event.number])


_REFUSED = (
    "`background: true` would be rejected, because the policy depends on the requesting user: "
    "put such rules and rules that run in the background into separate policies"
)


def background_off(facts: Facts) -> Iterator[Hazard]:
    """KH008: `background: false` is set on a policy with rules that run in the background.

    Yield policies for which the meaning of the field is disputed, with both interpretations.
    """
    gates = facts.sim.settings.model is Model.BACKGROUND_GATES_GENERATE
    for policy in facts.policies:
        rules = [one for one in policy.rules if one.generates or one.mutates_existing]
        if policy.background or not rules:
            continue
        names = ", ".join(f"`{one.name}`" for one in rules)
        model = (
            "this run assumes the latter (model background-gates-generate): they do nothing for "
            "new objects"
            if gates
            else "this run follows Kyverno 1.19 (model kyverno-1.19): they still run"
        )
        reads_user = any(True for _ in user_dependencies(policy))
        hint = _REFUSED if reads_user else "`background: true` works in both cases"
        yield facts.hazard(
            "KH008",
            f"`background: false` is set on a policy with {names}: the code of Kyverno 1.19 "
            "ignores it for generate and mutate existing rules, but users have reported that it "
            f"stops them; {model}; {hint}",
            level=HazardLevel.ERROR if gates else HazardLevel.INFO,
            policies=tuple(f"{policy.key}/{one.name}" for one in rules),
        )


def refused_policy(facts: Facts) -> Iterator[Hazard]:
    """KH015: a policy is rejected, because Kyverno's controllers lack permissions that it needs.

    Yield policies whose last request was rejected and whose rules need further permissions.
    """
    last = {
        event.object: event
        for event in facts.events
        if event.object[:2] in POLICY_KINDS and event.action in {"create", "update"}
    }
    for event in last.values():
        named = event.object.kind, event.object.name
        documents = ((one.data, object_key(one.data)) for one in facts.documents.values())
        obj = next((data for data, key in documents if (key.kind, key.name) == named), None)
        if obj is None or event.outcome != "denied":
            continue
        policy = facts.sim.readers.policy(obj)[0]
        lacking = lacking_needs(policy, facts.sim.store) if policy else []
        if policy is None or not lacking:
            continue
        roles = roles_for(policy, lacking, facts.sim.store)
        which = "this ClusterRole grants it" if len(roles) == 1 else "these ClusterRoles grant them"
        users = " and ".join(dict.fromkeys(one.user.username for one in lacking))
        is_cause = "requires permissions" in event.full_message
        when = "" if is_cause else " also without its other errors"
        yield facts.hazard(
            "KH015",
            f"the policy is rejected{when}: {users} lacks permissions that it needs in the "
            f"installation `{facts.sim.settings.installation.name}`; {which} (as `--object FILE`)",
            policies=(policy.key,),
            events=[event.number],
            location=facts.place(policy),
        )._replace(manifests=roles)
    for event in facts.events:
        _, cause, rest = event.full_message.rpartition(NO_CLEANUP_RIGHT)
        if event.outcome == "denied" and cause:
            text = f"the policy is rejected: the {cause}{rest}; {_CLEANUP_ROLE}"
            yield facts.hazard("KH015", text, objects=[event.object], events=[event.number])


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
"""The part of each kind that is not simulated."""


def unenforced_kinds(facts: Facts) -> Iterator[Hazard]:
    """KH016: an object would affect requests in a cluster, but is not simulated."""
    created: dict[tuple[str, str], dict[ObjectKey, int]] = {}
    for event in facts.events:
        group = split_api_version(event.object.api_version)[0]
        what = group, event.object.kind
        counts = what in _KINDS or (group == CEL_GROUP and what[1] not in _HEEDED)
        if counts and event.action == "create" and event.outcome == "done":
            created.setdefault(what, {}).setdefault(event.object, event.number)
    reported: set[tuple[ObjectKey, str]] = set()
    for event in facts.events:
        stored = event.after if event.outcome == "done" else None
        for part in not_done(stored) if stored is not None else ():
            if (event.object, part) not in reported:
                reported.add((event.object, part))
                yield facts.hazard(
                    "KH016",
                    f"{part} of the {event.object.kind} is not simulated: it would have an effect "
                    "in a cluster",
                    level=HazardLevel.WARNING,
                    objects=[event.object],
                    events=[event.number],
                )
    for (group, kind), events in created.items():
        part = _KINDS.get((group, kind), "its rules")
        text = (
            f"{kind} ({group or 'v1'}) is stored but not enforced: {part} would have an effect "
            "in a cluster that is not simulated"
        )
        yield facts.hazard(
            "KH016", text, level=HazardLevel.WARNING, objects=events, events=events.values()
        )


_WITH_RULES = (
    "use a precondition to exclude other triggers, or `|| 'value'` for a field that may be missing"
)
_IN_CEL = (
    "use a condition to exclude other objects, or `object.?field.orValue('value')` for a field "
    "that may be missing"
)


def failing_rule(facts: Facts) -> Iterator[Hazard]:
    """KH025: a rule that runs in the background fails with an error for its trigger.

    Yield rules that fail with an error in the background, each error once.
    """
    in_cel = {one.key for one in facts.policies if not one.facts.has_rules}
    first: dict[tuple[tuple[str, ...], str], TimelineEvent] = {}
    for event, failure, rules in facts.failures(
        FailureCause.LIST_FAILED, FailureCause.NO_VALUE, FailureCause.RULE_FAILED
    ):
        first.setdefault((rules, failure.message), event)
    for (rules, message), event in first.items():
        end = "Kyverno counts this as done and does not retry"
        end = "the UpdateRequest is dropped after five attempts" if event.given_up else end
        hint = remedy_for(message) or (_WITH_RULES if in_cel.isdisjoint(rules) else _IN_CEL)
        text = f"the rule has no effect: {message}; {end}; {hint}"
        yield facts.hazard("KH025", text, policies=rules, events=[event.number])


_DENIED = "the request is denied because of it"
_LET_IN = "the request is admitted, and the rule had no effect on it"
_KEPT = "the object is not deleted"
_BY_ACTION = MappingProxyType(
    {
        "scan": "reports show an error instead of a result for the object",
        "give up scan": "the scan is aborted for all policies: the report of the object is "
        "outdated",
        "evaluate": _KEPT,
    }
)


def unevaluated_rule(facts: Facts) -> Iterator[Hazard]:
    """KH027: a rule fails with an error for a request or an existing object.

    Yield rules that fail with an error, each error once.

    It is an error if an object is admitted or should be cleaned up, or if Kyverno could evaluate
    the rule, and a warning if the request is denied or only a report is affected.
    """
    occurrences: dict[Unevaluated, list[TimelineEvent]] = {}
    for event in facts.events:
        for one in event.unevaluated:
            if not one.in_message:
                occurrences.setdefault(one, []).append(event)
    for one, events in occurrences.items():
        ends = dict.fromkeys(
            _BY_ACTION.get(event.action)
            or (_DENIED if event.outcome == "denied" and one.rule in event.policies else _LET_IN)
            for event in events
        )
        text = f"the result of the rule is an error, not a failure: {one.message}"
        if "values file" in one.message:
            text += " (only `kyvsim apply` and `test` read a values file)"
        unknown = is_limit_of_kyvsim(one.message)
        if unknown:
            ends["the result in a cluster is unknown"] = None
        yield facts.hazard(
            "KH027",
            "; ".join(filter(None, (text, one.note or remedy_for(one.message), *ends))),
            level=HazardLevel.ERROR
            if unknown or {_LET_IN, _KEPT} & {*ends}
            else HazardLevel.WARNING,
            objects=dict.fromkeys(event.object for event in events),
            policies=(one.rule,),
            events=dict.fromkeys(event.number for event in events),
        )


def underived_twin(facts: Facts) -> Iterator[Hazard]:
    """KH030: the API server evaluates a policy on Pods, so its autogen rules have no effect."""
    for policy in facts.policies:
        written = {rule.name for rule in policy.rules}
        derived = [one for one in language_of(policy).derive(policy) if one.name not in written]
        kinds = (text for rule in derived for one in rule.tree.match.filters for text in one.kinds)
        names = sorted({parse_kind_selector(text)[2] for text in kinds})
        if names and facts.kyverno.cache.is_left_to_the_server(policy):
            message = (
                f"the API server evaluates `{policy.key}` as a native admission policy, which "
                f"only matches Pods: its autogen rules for {', '.join(names)} have no effect"
            )
            yield facts.hazard("KH030", message, level=HazardLevel.WARNING, policies=(policy.key,))


def hindered_cleanup(facts: Facts) -> Iterator[Hazard]:
    """KH023: an object that a cleanup policy or a TTL label should delete cannot be deleted.

    Yield each object or kind that the cleanup controller could not delete or list, once.
    """
    reported: set[tuple[object, ...]] = set()
    for event in facts.events:
        if event.actor != "cleanup" or event.action not in {"delete", "list"}:
            continue
        lists = event.action == "list"
        what = "no objects of this kind are deleted" if lists else "the object is not deleted"
        for failure in event.failure_reasons:
            about = (event.object, event.policies, failure.reason)
            if failure.reason is FailureCause.DENIED:
                by = ", ".join(f"`{one}`" for one in failure.rules) or "another webhook"
                why = (
                    f"{by} denies the deletion; exclude the subject `kyverno-cleanup-controller` "
                    "in that policy"
                )
            elif failure.reason is FailureCause.NO_RIGHT:
                lacks = "the cleanup controller lacks a permission"
                why = f"{lacks}: {failure.message}; {_CLEANUP_ROLE}"
            else:
                continue
            if about in reported:
                continue
            reported.add(about)
            wanting = tuple(one for one in event.policies if one not in failure.rules)
            source = "the cleanup policy" if wanting else "the label `cleanup.kyverno.io/ttl`"
            yield facts.hazard(
                "KH023",
                f"{what} despite {source}: {why}",
                objects=[event.object] if event.object.name else (),
                policies=(*wanting, *failure.rules),
                events=[event.number],
            )


def lasting_lifetime(facts: Facts) -> Iterator[Hazard]:
    """KH024: an object has a TTL label, but the cleanup controller may not delete its kind.

    Yield each such kind, with its objects.
    """
    labelled: dict[tuple[str, str], list[ObjectKey]] = {}
    for obj in facts.sim.store.every():
        if TTL_LABEL in labels(obj) and not is_terminating(obj):
            key = object_key(obj)
            labelled.setdefault(key[:2], []).append(key)
    for (api_version, kind), keys in labelled.items():
        verbs = ", ".join(missing_verbs(keys[0], facts.sim.store))
        numbers = (number for key in keys for number in facts.sim.timeline.about(key)[:1])
        if verbs:
            text = (
                f"the label `{TTL_LABEL}` has no effect: the cleanup controller lacks the "
                f"permission to {verbs} {kind} of {api_version}, and only logs that; "
                f"{_CLEANUP_ROLE}"
            )
            yield facts.hazard("KH024", text, objects=keys, events=sorted(numbers)[:1])


def later_schedule(facts: Facts) -> Iterator[Hazard]:
    """KH045: a policy that deletes objects on a schedule is due after the end of the simulation."""
    now = facts.sim.clock.now()
    for obj in facts.sim.store.every():
        due = next_run(obj) if is_scheduled(object_key(obj)) else None
        policy = facts.sim.readers.policy(obj)[0] if due else None
        if due is None or due <= now or policy is None or text_field(obj.get("status"), LAST_RUN):
            continue
        hours = ceil((facts.sim.clock.elapsed + (due - now).total_seconds()) / 3600)
        text = (
            f"the policy does not run, since its schedule `{obj['spec']['schedule']}` is due at "
            f"{due:%Y-%m-%d %H:%M}, after the end of the simulation: pass `--horizon {hours}h`"
        )
        yield facts.hazard(
            "KH045",
            text,
            level=HazardLevel.INFO,
            policies=(policy.key,),
            events=facts.sim.timeline.about(object_key(obj))[:1],
            location=facts.place(policy),
        )


def cleanup_without_effect(facts: Facts) -> Iterator[Hazard]:
    """KH046: a policy that deletes objects on a schedule ran, and deleted nothing."""
    done = {name for one in facts.events if one.actor == "cleanup" for name in one.policies}
    for obj in facts.sim.store.every():
        ran = is_scheduled(object_key(obj)) and text_field(obj.get("status"), LAST_RUN)
        policy = facts.sim.readers.policy(obj)[0] if ran else None
        if policy is None or policy.key in done:
            continue
        store = facts.sim.store
        kinds = [one for one in store.kinds() if selects_kind(policy, *one, store.defined)]
        # The last one is rather of the user than of the cluster.
        numbers = facts.sim.timeline.about
        kept = max(
            (one for kind in kinds for one in store.list(*kind, policy.namespace)),
            key=lambda one: next(iter(numbers(object_key(one))), -1),
            default=None,
        )
        why = "there are no objects of its kinds"
        if kept is not None:
            steps = deciding_steps(facts.kyverno, policy, kept)
            why = f"{object_key(kept).title} is kept{_unmet(steps[-1:])}"
        yield facts.hazard(
            "KH046",
            f"the policy ran, and deleted nothing: {why}",
            level=HazardLevel.INFO,
            policies=(policy.key,),
            objects=[object_key(kept)] if kept else (),
            location=facts.place(policy),
        )


def _unmet(steps: tuple[Step, ...]) -> str:
    """Return the part of a policy that is not met, with its values, as the end of a message."""
    for step in steps:
        found = {
            one.text or one.name: json.dumps(one.found.data) for one in step.steps if one.found
        }
        if step.kind is StepKind.CONDITION:
            key, value = found.get("key", "?"), found.get("value", "?")
            return f", since {step.name} is false: {key} {step.text} {value}"
        if step.wanted and step.found:
            wanted, actual = (json.dumps(one.data) for one in (step.wanted, step.found))
            return f", since {step.name} expected {wanted}, found {actual}"
        values = "".join(f"; `{text}` is {data}" for text, data in found.items())
        return f", since `{(step.text or step.name).strip()}` is false{values}"
    return ""


def lifetime_annotation(facts: Facts) -> Iterator[Hazard]:
    """KH033: an object has its TTL as an annotation, which the cleanup controller does not read."""
    keys = [
        object_key(obj)
        for obj in facts.sim.store.every()
        if TTL_LABEL in annotations(obj) and TTL_LABEL not in labels(obj)
    ]
    if keys:
        numbers = (number for key in keys for number in facts.sim.timeline.about(key)[:1])
        text = (
            f"the annotation `{TTL_LABEL}` has no effect, so nothing deletes the object: write it "
            "as a label"
        )
        level = HazardLevel.WARNING
        yield facts.hazard("KH033", text, level=level, objects=keys, events=sorted(numbers)[:1])
