"""The data of a run for the detection of hazards."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kyvsim.kubernetes.objects import KubernetesObject, ObjectKey, metadata, text_field
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.simulation import (
    Cut,
    FailureCause,
    FailureReason,
    Hazard,
    HazardLevel,
    TimelineEvent,
)
from kyvsim.model.source import Document, Location
from kyvsim.simulator.admission.classic import Admission
from kyvsim.simulator.context import SimulationContext
from kyvsim.simulator.kyverno import Kyverno
from kyvsim.simulator.policies import POLICY_KINDS, is_cel_policy


class Facts(NamedTuple):
    """A finished run."""

    sim: SimulationContext
    kyverno: Kyverno
    events: tuple[TimelineEvent, ...]
    documents: Mapping[str, Document]
    """The documents of policies, by key."""
    admissions: tuple[Admission, ...]
    """The webhook calls, in order."""
    policies: tuple[Policy, ...]
    """The active and formerly active policies, in their last form."""
    stored: Mapping[str, TimelineEvent]
    """By uid, the events that first stored objects."""
    cut: Cut | None = None
    """Why the run was cut, None if it was not."""

    def hazard(
        self,
        code: str,
        message: str,
        *,
        level: HazardLevel = HazardLevel.ERROR,
        objects: Iterable[ObjectKey | None] = (),
        policies: tuple[str, ...] = (),
        events: Iterable[int] = (),
        location: Location | None = None,
    ) -> Hazard:
        """Return a hazard; its location is that of the first of its policies by default.

        None among `objects` is ignored.
        """
        if location is None and policies:
            location = self.place_of(policies[0])
        keys = tuple(one for one in objects if one is not None)
        return Hazard(code, level, message, keys, policies, tuple(events), location)

    def place(self, policy: Policy, rule: Rule | None = None) -> Location | None:
        """Return the location of a policy or a rule in its file, None if it is unknown."""
        document = self.documents.get(policy.key)
        if document is None:
            return None
        return document.locate(("metadata", "name") if rule is None else rule.path)

    def place_of(self, name: str) -> Location | None:
        """Return the location of a `policy/rule` or `policy`; for a derived rule, the policy's."""
        derived: Policy | None = None
        for policy in self.policies:
            if name == policy.key:
                return self.place(policy)
            for rule in policy.rules:
                if name == f"{policy.key}/{rule.name}":
                    return self.place(policy, rule)
            if name.startswith(f"{policy.key}/"):
                derived = policy
        return self.place(derived) if derived else None

    def failures(
        self, *causes: FailureCause
    ) -> Iterator[tuple[TimelineEvent, FailureReason, tuple[str, ...]]]:
        """Yield why the last attempt at each UpdateRequest failed, for some causes.

        With the event of the attempt, and the rule that failed, or all rules of the request.
        Attempts that count as successful are included.
        """
        last = {one.object: one for one in self.events if one.action == "attempt"}
        for event in last.values():
            for failure in event.failure_reasons:
                rules = (failure.on_behalf_of,) if failure.on_behalf_of else event.policies
                if failure.reason in causes:
                    yield event, failure, rules

    def request_of(self, attempt: TimelineEvent) -> TimelineEvent | None:
        """Return the request that caused an attempt, None if a policy caused it."""
        requests = (one for one in self.causes(attempt) if one.object.kind != "UpdateRequest")
        return next(requests, None)

    def causes(self, event: TimelineEvent) -> Iterator[TimelineEvent]:
        """Yield an event, its cause, the cause of that one, and so on."""
        at: TimelineEvent | None = event
        while at is not None:
            yield at
            at = None if at.cause is None else self.events[at.cause]

    def objects_by_uid(self) -> dict[str, KubernetesObject]:
        """Return the last state of every object that was ever stored, by uid."""
        changes = self.sim.store.changes
        return {text_field(metadata(one.subject), "uid"): one.subject for one in changes}


def facts_of(
    kyverno: Kyverno,
    events: tuple[TimelineEvent, ...],
    documents: Mapping[str, Document],
    admissions: tuple[Admission, ...],
    cut: Cut | None,
) -> Facts:
    """Return the data of a run."""
    sim = kyverno.sim
    policies: dict[str, Policy] = {}
    for change in sim.store.changes:
        key = change.key
        if key[:2] in POLICY_KINDS or is_cel_policy(key):
            policy, _ = sim.readers.policy(change.subject)
            if policy is not None:
                policies[policy.key] = policy
    stored: dict[str, TimelineEvent] = {}
    for event in events:
        uid = text_field(metadata(event.after), "uid")
        if uid and event.outcome == "done":
            stored.setdefault(uid, event)
    every = tuple(policies.values())
    return Facts(sim, kyverno, events, documents, admissions, every, stored, cut)
