"""KH004: a mutation that is not idempotent, or is overwritten by another policy."""

from collections.abc import Iterator

from kyvsim.compile import Turn
from kyvsim.engine import World, open_request, run_turn
from kyvsim.kube.objects import Json, ObjectKey, object_key
from kyvsim.model.request import Operation
from kyvsim.model.result import Phase, PolicyResponse
from kyvsim.model.simulation import Hazard, HazardLevel
from kyvsim.sim.hazards.facts import Facts
from kyvsim.sim.kyverno.admission import Admission
from kyvsim.sim.kyverno.admission_notes import mutating_rules
from kyvsim.sim.kyverno.users import ADMISSION


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield policies that change an object again when they see what became of it.

    The API server asks a webhook again where another one has changed the object since, and rules
    see an object again with every update of it.
    """
    seen: set[tuple[str, ...]] = set()
    for admission in facts.admissions:
        for hazard in _of_admission(facts, admission):
            if hazard.policies not in seen:
                seen.add(hazard.policies)
                yield hazard


def _of_admission(facts: Facts, admission: Admission) -> Iterator[Hazard]:
    responses = [one for one in admission.responses if one.changed and one.phase is Phase.MUTATE]
    if not admission.mutating or admission.blocked or not responses:
        return
    last = responses[-1].object
    for index, response in enumerate(responses):
        if _changes(facts, admission, response, response.object):
            yield _hazard(
                facts,
                admission,
                [response],
                "is not idempotent: it changes what it "
                "made a second time, as happens with every update",
            )
        elif response.object != last and _changes(facts, admission, response, last):
            others = _overwriting(facts, admission, responses[index + 1 :], response)
            yield _hazard(
                facts,
                admission,
                [response, *others],
                "overwrite each other: which one "
                "wins depends on their order, and that is chance in Kyverno",
            )


def _overwriting(
    facts: Facts, admission: Admission, later: list[PolicyResponse], first: PolicyResponse
) -> list[PolicyResponse]:
    """Return the first response after which a policy would change the object again."""
    for one in later:
        if _changes(facts, admission, first, one.object):
            return [one]
    return []


def _changes(facts: Facts, admission: Admission, response: PolicyResponse, obj: Json) -> bool:
    """Return whether the rules of a policy change an object."""
    compiled = facts.kyverno.cache.get(response.policy.key)
    if compiled is None:
        return False
    names = {one.rule.name for one in response.results}
    rules = tuple(one for one in compiled.rules if one.rule.name in names)
    request = admission.request._replace(object=obj, operation=Operation.CREATE, old_object=None)
    world = World(facts.parts.store, account=ADMISSION)
    given = open_request(request, world, response.policy.name)
    again = run_turn(Turn(compiled, rules), Phase.MUTATE, given, world) if given else None
    return again is not None and again.changed


def _hazard(
    facts: Facts, admission: Admission, responses: list[PolicyResponse], text: str
) -> Hazard:
    rules = tuple(dict.fromkeys(mutating_rules(responses)))
    key: ObjectKey = object_key(admission.review.object)
    names = " and ".join(f"`{one}`" for one in rules)
    return Hazard(
        "KH004",
        HazardLevel.WARNING,
        f"{names} {text}",
        objects=(key,),
        policies=rules,
        location=facts.place_of(rules[0]) if rules else None,
    )
