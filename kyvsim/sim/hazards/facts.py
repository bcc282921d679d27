"""What hazards are looked for in."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kyvsim.kube.objects import Json, metadata, object_key, text_field
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.simulation import TimelineEvent
from kyvsim.model.source import Document, Location
from kyvsim.sim.kyverno.admission import Admission
from kyvsim.sim.kyverno.installed import Kyverno
from kyvsim.sim.kyverno.policy_cache import POLICY_KINDS
from kyvsim.sim.parts import Parts


class Facts(NamedTuple):
    """One run at its end."""

    parts: Parts
    kyverno: Kyverno
    events: tuple[TimelineEvent, ...]
    documents: Mapping[str, Document]
    """The files of policies, by key."""
    admissions: tuple[Admission, ...]
    """What the webhooks evaluated, in order."""
    endless: bool
    """Whether it was stopped because events would not cease."""

    def policies(self) -> Iterator[Policy]:
        """Yield the policies that act, or did, each as it was last."""
        found: dict[str, Policy] = {}
        for change in self.parts.store.changes:
            key = object_key(change.subject)
            if key[:2] in POLICY_KINDS:
                policy, _ = self.parts.readers.policy(change.subject)
                if policy is not None:
                    found[policy.key] = policy
        yield from found.values()

    def place(self, policy: Policy, rule: Rule | None = None) -> Location | None:
        """Return where a policy or a rule of it stands in its file, None where that is unknown."""
        document = self.documents.get(policy.key)
        if document is None:
            return None
        return document.locate(("metadata", "name") if rule is None else rule.path)

    def place_of(self, name: str) -> Location | None:
        """Return where a `policy/rule` stands, or a `policy`."""
        for policy in self.policies():
            if name == policy.key:
                return self.place(policy)
            for rule in policy.rules:
                if name == f"{policy.key}/{rule.name}":
                    return self.place(policy, rule)
        return None

    def failed_attempts(self, *texts: str) -> Iterator[TimelineEvent]:
        """Yield the last attempt at each UpdateRequest that ended with one of some texts."""
        last = {one.object: one for one in self.events if one.action == "attempt"}
        for event in last.values():
            if any(text in event.message for text in texts):
                yield event

    def objects_by_uid(self) -> dict[str, Json]:
        """Return everything that ever was there, as it was last, by uid."""
        found: dict[str, Json] = {}
        for change in self.parts.store.changes:
            found[text_field(metadata(change.subject), "uid")] = change.subject
        return found


def why(event: TimelineEvent) -> str:
    """Return what an attempt ended with, without its number."""
    return event.message.partition(": ")[2]
