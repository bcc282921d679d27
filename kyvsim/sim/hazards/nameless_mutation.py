"""KH009: a mutate rule reads a name that an object with generateName does not have yet."""

from collections.abc import Iterator

from kyvsim.kube.objects import metadata, object_key, text_field
from kyvsim.languages.classic.reading import reads_own_name
from kyvsim.model.result import PolicyResponse
from kyvsim.model.simulation import Hazard, HazardLevel
from kyvsim.sim.hazards.facts import Facts
from kyvsim.sim.kyverno.admission import Admission


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield mutate rules that read the name of an object before the API server has made it."""
    told: set[str] = set()
    for admission in facts.admissions:
        meta = metadata(admission.review.object)
        if not admission.mutating or text_field(meta, "name"):
            continue
        for name in _reading(admission):
            if name not in told:
                told.add(name)
                yield _hazard(facts, admission, name)


def _reading(admission: Admission) -> Iterator[str]:
    for response in admission.responses:
        yield from _rules(response)


def _rules(response: PolicyResponse) -> Iterator[str]:
    for result in response.results:
        if reads_own_name(result.rule):
            yield f"{response.policy.key}/{result.rule.name}"


def _hazard(facts: Facts, admission: Admission, name: str) -> Hazard:
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
