"""Hazards of mutate rules: lost changes and endless changes."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import groupby, islice
from typing import NamedTuple

from kyvsim.engine.compile import PolicyRules
from kyvsim.engine.policy import open_request, run_policy_rules
from kyvsim.engine.world import World
from kyvsim.kubernetes.objects import KubernetesObject, metadata, object_key, text_field
from kyvsim.languages.cel.facts import mutates, mutating_facts
from kyvsim.languages.cel.listed_objects import named_kinds
from kyvsim.languages.classic.field_references import reads_own_name
from kyvsim.model.request import Operation
from kyvsim.model.result import PolicyResponse
from kyvsim.model.simulation import FailureCause, FailureReason, Hazard, HazardLevel, TimelineEvent
from kyvsim.simulator.admission.admission_policies import changing_policies
from kyvsim.simulator.admission.cel import WEBHOOKS
from kyvsim.simulator.admission.classic import Admission, mutating_rules
from kyvsim.simulator.configuration import ADMISSION
from kyvsim.simulator.hazards.facts import Facts
from kyvsim.simulator.policies import place_of


class _MutationChange(NamedTuple):
    """The mutation of an object by one policy."""

    rules: tuple[str, ...]
    """Each as `policy/rule`, or `policy`."""
    caller: str
    """The caller of the policy: the order of policies with the same caller is random."""
    after: KubernetesObject
    changes: Callable[[KubernetesObject], bool]
    """Whether the policy would change an object."""


def unstable_mutation(facts: Facts) -> Iterator[Hazard]:
    """KH004: a mutation that is not idempotent, or is overwritten by another policy.

    Yield policies that change an object again when they evaluate their result.

    The API server calls a webhook again if another one has changed the object since, and rules
    evaluate an object again on every update. All kinds of mutating policies are compared: those
    of Kubernetes, whose changes are first, and those that webhooks evaluate.
    """
    seen: set[tuple[str, ...]] = set()
    mutating = (one for one in facts.admissions if one.mutating and not one.blocked)
    for _, admissions in groupby(mutating, key=lambda one: one.review.request):
        some = list(admissions)
        for rules, text in _unstable(facts, some):
            if rules in seen:
                continue
            seen.add(rules)
            yield facts.hazard(
                "KH004",
                f"{_named(rules)} {text}",
                level=HazardLevel.WARNING,
                objects=[object_key(some[0].review.object)],
                policies=rules,
                location=next(filter(None, map(facts.place_of, rules)), None),
            )


def _unstable(facts: Facts, admissions: list[Admission]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield rules that would change an object again in the same request, and the problem."""
    changes = [*_of_webhooks(facts, admissions)]
    if not changes:
        return
    last = changes[-1].after
    changes = [*_of_server(facts, admissions[0], last), *changes]
    for index, change in enumerate(changes):
        later = changes[index + 1 :]
        if change.changes(change.after):
            text = (
                "is not idempotent: evaluated again on its result, as happens on every update, "
                "it changes the object again"
            )
            yield change.rules, text
        elif any(one.rules == change.rules for one in later):
            continue  # it was called again, and the last response counts
        elif change.after != last and change.changes(last):
            other = next((one for one in later if change.changes(one.after)), None)
            if other is None:
                continue
            text = (
                f"set the same field: the value of {_named(change.rules)} is lost, because it is "
                "evaluated first"
            )
            if change.caller == other.caller:
                text = (
                    "overwrite each other: which one wins depends on their order, which is random "
                    "in Kyverno"
                )
            yield (*change.rules, *other.rules), text


def _of_server(
    facts: Facts, admission: Admission, last: KubernetesObject
) -> Iterator[_MutationChange]:
    """Yield the MutatingAdmissionPolicies that would change the final object.

    One that would also change the object sent to webhooks was created later, or is not
    idempotent: none of its changes is lost.
    """
    review, store = admission.review, facts.sim.store

    def changing(obj: KubernetesObject) -> frozenset[str]:
        return changing_policies(review._replace(object=obj), store)

    def changes(name: str, obj: KubernetesObject) -> bool:
        return name in changing(obj)

    before = review.object or {}
    for name in sorted(changing(last) - changing(before)):
        yield _MutationChange((name,), "the API server", before, partial(changes, name))


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


def _changes(
    facts: Facts, admission: Admission, response: PolicyResponse, obj: KubernetesObject
) -> bool:
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
    if given is None:
        return False
    return run_policy_rules(PolicyRules(compiled, rules), response.phase, given, world).changed


def _named(rules: Iterable[str]) -> str:
    return " and ".join(f"`{one}`" for one in rules)


def nameless_mutation(facts: Facts) -> Iterator[Hazard]:
    """KH009: a mutate rule reads the name of an object with generateName, which has none yet."""
    reported: set[str] = set()
    for admission in facts.admissions:
        obj = admission.review.object
        base = text_field(metadata(obj), "generateName")
        if not admission.mutating or text_field(metadata(obj), "name"):
            continue
        for response, result in (
            (one, each) for one in admission.responses for each in one.results
        ):
            name = f"{response.policy.key}/{result.rule.name}"
            if name in reported or not reads_own_name(result.rule):
                continue
            reported.add(name)
            ends = "the request is denied" if admission.blocked else "it is empty"
            yield facts.hazard(
                "KH009",
                f"`{name}` reads the name of an object with `generateName: {base}`: mutating "
                f"webhooks see no name yet, so {ends}; a generate rule sees the final name",
                level=HazardLevel.ERROR if admission.blocked else HazardLevel.WARNING,
                objects=[object_key(obj)],
                policies=(name,),
            )


_ROUNDS = 5


def mutation_loop(facts: Facts) -> Iterator[Hazard]:
    """KH022: rules that mutate existing objects trigger each other endlessly."""
    reported: set[frozenset[str]] = set()
    rounds: dict[int, int] = {}
    for event in facts.events:
        # A round: the writes from one of a rule to an object up to the next that it caused.
        chain = _since_same(facts, event) if _writes(event) else ()
        if not chain:
            continue
        count = rounds[event.number] = rounds.get(chain[0].number, 0) + 1
        rules = tuple(dict.fromkeys(rule for each in chain for rule in each.policies))
        # A round takes some hundredths of a second: one in the last second still goes on.
        goes_on = facts.cut is not None or event.time > facts.sim.clock.elapsed - 1
        if count < _ROUNDS or not goes_on or frozenset(rules) in reported:
            continue
        reported.add(frozenset(rules))
        names = " and ".join(f"`{rule}`" for rule in rules)
        yield facts.hazard(
            "KH022",
            f"{names} trigger {'itself' if len(rules) == 1 else 'each other'} endlessly: each "
            "write triggers the next one, because `skipBackgroundRequests: false` lets rules see "
            "Kyverno's own changes; remove it, or add a precondition that is only true before the "
            "change",
            objects=dict.fromkeys(each.object for each in chain),
            policies=rules,
            events=[each.number for each in chain],
        )


def _writes(event: TimelineEvent) -> bool:
    return event.action == "mutate existing" and event.outcome == "done"


def _since_same(facts: Facts, event: TimelineEvent) -> tuple[TimelineEvent, ...]:
    """Return the chain of writes from the last one of the same rule and object to `event`."""
    chain = [event]
    for cause in islice(facts.causes(event), 1, None):
        if _writes(cause):
            chain.insert(0, cause)
            if (cause.object, cause.policies) == (event.object, event.policies):
                return tuple(chain)
    return ()


_NOT_ENABLED = (
    "it has targets, so the objects of requests are not changed, and without `evaluation: "
    "{mutateExisting: {enabled: true}}` the targets are never evaluated"
)
_NONE_NAMED = (
    "its rules for existing objects name no resource that is served in that version: a wildcard "
    "in `apiGroups`, `apiVersions` or `resources` matches nothing there, and Kyverno does not "
    "report it"
)


def unused_mutation(facts: Facts) -> Iterator[Hazard]:
    """KH028: a MutatingPolicy finds no existing object to change, or is never triggered."""
    for policy in facts.policies:
        if not mutates(policy.kind):
            continue
        settings = mutating_facts(policy)
        why = ""
        if not settings.changes_existing:
            why = _NOT_ENABLED if settings.keeps_triggers else ""
        elif not settings.by_expression and not any(named_kinds(policy, facts.sim.store.defined)):
            why = _NONE_NAMED
        if why:
            text = f"`{policy.key}` changes no existing object: {why}"
            yield facts.hazard("KH028", text, policies=(policy.key,))


def repeated_mutation(facts: Facts) -> Iterator[Hazard]:
    """KH029: the variants of a MutatingPolicy for Pod controllers change existing objects again.

    Yield the policies whose variants changed targets, each with the first of them.
    """
    first: dict[tuple[str, ...], tuple[TimelineEvent, FailureReason]] = {}
    for event, failure, policies in facts.failures(FailureCause.CHANGED_AGAIN):
        first.setdefault(policies, (event, failure))
    for policies, (event, failure) in first.items():
        text = (
            f"the policy changes existing objects more than once: {failure.message}; the "
            "variants for Pod controllers run on every target, whatever its kind; disable them "
            "with `autogen: {podControllers: {controllers: []}}`"
        )
        yield facts.hazard(
            "KH029", text, objects=[failure.object], policies=policies, events=[event.number]
        )
