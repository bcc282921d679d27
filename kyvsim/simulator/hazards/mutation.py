"""Hazards of mutate rules: results that others overwrite, or that change again and again."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import NamedTuple

from kyvsim.engine.compile import PolicyRules
from kyvsim.engine.policy import open_request, run_policy_rules
from kyvsim.engine.world import World
from kyvsim.kubernetes.objects import Json, ObjectKey, metadata, object_key, text_field
from kyvsim.languages.cel.facts import mutates, mutating_facts
from kyvsim.languages.cel.listed_objects import named_kinds
from kyvsim.languages.classic.field_references import reads_own_name
from kyvsim.model.policy import Policy
from kyvsim.model.request import Operation
from kyvsim.model.result import PolicyResponse
from kyvsim.model.simulation import FailureCause, Hazard, HazardLevel, TimelineEvent
from kyvsim.simulator.admission.admission_policies import changing_policies
from kyvsim.simulator.admission.cel import WEBHOOKS
from kyvsim.simulator.admission.classic import Admission, mutating_rules
from kyvsim.simulator.configuration import ADMISSION
from kyvsim.simulator.hazards.facts import Facts, rules_of
from kyvsim.simulator.policies import place_of

_SERVER = "the API server"


class _MutationChange(NamedTuple):
    """What one policy made of an object."""

    rules: tuple[str, ...]
    """Each as `policy/rule`, or `policy`."""
    asked_by: str
    """What calls the policy: its order among those of one such is chance."""
    after: Json
    changes: Callable[[Json], bool]
    """Whether the policy would change an object."""


def unstable_mutation(facts: Facts) -> Iterator[Hazard]:
    """KH004: a mutation that is not idempotent, or is overwritten by another policy.

    Yield policies that change an object again when they see what became of it.

    The API server asks a webhook again where another one has changed the object since, and rules
    see an object again with every update of it. Policies of all kinds that mutate are compared:
    those of Kubernetes, whose changes come first, and those that webhooks evaluate.
    """
    seen: set[tuple[str, ...]] = set()
    for admissions in _by_request(facts.admissions):
        for hazard in _of_request(facts, admissions):
            if hazard.policies not in seen:
                seen.add(hazard.policies)
                yield hazard


def _by_request(admissions: Iterable[Admission]) -> Iterator[list[Admission]]:
    """Yield what changed each object on its way, in order."""
    found: list[Admission] = []
    for one in admissions:
        if not one.mutating or one.blocked:
            continue
        if found and found[0].review.request is not one.review.request:
            yield found
            found = []
        found.append(one)
    if found:
        yield found


def _of_request(facts: Facts, admissions: list[Admission]) -> Iterator[Hazard]:
    key = object_key(admissions[0].review.object)
    changes = [*_of_webhooks(facts, admissions)]
    if not changes:
        return
    last = changes[-1].after
    changes = [*_of_server(facts, admissions[0], last), *changes]
    for index, change in enumerate(changes):
        later = changes[index + 1 :]
        if change.changes(change.after):
            yield _unstable_mutation_hazard(
                facts,
                key,
                change.rules,
                "is not idempotent: it changes what it made a second time, as happens with every "
                "update",
            )
        elif any(one.rules == change.rules for one in later):
            continue  # it was called again, and the last response counts
        elif change.after != last and change.changes(last):
            others = _overwriting(change, later)
            if others is not None:
                yield _overwritten(facts, key, change, others)


def _of_server(facts: Facts, admission: Admission, last: Json) -> Iterator[_MutationChange]:
    """Yield the MutatingAdmissionPolicies that would change what became of their object.

    One that would have changed what webhooks were given came later, or is not idempotent: nothing
    of it was lost on the way.
    """
    review, store = admission.review, facts.sim.store

    def changing(obj: Json) -> frozenset[str]:
        return changing_policies(review._replace(object=obj), store)

    def changes(name: str, obj: Json) -> bool:
        return name in changing(obj)

    for name in sorted(changing(last) - changing(review.object)):
        yield _MutationChange((name,), _SERVER, review.object, partial(changes, name))


def _of_webhooks(facts: Facts, admissions: list[Admission]) -> Iterator[_MutationChange]:
    for admission in admissions:
        for response in admission.responses:
            rules = tuple(dict.fromkeys(mutating_rules([response])))
            if response.changed and rules:
                hook = WEBHOOKS.get(response.policy.kind)
                yield _MutationChange(
                    rules,
                    hook.path if hook else "/mutate",
                    response.object,
                    partial(_changes, facts, admission, response),
                )


def _overwriting(
    change: _MutationChange, later: Iterable[_MutationChange]
) -> _MutationChange | None:
    """Return the first change after which a policy would change the object again."""
    return next((one for one in later if change.changes(one.after)), None)


def _changes(facts: Facts, admission: Admission, response: PolicyResponse, obj: Json) -> bool:
    """Return whether the rules of a policy change an object."""
    policy = response.policy
    compiled = facts.kyverno.cache.get(place_of(policy.kind, policy.key))
    if compiled is None:
        return False
    names = {one.rule.name for one in response.results}
    rules = tuple(one for one in compiled.rules if one.rule.name in names)
    request = admission.request._replace(object=obj)
    if policy.kind not in WEBHOOKS:
        request = request._replace(operation=Operation.CREATE, old_object=None)
    world = World(facts.sim.store, account=ADMISSION)
    given = open_request(request, world, policy.name)
    again = (
        run_policy_rules(PolicyRules(compiled, rules), response.phase, given, world)
        if given
        else None
    )
    return again is not None and again.changed


def _overwritten(
    facts: Facts, key: ObjectKey, change: _MutationChange, other: _MutationChange
) -> Hazard:
    rules = (*change.rules, *other.rules)
    if change.asked_by == other.asked_by:
        text = "overwrite each other: which one wins depends on their order, and that is chance in "
        return _unstable_mutation_hazard(facts, key, rules, f"{text}Kyverno")
    lost = _named(change.rules)
    return _unstable_mutation_hazard(
        facts, key, rules, f"set the same field: the value of {lost} is lost, since it comes first"
    )


def _unstable_mutation_hazard(
    facts: Facts, key: ObjectKey, rules: tuple[str, ...], text: str
) -> Hazard:
    return Hazard(
        "KH004",
        HazardLevel.WARNING,
        f"{_named(rules)} {text}",
        objects=(key,),
        policies=rules,
        location=next(filter(None, map(facts.place_of, rules)), None),
    )


def _named(rules: Iterable[str]) -> str:
    return " and ".join(f"`{one}`" for one in rules)


def nameless_mutation(facts: Facts) -> Iterator[Hazard]:
    """KH009: a mutate rule reads a name that an object with generateName does not have yet.

    Yield mutate rules that read the name of an object before the API server has made it.
    """
    reported: set[str] = set()
    for admission in facts.admissions:
        meta = metadata(admission.review.object)
        if not admission.mutating or text_field(meta, "name"):
            continue
        for name in _reading(admission):
            if name not in reported:
                reported.add(name)
                yield _nameless_mutation_hazard(facts, admission, name)


def _reading(admission: Admission) -> Iterator[str]:
    for response in admission.responses:
        for result in response.results:
            if reads_own_name(result.rule):
                yield f"{response.policy.key}/{result.rule.name}"


def _nameless_mutation_hazard(facts: Facts, admission: Admission, name: str) -> Hazard:
    obj = admission.review.object
    base = text_field(metadata(obj), "generateName")
    ends = "the request is denied for it" if admission.blocked else "it is empty there"
    message = (
        f"`{name}` reads the name of an object with `generateName: {base}`: it has none before "
        f"the validating webhooks, {ends}; a generate rule sees the finished name"
    )
    return Hazard(
        "KH009",
        HazardLevel.ERROR if admission.blocked else HazardLevel.WARNING,
        message,
        objects=(object_key(obj),),
        policies=(name,),
        location=facts.place_of(name),
    )


_ACTION = "mutate existing"
_ROUNDS = 5
_LAST = 1.0
"""Rounds take some hundredths of a second: what was busy so long before the end is so still."""


class _Round(NamedTuple):
    """The writes from one of a rule to an object up to the next that it led to."""

    events: tuple[TimelineEvent, ...]
    number: int


def mutation_loop(facts: Facts) -> Iterator[Hazard]:
    """KH022: rules that mutate what exists set each other off, again and again.

    Yield the rules of rounds that have not come to an end when the run does.
    """
    reported: set[frozenset[str]] = set()
    rounds: dict[int, _Round] = {}
    for event in facts.events:
        chain = _since_same(facts, event) if _writes(event) else ()
        if not chain:
            continue
        known = rounds.get(chain[0].number)
        one = rounds[event.number] = _Round(chain, known.number + 1 if known else 1)
        rules = frozenset(rule for each in chain for rule in each.policies)
        goes_on = facts.endless or event.time > facts.sim.clock.elapsed - _LAST
        if one.number >= _ROUNDS and goes_on and rules not in reported:
            reported.add(rules)
            yield _mutation_loop_hazard(facts, one)


def _writes(event: TimelineEvent) -> bool:
    return event.action == _ACTION and event.outcome == "done"


def _since_same(facts: Facts, event: TimelineEvent) -> tuple[TimelineEvent, ...]:
    """Return the writes from the last of the same rule to the same object that led to one."""
    chain = [event]
    for cause in islice(facts.causes(event), 1, None):
        if _writes(cause):
            chain.insert(0, cause)
            if (cause.object, cause.policies) == (event.object, event.policies):
                return tuple(chain)
    return ()


def _mutation_loop_hazard(facts: Facts, one: _Round) -> Hazard:
    rules = tuple(dict.fromkeys(rule for event in one.events for rule in event.policies))
    objects: tuple[ObjectKey, ...] = tuple(dict.fromkeys(event.object for event in one.events))
    names = " and ".join(f"`{rule}`" for rule in rules)
    each = "itself" if len(rules) == 1 else "each other"
    return Hazard(
        "KH022",
        HazardLevel.ERROR,
        f"{names} set {each} off for ever: what one writes is a trigger of the next, since "
        "`skipBackgroundRequests: false` lets rules see what Kyverno writes itself; leave that "
        "away, or add a precondition that holds only before the change",
        objects=objects,
        policies=rules,
        events=tuple(event.number for event in one.events),
        location=facts.place_of(rules[0]) if rules else None,
    )


_NOT_ASKED = (
    "it names targets, so the objects of requests stay as they are, and without "
    "`evaluation: {mutateExisting: {enabled: true}}` nobody looks for the targets"
)
_NONE_NAMED = (
    "its rules for existing objects name no resource that is served in that version: a wildcard "
    "in `apiGroups`, `apiVersions` or `resources` stands for none there, and nobody says so"
)


def unused_mutation(facts: Facts) -> Iterator[Hazard]:
    """KH028: a MutatingPolicy finds no existing object to change, or is never triggered.

    Yield policies that find nothing to change, whatever there is.
    """
    for policy in facts.policies:
        why = _why_unused(policy, facts) if mutates(policy.kind) else ""
        if why:
            yield Hazard(
                "KH028",
                HazardLevel.ERROR,
                f"`{policy.key}` changes no existing object: {why}",
                policies=(policy.key,),
                location=facts.place(policy),
            )


def _why_unused(policy: Policy, facts: Facts) -> str:
    said = mutating_facts(policy)
    if not said.changes_existing:
        return _NOT_ASKED if said.keeps_triggers else ""
    if said.by_expression or any(named_kinds(policy, facts.sim.store.defined)):
        return ""
    return _NONE_NAMED


def repeated_mutation(facts: Facts) -> Iterator[Hazard]:
    """KH029: what a policy makes for controllers of Pods changes existing objects once more.

    Yield the policies whose variants changed targets, each with the first of them.
    """
    reported: set[tuple[str, ...]] = set()
    for event, failure_reason in facts.hindered(FailureCause.CHANGED_AGAIN):
        policies = rules_of(event, failure_reason)
        if policies in reported:
            continue
        reported.add(policies)
        yield Hazard(
            "KH029",
            HazardLevel.ERROR,
            f"the policy changes existing objects more than once: {failure_reason.message}; what "
            "is derived for controllers runs on every target, whatever its kind; "
            "`autogen: {podControllers: {controllers: []}}` leaves it away",
            objects=(failure_reason.object,) if failure_reason.object else (),
            policies=policies,
            events=(event.number,),
            location=facts.place_of(policies[0]) if policies else None,
        )
