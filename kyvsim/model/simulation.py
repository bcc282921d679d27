"""What a simulation reports: its timeline, its hazards, its evaluations, the objects at its end."""

from enum import StrEnum
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json, ObjectKey
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.explanation import ObjectExplanation
from kyvsim.model.source import Location

# When policies were to be asked about an object in a simulation, and what they answered.


class EvaluationRecord(NamedTuple):
    """One time that policies were to be asked about an object."""

    time: float
    """Seconds since the simulation began."""
    actor: str
    """Who asks: `admission`, or the controller that does so of its own accord."""
    occasion: str
    """The operation of the request that they were to be asked about; "" where there was none."""
    event: int | None
    """The number of the event that it belongs to, or that led to it."""
    explained: ObjectExplanation
    """The rules that were asked, and for a request those that were not about it."""
    unheard: str = ""
    """Why nobody was asked; "" where somebody was, or could have been."""
    waiting: tuple[str, ...] = ()
    """The policies that are there and did not act yet."""


# Why something did not come about in a simulation, for whoever looks for causes in it.


class FailureCause(StrEnum):
    """What stood in the way; those of requests first, then those of the background's attempts."""

    OTHER = "other"
    NO_RIGHT = "no right"
    """Roles do not permit it."""
    DENIED = "denied"
    """A webhook, as a policy has one, says no."""
    INVALID = "invalid"
    NOT_FOUND = "not found"
    NO_NAMESPACE = "no namespace"
    """The namespace that an object is to be in is not there."""
    NAMESPACE_GOES = "namespace goes"
    """The namespace that an object is to be in is being deleted."""
    NO_KIND = "no kind"
    EXISTS = "exists"
    CONFLICT = "conflict"
    TRIGGER_MISSING = "trigger missing"
    """What the work is done for is not in the cluster, or not yet."""
    TRIGGER_STAYS = "trigger stays"
    """What was to be deleted is still there."""
    TRIGGER_DIFFERS = "trigger differs"
    """The request was about another object than the trigger that was found."""
    SOURCE_MISSING = "source missing"
    """What is to be copied is not there."""
    LIST_FAILED = "list failed"
    """The list of a loop has no value."""
    NO_VALUE = "no value"
    """An expression of the rule has no value."""
    USER_UNKNOWN = "user unknown"
    """The rule asks who made a request, and the work was made by none."""
    NOT_MET = "not met"
    """The rule does not want anything for its trigger."""
    RULE_FAILED = "rule failed"
    RULE_GONE = "rule gone"
    CHANGED_AGAIN = "changed again"
    """What a policy makes for others was done as well."""


class FailureReason(NamedTuple):
    """One thing that stood in the way."""

    reason: FailureCause
    message: str
    object: ObjectKey | None = None
    """What could not be read, written or found, where that is known."""
    uid: str = ""
    """The uid by which it was looked for."""
    rules: tuple[str, ...] = ()
    """The rules that stood in the way, as `policy/rule`."""
    wanted_by: str = ""
    """The rule that could not do its work, as `policy/rule`."""


# What a simulation tells: its timeline, its hazards, the objects at its end.


class Unevaluated(NamedTuple):
    """A rule that ended in an error: it says nothing of the object that it was asked about."""

    rule: str
    """As `policy/rule`, or `policy`."""
    message: str
    """Why it could not be evaluated."""


class TimelineEvent(NamedTuple):
    """Something that an actor did to an object, and how it ended."""

    number: int
    """Its place in the timeline, from 0."""
    time: float
    """Seconds since the simulation began."""
    actor: str
    """Who did it: a user's name, `admission`, `background`, `kubelet` …"""
    action: str
    """What was done, a verb: `create`, `update`, `delete`, `mutate`, `deny`, `generate` …"""
    object: ObjectKey
    outcome: str
    """How it ended in one word: `done`, `denied`, `failed`, `skipped`, `waiting` …"""
    message: str = ""
    """What it was done for, or what was said of it; its obstacles say why it failed."""
    cause: int | None = None
    """The number of the event that led to it."""
    before: Json = None
    """The object before; None where it was not there or is not told."""
    after: Json = None
    """The object after; None where it is gone or is not told."""
    policies: tuple[str, ...] = ()
    """The policies on whose account it was done, as `policy/rule` or `policy`."""
    failure_reasons: tuple[FailureReason, ...] = ()
    """What kept it from coming about, wholly or in part."""
    given_up: bool = False
    """Whether it is not tried again although it failed."""
    unevaluated: tuple[Unevaluated, ...] = ()
    """The rules that could not be evaluated on its account; those that failed are others."""

    @property
    def full_message(self) -> str:
        """Its message with the reasons why it failed, and whether it is given up."""
        why = "; ".join(dict.fromkeys(one.message for one in self.failure_reasons))
        end = "it is given up" if self.given_up else ""
        return "; ".join(filter(None, (": ".join(filter(None, (self.message, why))), end)))


class HazardLevel(StrEnum):
    """How much a hazard weighs."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Hazard(NamedTuple):
    """Something that goes wrong, or will, on the way that a simulation showed."""

    code: str
    """A stable name, such as `KH001`."""
    level: HazardLevel
    message: str
    objects: tuple[ObjectKey, ...] = ()
    policies: tuple[str, ...] = ()
    events: tuple[int, ...] = ()
    """The numbers of the events that show it."""
    location: Location | None = None
    """Where in a policy it comes from."""
    manifests: tuple[Json, ...] = ()
    """Objects that would help, as they can be applied."""


class Expectation(NamedTuple):
    """Something that a scenario expects, and whether it came to pass."""

    text: str
    met: bool
    time: float
    """When that was settled, in seconds since the simulation began."""
    reason: str = ""
    location: Location | None = None


class Cut(NamedTuple):
    """That a run was stopped before its end: nothing is known of what would have come."""

    reason: str
    """What it reached: `10 events`, `30 days`."""
    steps: tuple[Location, ...] = ()
    """The steps that were not played to their end."""
    by_events: bool = True
    """Whether more events let it go on."""


class Simulation(NamedTuple):
    """One run from beginning to end."""

    name: str
    events: tuple[TimelineEvent, ...]
    objects: tuple[Json, ...]
    """Everything that a user or a rule brought, as it is at the end."""
    hazards: tuple[Hazard, ...] = ()
    expectations: tuple[Expectation, ...] = ()
    seconds: float = 0.0
    """Virtual time that passed."""
    model: str = ""
    """The reading of `spec.background` that it followed."""
    installation: str = ""
    """How Kyverno was installed: `helm`, `ci`, or the file of values."""
    description: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Inputs that the cluster refused."""
    interleavings: "Interleavings | None" = None
    """What other orders of its steps lead to, if that was asked."""
    cut: Cut | None = None
    """None where it came to its end."""
    compared: "Simulation | None" = None
    """Another run that it is shown beside."""
    explained: str = ""
    """The name of the object of which it is told why policies said what, "" for none."""
    inquiries: tuple[EvaluationRecord, ...] = ()
    """When policies were to be asked about that object, in order."""
    results: int = 0
    """How many results of rules there were, without the skipped ones."""
    skipped: int = 0
    """How many results of rules were skipped."""

    @property
    def is_checked(self) -> bool:
        """Whether a policy decided or did anything, or an expectation was checked."""
        # The end of an object's time to live is Kyverno's doing, without a policy.
        acted = (
            one.policies or one.unevaluated or one.actor == "cleanup"
            for one in self.events
            if one.outcome != "skipped"
        )
        return bool(self.results or self.expectations) or any(acted)


class ScenarioEnding(NamedTuple):
    """One way in which a scenario can end."""

    simulation: Simulation
    """The run that ends so with the fewest changes of order."""
    changes: int
    """How often an actor was let go in it before the one that was due first."""
    runs: int
    """How many runs end so."""


class Interleavings(NamedTuple):
    """The orders of steps that were tried, by how they end."""

    runs: int
    complete: bool
    """Whether every order was tried that can make a difference, up to a number of changes."""
    most_changes: int
    endings: tuple[ScenarioEnding, ...]
    """That of the usual order comes first."""
