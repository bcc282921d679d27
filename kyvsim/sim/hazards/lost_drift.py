"""KH021: a rule asks who made a request, and the work that restores its objects has none."""

from collections.abc import Iterator

from kyvsim.model.obstacle import Reason
from kyvsim.model.simulation import Hazard, HazardLevel
from kyvsim.sim.hazards.facts import Facts, rules_of


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield work that was made by no request and failed for want of one."""
    told: set[tuple[str, ...]] = set()
    for event, obstacle in facts.hindered(Reason.USER_UNKNOWN):
        rules = rules_of(event, obstacle)
        if rules in told:
            continue
        told.add(rules)
        request = facts.request_of(event)
        yield Hazard(
            "KH021",
            HazardLevel.ERROR,
            "the rule asks who makes a request (`request.userInfo`), and work that restores or "
            "renews what it generated is made by no request: objects that are changed or deleted "
            "stay so although the rule says `synchronize: true`; note the user on the trigger by a "
            f"mutate rule, and read it from there ({obstacle.message})",
            objects=(request.object,) if request else (),
            policies=rules,
            events=(*((request.number,) if request else ()), event.number),
            location=facts.place_of(rules[0]) if rules else None,
        )
