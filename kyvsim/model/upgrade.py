"""What an upgrade of Kyverno changes for policies and manifests."""

from enum import StrEnum
from typing import NamedTuple

from kyvsim.model.comparison import Evidence, ObjectDifference, VerdictDifference
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.migration import Conversion
from kyvsim.model.release import PlannedRelease
from kyvsim.model.source import Location


class Impact(StrEnum):
    """What a change means for a cluster, the most important first."""

    BREAKS = "breaks"
    """A policy is rejected, or its evaluation ends in an error."""
    LESS_STRICT = "less strict"
    STRICTER = "stricter"
    DIFFERENT = "different"
    """An object is different, or an effect depends on what is evaluated."""
    NONE = "harmless"
    """Only texts are different, or results that neither deny nor admit anything."""


class ReleaseChange(NamedTuple):
    """A difference between releases: facts that change together, and what follows from them."""

    facts: tuple[str, ...]
    """Fields of `Release`."""
    impact: Impact
    """For the policies that it concerns."""
    text: str
    """What the newer release does, as a sentence without full stop."""
    advice: str
    """The next step."""


class ConcernedPart(NamedTuple):
    """A policy or an exception that a change concerns."""

    subject: str
    """Kind and name: `ClusterPolicy pinned`."""
    place: Location


class UpgradeNote(NamedTuple):
    """A change that concerns policies, and that the given manifests do not show."""

    change: ReleaseChange
    parts: tuple[ConcernedPart, ...]


class RejectedPolicy(NamedTuple):
    """A policy that only one of the releases accepts."""

    policy: str
    """The policy's key."""
    subject: str
    """Kind and key: `Policy shop/regions`."""
    place: Location
    diagnostics: tuple[Diagnostic, ...]
    """Why the other release rejects it."""
    cause: ReleaseChange | None
    """None if no single change causes it."""


class ChangedResult(NamedTuple):
    """A rule with another result for a resource."""

    resource: str
    """Its title: `default/Pod/web`."""
    place: Location | None
    """The position of the failure in the newer release, or of the resource."""
    verdict: VerdictDifference


class ChangedResults(NamedTuple):
    """Results of a rule that change in the same way."""

    impact: Impact
    results: tuple[ChangedResult, ...]
    """At least one."""
    cause: ReleaseChange | None


class ChangedObject(NamedTuple):
    """An object that differs."""

    resource: str
    """The title of the evaluated resource."""
    place: Location | None
    difference: ObjectDifference
    cause: ReleaseChange | None


class ChangedRow(NamedTuple):
    """A row of a test manifest with another outcome."""

    file: str
    policy: str
    rule: str
    resource: str
    old: str
    """`Pass`, `Fail` or `Skip`; "" if the release has no such row."""
    new: str
    reason: str
    """Why it does not pass; "" if it passes."""
    place: Location | None


class ChangedScenario(NamedTuple):
    """A scenario that takes another course."""

    place: Location
    impact: Impact
    events: tuple[str, ...]
    """The events in one release only, by virtual time: `- TIME EVENT` in the older one, `+ …`."""
    ending: tuple[str, ...]
    """The differences at its end: objects, hazards, and expectations."""
    cause: ReleaseChange | None


class LegacyPolicy(NamedTuple):
    """A policy or an exception of a kind that a release removes."""

    kind: str
    key: str
    place: Location
    folder: str
    """The folder under which the inventory counts it."""
    conversion: Conversion | None
    """Its conversion to policies in CEL; None if it cannot be used."""
    evidence: Evidence | None
    """The comparison with its conversion; None if they were not compared."""


class Removal(NamedTuple):
    """What a planned release removes."""

    release: PlannedRelease
    policies: tuple[LegacyPolicy, ...]
    is_checked: bool
    """Whether each policy was compared with its conversion."""


class Upgrade(NamedTuple):
    """The changes from one release to another."""

    old: str
    new: str
    """The newer release that is evaluated; the same as `old` if none is."""
    paths: tuple[str, ...]
    """The given policies."""
    policies: int
    """The number of policies that both releases could read."""
    affected: int
    """The number of policies with a difference that is not harmless, or in `removal`."""
    resources: int
    rejected: tuple[RejectedPolicy, ...]
    accepted: tuple[RejectedPolicy, ...]
    """Policies that only the newer release accepts."""
    results: tuple[ChangedResults, ...]
    objects: tuple[ChangedObject, ...]
    rows: tuple[ChangedRow, ...]
    row_count: int
    """The number of compared rows of tests."""
    scenarios: tuple[ChangedScenario, ...]
    scenario_count: int
    """The number of scenarios that were run in both releases."""
    notes: tuple[UpgradeNote, ...]
    removal: Removal | None
    diagnostics: tuple[Diagnostic, ...]
    left_out: tuple[Diagnostic, ...]
    applied: bool
    """False if a file that all results depend on was rejected, so that nothing was evaluated."""
