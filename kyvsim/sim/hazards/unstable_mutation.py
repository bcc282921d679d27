"""KH004: a mutation that is not idempotent, or is overwritten by another policy."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from kyvsim.compile import Turn
from kyvsim.engine import World, open_request, run_turn
from kyvsim.kube.objects import Json, ObjectKey, object_key
from kyvsim.model.request import Operation
from kyvsim.model.result import PolicyResponse
from kyvsim.model.simulation import Hazard, HazardLevel
from kyvsim.sim.admission_policies.plugin import changing_policies
from kyvsim.sim.hazards.facts import Facts
from kyvsim.sim.kyverno.admission import Admission
from kyvsim.sim.kyverno.admission_notes import mutating_rules
from kyvsim.sim.kyverno.cel_admission import WEBHOOKS
from kyvsim.sim.kyverno.policy_cache import place_of
from kyvsim.sim.kyverno.users import ADMISSION

_SERVER = "the API server"


class _Change(NamedTuple):
    """What one policy made of an object."""

    rules: tuple[str, ...]
    """Each as `policy/rule`, or `policy`."""
    asked_by: str
    """What calls the policy: its order among those of one such is chance."""
    after: Json
    changes: Callable[[Json], bool]
    """Whether the policy would change an object."""


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield policies that change an object again when they see what became of it.

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
            yield _hazard(
                facts,
                key,
                change.rules,
                "is not idempotent: it changes what it made a second time, as happens with every "
                "update",
            )
        elif any(one.rules == change.rules for one in later):
            continue  # it was asked again, and what it said then counts
        elif change.after != last and change.changes(last):
            others = _overwriting(change, later)
            if others is not None:
                yield _overwritten(facts, key, change, others)


def _of_server(facts: Facts, admission: Admission, last: Json) -> Iterator[_Change]:
    """Yield the MutatingAdmissionPolicies that would change what became of their object.

    One that would have changed what webhooks were given came later, or is not idempotent: nothing
    of it was lost on the way.
    """
    review, store = admission.review, facts.parts.store

    def changing(obj: Json) -> frozenset[str]:
        return changing_policies(review._replace(object=obj), store)

    def changes(name: str, obj: Json) -> bool:
        return name in changing(obj)

    for name in sorted(changing(last) - changing(review.object)):
        yield _Change((name,), _SERVER, review.object, partial(changes, name))


def _of_webhooks(facts: Facts, admissions: list[Admission]) -> Iterator[_Change]:
    for admission in admissions:
        for response in admission.responses:
            rules = tuple(dict.fromkeys(mutating_rules([response])))
            if response.changed and rules:
                hook = WEBHOOKS.get(response.policy.kind)
                yield _Change(
                    rules,
                    hook.path if hook else "/mutate",
                    response.object,
                    partial(_changes, facts, admission, response),
                )


def _overwriting(change: _Change, later: Iterable[_Change]) -> _Change | None:
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
    world = World(facts.parts.store, account=ADMISSION)
    given = open_request(request, world, policy.name)
    again = run_turn(Turn(compiled, rules), response.phase, given, world) if given else None
    return again is not None and again.changed


def _overwritten(facts: Facts, key: ObjectKey, change: _Change, other: _Change) -> Hazard:
    rules = (*change.rules, *other.rules)
    if change.asked_by == other.asked_by:
        text = "overwrite each other: which one wins depends on their order, and that is chance in "
        return _hazard(facts, key, rules, f"{text}Kyverno")
    lost = _named(change.rules)
    return _hazard(
        facts, key, rules, f"set the same field: the value of {lost} is lost, since it comes first"
    )


def _hazard(facts: Facts, key: ObjectKey, rules: tuple[str, ...], text: str) -> Hazard:
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
