"""Scenarios: what is done to a simulated cluster, and what a simulation reports."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json, JsonMap, KubernetesObject, ObjectKey
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.explanation import ObjectExplanation
from kyvsim.model.ports import SIMULATED, Budget
from kyvsim.model.request import UserInfo
from kyvsim.model.source import Document, Location

# How Kyverno is installed in a simulated cluster: as its Helm chart installs it, with values.


class Installation(NamedTuple):
    """One installation."""

    name: str
    """What views call it: `helm`, `ci`, or the file of values."""
    values: JsonMap = MappingProxyType({})
    """The values of the chart that are not its own."""

    def value(self, *path: str) -> Json:
        """Return what stands at a path of the values, None where they say nothing of it."""
        found: Json = self.values
        for name in path:
            found = found.get(name) if isinstance(found, Mapping) else None
        return found

    @property
    def exceptions_enabled(self) -> bool:
        """Whether PolicyExceptions are looked at."""
        return self.value("features", "policyExceptions", "enabled") is True

    @property
    def exceptions_namespace(self) -> str:
        """The namespace in which PolicyExceptions count, `*` for all, "" for none."""
        namespace = self.value("features", "policyExceptions", "namespace")
        return str(namespace or "") if self.exceptions_enabled else ""

    @property
    def ignores_failures(self) -> bool:
        """Whether requests pass where a policy cannot be evaluated, whatever the policy says."""
        return self.value("features", "forceFailurePolicyIgnore", "enabled") is True

    @property
    def omitted_events(self) -> tuple[str, ...]:
        """The reasons of Events that are not written."""
        given = self.value("features", "omitEvents", "eventTypes")
        return ("PolicyApplied", "PolicySkipped") if given is None else tuple(map(str, given))

    @property
    def reported(self) -> frozenset[str] | None:
        """The statuses of results in reports, None for all of them."""
        given = self.value("features", "reporting", "allowedResults")
        if not given:
            return None
        return frozenset(name for name, wanted in given.items() if wanted)


HELM = Installation("helm")
"""The chart with its own values, which is what people have."""


def _rights(resources: Iterable[str], verbs: Iterable[str], group: str = "*") -> JsonMap:
    extra = [{"apiGroups": [group], "resources": [*resources], "verbs": [*verbs]}]
    return {"rbac": {"clusterRole": {"extraResources": extra}}}


_EVERY_VERB = ("create", "update", "patch", "delete", "get", "list")
_NEEDED = (
    *("configmaps", "networkpolicies", "resourcequotas", "secrets", "roles", "rolebindings"),
    *("clusterroles", "clusterrolebindings", "limitranges", "namespaces", "nodes"),
    *("nodes/status", "pods"),
)
CI = Installation(
    "ci",
    MappingProxyType(
        {
            "global": {"crdWatcher": True},
            "features": {
                "policyExceptions": {"enabled": True, "namespace": "*"},
                "omitEvents": {"eventTypes": []},
                "mutatingAdmissionPolicyReports": {"enabled": True},
            },
            "admissionController": _rights(("secrets",), _EVERY_VERB),
            "backgroundController": _rights(_NEEDED, _EVERY_VERB),
            "cleanupController": _rights(("pods",), ("list", "delete", "watch"), group=""),
        }
    ),
)
"""The values under which upstream runs its end-to-end tests (scripts/config: standard, ttl,
mutating-admission-policy-reports)."""
BY_NAME: Mapping[str, Installation] = MappingProxyType({one.name: one for one in (HELM, CI)})

# Scenarios: what is done to a simulated cluster, step by step, and what is expected of it.


class Verb(StrEnum):
    """What a step does; the name of its field in the file."""

    CREATE = "create"
    APPLY = "apply"
    UPDATE = "update"
    PATCH = "patch"
    DELETE = "delete"
    WAIT = "wait"
    RESTART = "restart"


class Demand(StrEnum):
    """What an entry of `expect` asks for; the name of its field in the file."""

    EVENTUALLY = "eventually"
    NEVER = "never"
    GONE = "gone"
    FINALLY = "finally"
    DENIED = "denied"
    WARNING = "warning"


OF_REQUESTS = frozenset({Demand.DENIED, Demand.WARNING})
"""Checks of the answer to a step's own requests; the others look at objects."""


class Expected(NamedTuple):
    """One entry of `expect`."""

    demand: Demand
    wanted: Json
    """A pattern of an object, or the text that an answer contains."""
    within: float | None
    """Seconds in which it is to be seen (or not), from where it stands; None for the whole run."""
    location: Location


class Patch(NamedTuple):
    """A change to the object that a step names."""

    form: str
    """`merge` (RFC 7386) or `json` (RFC 6902)."""
    body: Json
    subresource: str = ""


class ScenarioStep(NamedTuple):
    """One step of a scenario."""

    verb: Verb | None
    """None for a step that only expects something."""
    location: Location
    name: str = ""
    objects: tuple[Document, ...] = ()
    target: ObjectKey | None = None
    patch: Patch | None = None
    user: UserInfo | None = None
    """Who does it; None for the administrator."""
    seconds: float = 0.0
    controller: str = ""
    expected: tuple[Expected, ...] = ()
    lenient: bool = False
    """Whether a denial by a policy is nothing to complain of."""


class ScenarioSettings(NamedTuple):
    """How the cluster is set up, and how far its time runs."""

    model: str = "kyverno-1.19"
    seed: int = 0
    start: datetime | None = None
    """When it begins; None for the simulation's own beginning."""
    horizon: float = 60.0
    """Seconds that pass after the last step."""
    pace: float = 0.05
    """Seconds from one step to the next, besides what is waited."""
    installation: Installation | None = None
    """How Kyverno is installed; None for the chart's own values."""
    exceptions: bool | None = None
    """Whether PolicyExceptions count, in all namespaces; None for what the installation says."""
    latency: tuple[tuple[str, float], ...] = ()
    """Seconds by which steps come later than usual, by actor; `storage` is that of requests."""
    workloads: bool = True
    kubelet: bool = True
    max_events: int = 50_000
    """How many events a run may have. With so many it takes some minutes and some 400 MB."""
    budget: Budget = SIMULATED


class Scenario(NamedTuple):
    """A story to be played on a simulated cluster."""

    name: str
    description: str = ""
    settings: ScenarioSettings = ScenarioSettings()
    objects: tuple[Document, ...] = ()
    """What is there before the policies."""
    policies: tuple[Document, ...] = ()
    exceptions: tuple[Document, ...] = ()
    steps: tuple[ScenarioStep, ...] = ()
    expected: tuple[Expected, ...] = ()
    """What is expected from the first step on."""
    fail_on: str = ""
    """The least level of a hazard that counts as a failure; "" where the file does not say."""


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
    DENIED = "denied"
    """A webhook, as a policy has one, says no."""
    INVALID = "invalid"
    NOT_FOUND = "not found"
    NO_NAMESPACE = "no namespace"
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
    LIST_FAILED = "list failed"
    NO_VALUE = "no value"
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
    uid: str = ""
    """The uid by which it was looked for."""
    rules: tuple[str, ...] = ()
    """The rules that stood in the way, as `policy/rule`."""
    on_behalf_of: str = ""
    """The rule that could not do its work, as `policy/rule`."""


# What a simulation reports: its timeline, its hazards, the objects at its end.


class Unevaluated(NamedTuple):
    """A rule that ended in an error: it says nothing of the object that it was asked about."""

    rule: str
    """As `policy/rule`, or `policy`."""
    message: str


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
    before: KubernetesObject | None = None
    """The object before; None where it was not there or is not recorded."""
    after: KubernetesObject | None = None
    """The object after; None where it is gone or is not recorded."""
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
        end = "no more attempts are made" if self.given_up else ""
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
    location: Location | None = None
    manifests: tuple[KubernetesObject, ...] = ()
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
    by_events: bool = True
    """Whether more events let it go on."""


class Simulation(NamedTuple):
    """One run from beginning to end."""

    name: str
    events: tuple[TimelineEvent, ...]
    objects: tuple[KubernetesObject, ...]
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
    explained: str = ""
    """The name of the object whose evaluations are explained, "" for none."""
    inquiries: tuple[EvaluationRecord, ...] = ()
    """When policies were to be asked about that object, in order."""
    results: int = 0
    """How many results of rules there were, without the skipped ones."""
    skipped: int = 0

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


class Interleavings(NamedTuple):
    """The orders of steps that were tried, by how they end."""

    runs: int
    complete: bool
    """Whether every order was tried that can make a difference, up to a number of changes."""
    most_changes: int
    endings: tuple[ScenarioEnding, ...]
    """That of the usual order comes first."""
