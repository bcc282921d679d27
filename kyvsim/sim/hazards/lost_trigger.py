"""KH013: an UpdateRequest was given up before the object that it is about was stored."""

import re
from collections.abc import Iterator

from kyvsim.kube.objects import object_key
from kyvsim.model.simulation import Hazard, HazardLevel
from kyvsim.sim.hazards.facts import Facts

_UID = re.compile(r"trigger resource \S+ \S* ?with uid (\S+) not found")


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield triggers that were let in, and stored only when the attempts were used up."""
    known = facts.objects_by_uid()
    for event in facts.failed_attempts("failed to fetch trigger resource"):
        found = _UID.search(event.message)
        trigger = known.get(found[1]) if found else None
        if trigger is None:
            continue
        yield Hazard(
            "KH013",
            HazardLevel.ERROR,
            "nothing is generated for an object that was let in: the UpdateRequest used up its "
            "five attempts before the object was stored, as happens where other webhooks or the "
            "API server take long; a later change of the object makes a new UpdateRequest",
            objects=(object_key(trigger),),
            policies=event.policies,
            events=(event.number,),
            location=facts.place_of(event.policies[0]) if event.policies else None,
        )
