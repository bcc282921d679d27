"""KH015: a policy is refused, since Kyverno's controllers have not the rights that it needs."""

from collections.abc import Iterator

from kyvsim.kube.objects import object_key
from kyvsim.model.policy import Policy
from kyvsim.model.simulation import Hazard, HazardLevel, TimelineEvent
from kyvsim.sim.hazards.facts import Facts
from kyvsim.sim.kyverno.policy_cache import POLICY_KINDS
from kyvsim.sim.policy_admission.needed_rights import lacking_needs, roles_for


def find(facts: Facts) -> Iterator[Hazard]:
    """Yield policies whose last request was refused and whose rules need more than there is."""
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
            return facts.parts.readers.policy(document.data)[0]
    return None


def _hazards(facts: Facts, policy: Policy, event: TimelineEvent) -> Iterator[Hazard]:
    store = facts.parts.store
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
        f"`{facts.parts.settings.installation.name}`; {which}",
        policies=(policy.key,),
        events=(event.number,),
        location=facts.place(policy),
        manifests=roles,
    )
