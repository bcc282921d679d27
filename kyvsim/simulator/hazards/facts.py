"""The data of a run in which hazards are searched."""

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
    """One run at its end."""

    sim: SimulationContext
    kyverno: Kyverno
    events: tuple[TimelineEvent, ...]
    documents: Mapping[str, Document]
    """The files of policies, by key."""
    admissions: tuple[Admission, ...]
    """What the webhooks evaluated, in order."""
    policies: tuple[Policy, ...]
    """The policies that act, or did, each as it was last."""
    stored: Mapping[str, TimelineEvent]
    """The events with which objects were first there, by uid."""
    cut: Cut | None = None
    """Why it was stopped before its end, None where it was not."""

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
        """Return a hazard; its place is that of the first of its policies by default.

        A None among `objects` is left out.
        """
        if location is None and policies:
            location = self.place_of(policies[0])
        keys = tuple(one for one in objects if one is not None)
        return Hazard(code, level, message, keys, policies, tuple(events), location)

    def place(self, policy: Policy, rule: Rule | None = None) -> Location | None:
        """Return the place of a policy or a rule in its file, None if that is unknown."""
        document = self.documents.get(policy.key)
        if document is None:
            return None
        return document.locate(("metadata", "name") if rule is None else rule.path)

    def place_of(self, name: str) -> Location | None:
        """Return the place of a `policy/rule` or a `policy`; of a derived rule its policy's."""
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

        With the event of the attempt, and the rule that failed, or all rules that it is about.
        Attempts that count as done are among them.
        """
        last = {one.object: one for one in self.events if one.action == "attempt"}
        for event in last.values():
            for failure in event.failure_reasons:
                rules = (failure.on_behalf_of,) if failure.on_behalf_of else event.policies
                if failure.reason in causes:
                    yield event, failure, rules

    def request_of(self, attempt: TimelineEvent) -> TimelineEvent | None:
        """Return the request that an attempt is made for, None where a policy made the work."""
        requests = (one for one in self.causes(attempt) if one.object.kind != "UpdateRequest")
        return next(requests, None)

    def causes(self, event: TimelineEvent) -> Iterator[TimelineEvent]:
        """Yield an event, what led to it, and so on."""
        at: TimelineEvent | None = event
        while at is not None:
            yield at
            at = None if at.cause is None else self.events[at.cause]

    def objects_by_uid(self) -> dict[str, KubernetesObject]:
        """Return everything that ever was there, as it was last, by uid."""
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
