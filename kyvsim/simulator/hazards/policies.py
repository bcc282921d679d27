"""Hazards of policies as written and installed: settings, rights, what evaluates them."""

from collections.abc import Iterator
from types import MappingProxyType

from kyvsim.engine.compile import Model
from kyvsim.kubernetes.discovery import parse_kind_selector, split_api_version
from kyvsim.kubernetes.objects import ObjectKey, object_key
from kyvsim.languages import language_of
from kyvsim.languages.classic.validation.variables import user_dependencies
from kyvsim.model.policy import Policy
from kyvsim.model.simulation import FailureCause, Hazard, HazardLevel, TimelineEvent, Unevaluated
from kyvsim.schema.kinds import CEL_GROUP
from kyvsim.simulator.admission.cel import not_done
from kyvsim.simulator.admission.policy_validation import lacking_needs, roles_for
from kyvsim.simulator.hazards.facts import Facts, rules_of
from kyvsim.simulator.policies import CEL_KINDS, POLICY_KINDS

_HINT = (
    "a ClusterRole with the label `rbac.kyverno.io/aggregate-to-background-controller: "
    '"true"` gives it the right'
)


def missing_permission(facts: Facts) -> Iterator[Hazard]:
    """KH007: the background controller may not do what a rule needs.

    Yield UpdateRequests that were given up for want of a permission.
    """
    for event, failure_reason in facts.hindered(FailureCause.NO_RIGHT):
        rules = rules_of(event, failure_reason)
        yield Hazard(
            "KH007",
            HazardLevel.ERROR,
            f"the background controller lacks a permission: {failure_reason.message}; {_HINT}",
            policies=rules,
            events=(event.number,),
            location=facts.place_of(rules[0]) if rules else None,
        )


_RIGHT = "`background: true` is right under both"
_REFUSED = (
    "`background: true` would be refused, since the policy asks who makes a request: rules that do "
    "so and rules that work in the background belong into two policies"
)


def background_off(facts: Facts) -> Iterator[Hazard]:
    """KH008: `background: false` beside rules that work in the background.

    Yield policies whose switch people read in two ways, and what each reading makes of it.
    """
    gates = facts.sim.settings.model is Model.BACKGROUND_GATES_GENERATE
    for policy in facts.policies:
        rules = [one for one in policy.rules if one.generates or one.mutates_existing]
        if policy.background or not rules:
            continue
        names = ", ".join(f"`{one.name}`" for one in rules)
        here = (
            "this run follows the other reading (model background-gates-generate): "
            "they do nothing for new objects"
            if gates
            else "this run follows Kyverno 1.19 (model kyverno-1.19): they work all the same"
        )
        asks = any(True for _ in user_dependencies(policy))
        advice = f"; {_REFUSED if asks else _RIGHT}"
        message = (
            f"`background: false` stands beside {names}: the code of Kyverno 1.19 does not ask it "
            "for generate and mutate existing rules, a report from the field says that it stops "
            f"them; {here}{advice}"
        )
        yield Hazard(
            "KH008",
            HazardLevel.ERROR if gates else HazardLevel.INFO,
            message,
            policies=tuple(f"{policy.key}/{one.name}" for one in rules),
            location=facts.place(policy, rules[0]),
        )


def refused_policy(facts: Facts) -> Iterator[Hazard]:
    """KH015: a policy is refused, since Kyverno's controllers have not the rights that it needs.

    Yield policies whose last request was refused and whose rules need more than there is.
    """
    last = {
        event.object: event
        for event in facts.events
        if event.object[:2] in POLICY_KINDS and event.action in {"create", "update"}
    }
    for event in last.values():
        policy = _refused(facts, event) if event.outcome == "denied" else None
        if policy is not None:
            yield from _hazards(facts, policy, event)


def _refused(facts: Facts, event: TimelineEvent) -> Policy | None:
    for document in facts.documents.values():
        key = object_key(document.data)
        if (key.kind, key.name) == (event.object.kind, event.object.name):
            return facts.sim.readers.policy(document.data)[0]
    return None


def _hazards(facts: Facts, policy: Policy, event: TimelineEvent) -> Iterator[Hazard]:
    store = facts.sim.store
    lacking = lacking_needs(policy, store)
    if not lacking:
        return
    roles = roles_for(policy, lacking, store)
    which = "this ClusterRole gives it" if len(roles) == 1 else "these ClusterRoles give them"
    users = " and ".join(dict.fromkeys(one.user.username for one in lacking))
    yield Hazard(
        "KH015",
        HazardLevel.ERROR,
        f"the policy is refused: {users} may not do what it needs in the installation "
        f"`{facts.sim.settings.installation.name}`; {which}",
        policies=(policy.key,),
        events=(event.number,),
        location=facts.place(policy),
        manifests=roles,
    )


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
"""What does not count here of a kind."""


def unenforced_kinds(facts: Facts) -> Iterator[Hazard]:
    """KH016: objects are there that would decide about others in a cluster, and do not here.

    Yield each kind of which the simulation takes objects without doing what they say.
    """
    found: dict[tuple[str, str], dict[ObjectKey, int]] = {}
    for event in facts.events:
        group = split_api_version(event.object.api_version)[0]
        what = group, event.object.kind
        counts = what in _KINDS or (group == CEL_GROUP and what[1] not in _HEEDED)
        if counts and event.action == "create" and event.outcome == "done":
            found.setdefault(what, {}).setdefault(event.object, event.number)
    yield from _in_part(facts)
    for (group, kind), events in found.items():
        part = _KINDS.get((group, kind), "what it says")
        yield Hazard(
            "KH016",
            HazardLevel.WARNING,
            f"{kind} ({group or 'v1'}) is stored and not enforced: {part} would count in a "
            "cluster, and nothing here tells how",
            objects=tuple(events),
            events=tuple(events.values()),
        )


def _in_part(facts: Facts) -> Iterator[Hazard]:
    """Yield policies in CEL of which something counts for nothing here."""
    reported: set[tuple[ObjectKey, str]] = set()
    for event in facts.events:
        if event.outcome != "done" or event.after is None:
            continue
        for what in not_done(event.after):
            if (event.object, what) not in reported:
                reported.add((event.object, what))
                yield Hazard(
                    "KH016",
                    HazardLevel.WARNING,
                    f"of the {event.object.kind} {what} is not simulated: it would count in a "
                    "cluster, and nothing here tells how",
                    objects=(event.object,),
                    events=(event.number,),
                )


_REASONS = (FailureCause.LIST_FAILED, FailureCause.NO_VALUE, FailureCause.RULE_FAILED)


_WITH_RULES = (
    "a precondition keeps out triggers that it is not for, `|| 'value'` stands in for a field that "
    "may be missing"
)
_IN_CEL = (
    "a condition keeps out what it is not for, `object.?field.orValue('value')` stands in for a "
    "field that may be missing"
)


def failing_rule(facts: Facts) -> Iterator[Hazard]:
    """KH025: a rule that works in the background cannot be evaluated for its trigger.

    Yield rules that end in an error where nobody waits for them, each error once.
    """
    reported: set[tuple[object, ...]] = set()
    for event, failure_reason in facts.hindered(*_REASONS):
        rules = rules_of(event, failure_reason)
        if (rules, failure_reason.message) in reported:
            continue
        reported.add((rules, failure_reason.message))
        end = (
            "the UpdateRequest is given up after five attempts"
            if event.given_up
            else "Kyverno takes this for done, and tries no second time"
        )
        yield Hazard(
            "KH025",
            HazardLevel.ERROR,
            f"the rule does nothing: {failure_reason.message}; {end}; {_hint(rules, facts)}",
            policies=rules,
            events=(event.number,),
            location=facts.place_of(rules[0]) if rules else None,
        )


def _hint(rules: tuple[str, ...], facts: Facts) -> str:
    named = (one for one in facts.policies if one.key in rules and not one.facts.has_rules)
    return _IN_CEL if any(named) else _WITH_RULES


_DENIED = "the request is denied for that"
_LET_IN = "what came is let in, and the rule has done nothing about it"
_SCANNED = "reports have an error, which says nothing of the object"
_GIVEN_UP = "no policy is reported on anew: the report on the object stays as it was"
_KEPT = "the object is not deleted"
_GRAVE = frozenset({_LET_IN, _KEPT})
_BY_ACTION = MappingProxyType({"scan": _SCANNED, "give up scan": _GIVEN_UP, "evaluate": _KEPT})


def unevaluated_rule(facts: Facts) -> Iterator[Hazard]:
    """KH027: a rule that checks or changes what comes, or what is there, cannot be evaluated.

    Yield rules that end in an error, each error once.

    That is an error where something is let in, or is to be cleaned up; a warning where a request
    is denied for it, or nobody waits.
    """
    found: dict[Unevaluated, list[TimelineEvent]] = {}
    for event in facts.events:
        for one in event.unevaluated:
            found.setdefault(one, []).append(event)
    for one, events in found.items():
        ends = dict.fromkeys(_end(event, one.rule) for event in events)
        yield Hazard(
            "KH027",
            HazardLevel.ERROR if _GRAVE & set(ends) else HazardLevel.WARNING,
            f"the rule ends in an error, which is no failure: {one.message}; {'; '.join(ends)}",
            objects=tuple(dict.fromkeys(event.object for event in events)),
            policies=(one.rule,),
            events=tuple(dict.fromkeys(event.number for event in events)),
            location=facts.place_of(one.rule),
        )


def _end(event: TimelineEvent, rule: str) -> str:
    denies = event.outcome == "denied" and rule in event.policies
    return _BY_ACTION.get(event.action) or (_DENIED if denies else _LET_IN)


def underived_twin(facts: Facts) -> Iterator[Hazard]:
    """KH030: the API server evaluates a policy on Pods, and its autogen rules are not evaluated.

    Yield policies that are left to the API server, with rules that autogen derives of them.
    """
    for policy in facts.policies:
        kinds = _derived_kinds(policy)
        if kinds and facts.kyverno.cache.is_left_to_the_server(policy):
            yield Hazard(
                "KH030",
                HazardLevel.WARNING,
                f"`{policy.key}` is left to the API server, by an admission policy for Pods alone: "
                f"what autogen derives for {', '.join(kinds)} counts for nothing",
                policies=(policy.key,),
                location=facts.place(policy),
            )


def _derived_kinds(policy: Policy) -> list[str]:
    """Return the kinds that only derived rules match."""
    written = {rule.name for rule in policy.rules}
    derived = [one for one in language_of(policy).derive(policy) if one.name not in written]
    kinds = (text for rule in derived for one in rule.facts.match for text in one.kinds)
    return sorted({parse_kind_selector(text)[2] for text in kinds})
