"""KH013: an UpdateRequest was given up before the object that it is about was stored."""

from collections.abc import Iterator

from kyvsim.kube.objects import object_key
from kyvsim.model.obstacle import Reason
from kyvsim.model.simulation import Hazard, HazardLevel
from kyvsim.sim.hazards.facts import Facts, rules_of

_TRIES = "the UpdateRequest used up its five attempts before the object was stored"
_ONE_TRY = "its only attempt came before the object was stored"


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield triggers that were let in, and stored only when the attempts were used up."""
    known = facts.objects_by_uid()
    for event, obstacle in facts.hindered(Reason.TRIGGER_MISSING):
        stored = facts.stored.get(obstacle.uid)
        if stored is None or stored.number < event.number:
            continue
        rules = rules_of(event, obstacle)
        done, how = ("generated", _TRIES) if event.given_up else ("mutated", _ONE_TRY)
        yield Hazard(
            "KH013",
            HazardLevel.ERROR,
            f"nothing is {done} for an object that was let in: {how}, as happens where other "
            "webhooks or the API server take long; a later change of the object makes a new "
            "UpdateRequest",
            objects=(object_key(known[obstacle.uid]),),
            policies=rules,
            events=(event.number,),
            location=facts.place_of(rules[0]) if rules else None,
        )
