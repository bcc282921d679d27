"""Scenarios of a simulated cluster, and the results of simulations."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json, JsonMap, KubernetesObject, ObjectKey
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.explanation import ObjectExplanation
from kyvsim.model.ports import SIMULATED, Budget
from kyvsim.model.release import NEWEST, Release
from kyvsim.model.request import UserInfo
from kyvsim.model.source import Document, Location

# Installations of Kyverno in a simulated cluster: its Helm chart with values.


class Installation(NamedTuple):
    """One installation."""

    name: str
    """The shown name: `helm`, `ci`, or the values file."""
    values: JsonMap = MappingProxyType({})
    """The values that override those of the chart."""

    def value(self, *path: str) -> Json:
        """Return the value at a path of the chart values, or None."""
        found: Json = self.values
        for name in path:
            found = found.get(name) if isinstance(found, Mapping) else None
        return found

    @property
    def exceptions_enabled(self) -> bool:
        """Whether PolicyExceptions are enabled."""
        return self.value("features", "policyExceptions", "enabled") is True

    @property
    def exceptions_namespace(self) -> str:
        """The namespace in which PolicyExceptions are effective; `*` for all, "" for none."""
        namespace = self.value("features", "policyExceptions", "namespace")
        return str(namespace or "") if self.exceptions_enabled else ""

    @property
    def ignores_failures(self) -> bool:
        """Whether requests pass if any policy cannot be evaluated: forceFailurePolicyIgnore."""
        return self.value("features", "forceFailurePolicyIgnore", "enabled") is True

    @property
    def omitted_events(self) -> tuple[str, ...]:
        """The reasons of Events that are omitted."""
        given = self.value("features", "omitEvents", "eventTypes")
        return ("PolicyApplied", "PolicySkipped") if given is None else tuple(map(str, given))

    @property
    def reported(self) -> frozenset[str] | None:
        """The statuses of results in reports; None for all."""
        given = self.value("features", "reporting", "allowedResults")
        if not given:
            return None
        return frozenset(name for name, wanted in given.items() if wanted)


HELM = Installation("helm")
"""The chart with its default values, the usual installation."""


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
"""The values of upstream's end-to-end tests (scripts/config: standard, ttl,
mutating-admission-policy-reports).
"""
BY_NAME: Mapping[str, Installation] = MappingProxyType({one.name: one for one in (HELM, CI)})

# Scenarios: steps on a simulated cluster, and expectations.


class Verb(StrEnum):
    """The action of a step; the name of its field in the file."""

    CREATE = "create"
    APPLY = "apply"
    UPDATE = "update"
    PATCH = "patch"
    DELETE = "delete"
    WAIT = "wait"
    RESTART = "restart"


class Demand(StrEnum):
    """The kind of an `expect` entry; the name of its field in the file."""

    EVENTUALLY = "eventually"
    NEVER = "never"
    GONE = "gone"
    FINALLY = "finally"
    DENIED = "denied"
    WARNING = "warning"


OF_REQUESTS = frozenset({Demand.DENIED, Demand.WARNING})
"""Checks of the responses to a step's requests; the others check objects."""


class Expected(NamedTuple):
    """One entry of `expect`."""

    demand: Demand
    wanted: Json
    """A pattern for an object, or a part of the response's text."""
    within: float | None
    """Time limit in seconds, from the position of the entry; None for the whole run."""
    location: Location


class Patch(NamedTuple):
    """A change to the object in `target`."""

    form: str
    """`merge` (RFC 7386) or `json` (RFC 6902)."""
    body: Json
    subresource: str = ""


class ScenarioStep(NamedTuple):
    """One step of a scenario."""

    verb: Verb | None
    """None for a step that only has expectations."""
    location: Location
    name: str = ""
    objects: tuple[Document, ...] = ()
    target: ObjectKey | None = None
    patch: Patch | None = None
    user: UserInfo | None = None
    """The user of the requests; None for the administrator."""
    seconds: float = 0.0
    controller: str = ""
    expected: tuple[Expected, ...] = ()
    lenient: bool = False
    """Whether a denial by a policy is accepted."""


class ScenarioSettings(NamedTuple):
    """Settings of the cluster and of the virtual time."""

    model: str = "kyverno-1.19"
    release: Release = NEWEST
    seed: int = 0
    start: datetime | None = None
    """The start time; None for the default of the simulation."""
    horizon: float = 60.0
    """Seconds to simulate after the last step."""
    pace: float = 0.05
    """Seconds between two steps, in addition to waits."""
    installation: Installation | None = None
    """The installation of Kyverno; None for the default values of the chart."""
    exceptions: bool | None = None
    """Whether PolicyExceptions count, in all namespaces; None for the installation's values."""
    latency: tuple[tuple[str, float], ...] = ()
    """Additional delays of steps in seconds, by actor; `storage` is that of requests."""
    workloads: bool = True
    kubelet: bool = True
    max_events: int = 50_000
    """Maximum number of events; this many take some minutes and about 400 MB."""
    budget: Budget = SIMULATED


class Scenario(NamedTuple):
    """A scenario for a simulated cluster."""

    name: str
    description: str = ""
    settings: ScenarioSettings = ScenarioSettings()
    objects: tuple[Document, ...] = ()
    """The objects that exist before the policies."""
    policies: tuple[Document, ...] = ()
    exceptions: tuple[Document, ...] = ()
    steps: tuple[ScenarioStep, ...] = ()
    expected: tuple[Expected, ...] = ()
    """The expectations that are checked from the first step on."""
    fail_on: str = ""
    """The lowest level of hazards that count as failures; "" if the file does not set it."""


# Evaluations of policies on an object in a simulation, with their results.


class EvaluationRecord(NamedTuple):
    """One evaluation of policies on an object."""

    time: float
    """Seconds since the start of the simulation."""
    actor: str
    """`admission`, or the controller that evaluates the policies by itself."""
    occasion: str
    """The operation of the evaluated request; "" without a request."""
    event: int | None
    """The number of the event to which it belongs, or that caused it."""
    explained: ObjectExplanation
    """The evaluated rules and, for a request, those that do not match."""
    unheard: str = ""
    """Why no policy was evaluated; "" if policies were, or could have been."""
    waiting: tuple[str, ...] = ()
    """The existing policies that are not active yet."""


# Reasons of failures in a simulation, for finding causes of hazards.


class FailureCause(StrEnum):
    """The cause of a failure; first those of requests, then those of background attempts."""

    OTHER = "other"
    NO_RIGHT = "no right"
    DENIED = "denied"
    """Denied by a webhook, such as a policy's."""
    INVALID = "invalid"
    NOT_FOUND = "not found"
    NO_NAMESPACE = "no namespace"
    NAMESPACE_GOES = "namespace goes"
    """The namespace of the object is being deleted."""
    NO_KIND = "no kind"
    EXISTS = "exists"
    CONFLICT = "conflict"
    TRIGGER_MISSING = "trigger missing"
    """The trigger is not in the cluster, or not yet."""
    TRIGGER_STAYS = "trigger stays"
    """The object to delete still exists."""
    TRIGGER_DIFFERS = "trigger differs"
    """The request was for another object than the found trigger."""
    SOURCE_MISSING = "source missing"
    LIST_FAILED = "list failed"
    NO_VALUE = "no value"
    USER_UNKNOWN = "user unknown"
    """The rule depends on the user of a request, but there is no request."""
    NOT_MET = "not met"
    """The rule does not apply to its trigger."""
    RULE_FAILED = "rule failed"
    RULE_GONE = "rule gone"
    CHANGED_AGAIN = "changed again"
    """The variant of the policy for another level changed the object as well."""


class FailureReason(NamedTuple):
    """One reason of a failure."""

    reason: FailureCause
    message: str
    object: ObjectKey | None = None
    uid: str = ""
    """The uid by which the object was looked up."""
    rules: tuple[str, ...] = ()
    """The rules that caused the failure, as `policy/rule`."""
    on_behalf_of: str = ""
    """The rule that failed, as `policy/rule`."""


# The results of a simulation: its timeline, hazards, and objects at the end.


class Unevaluated(NamedTuple):
    """A rule that ended in an error, so that it has no result for the object."""

    rule: str
    """As `policy/rule`, or `policy`."""
    message: str
    in_message: bool = False
    """Whether the rule failed, and only its message cannot be rendered."""
    note: str = ""
    """What its lookups did not find."""


class TimelineEvent(NamedTuple):
    """An action of an actor on an object, and its outcome."""

    number: int
    """Its index in the timeline."""
    time: float
    """Seconds since the start of the simulation."""
    actor: str
    """The name of a user, or `admission`, `background`, `kubelet` …"""
    action: str
    """A verb: `create`, `update`, `delete`, `mutate`, `deny`, `generate` …"""
    object: ObjectKey
    outcome: str
    """`done`, `denied`, `failed`, `skipped`, `waiting` …"""
    message: str = ""
    """Its purpose, or a message about it; `failure_reasons` contain why it failed."""
    cause: int | None = None
    """The number of the event that caused it."""
    before: KubernetesObject | None = None
    """The object before; None if it did not exist or is not recorded."""
    after: KubernetesObject | None = None
    """The object after; None if it was deleted or is not recorded."""
    policies: tuple[str, ...] = ()
    """The policies that caused it, as `policy/rule` or `policy`."""
    failure_reasons: tuple[FailureReason, ...] = ()
    """Why it failed, completely or in part."""
    given_up: bool = False
    """Whether it is not retried after its failure."""
    unevaluated: tuple[Unevaluated, ...] = ()
    """The rules that could not be evaluated; rules that failed are not included."""

    @property
    def full_message(self) -> str:
        """The message with the reasons of its failure, and whether it is retried."""
        why = "; ".join(dict.fromkeys(one.message for one in self.failure_reasons))
        end = "no more attempts are made" if self.given_up else ""
        return "; ".join(filter(None, (": ".join(filter(None, (self.message, why))), end)))


class HazardLevel(StrEnum):
    """The severity of a hazard."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Hazard(NamedTuple):
    """A problem that occurs in a simulation, or would occur later."""

    code: str
    """A stable name, such as `KH001`."""
    level: HazardLevel
    message: str
    objects: tuple[ObjectKey, ...] = ()
    policies: tuple[str, ...] = ()
    events: tuple[int, ...] = ()
    location: Location | None = None
    manifests: tuple[KubernetesObject, ...] = ()
    """Objects to apply that would fix it."""


class Expectation(NamedTuple):
    """An expectation of a scenario, and whether it was met."""

    text: str
    met: bool
    time: float
    """The time of the decision, in seconds since the start of the simulation."""
    reason: str = ""
    location: Location | None = None


class Cut(NamedTuple):
    """The reason why a run was aborted; its further events are unknown."""

    reason: str
    """The limit that was reached: `10 events`, `30 days`."""
    steps: tuple[Location, ...] = ()
    by_events: bool = True
    """Whether a higher limit of events would continue the run."""


class Unaffected(NamedTuple):
    """A rule that can match an object's kind and had no effect on the object."""

    object: ObjectKey
    rule: str
    """The rule after its policy, and how it ended."""
    reason: str
    location: Location | None


class Simulation(NamedTuple):
    """One complete run."""

    name: str
    events: tuple[TimelineEvent, ...]
    objects: tuple[KubernetesObject, ...]
    """The objects created by users or rules, in their final state."""
    hazards: tuple[Hazard, ...] = ()
    expectations: tuple[Expectation, ...] = ()
    seconds: float = 0.0
    """Virtual time in seconds."""
    model: str = ""
    release: str = NEWEST.name
    """The release of Kyverno that was simulated."""
    """The `Model` of `spec.background` that was used."""
    installation: str = ""
    """The installation of Kyverno: `helm`, `ci`, or the values file."""
    description: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Errors of inputs that the cluster rejected."""
    interleavings: "Interleavings | None" = None
    """The endings of other interleavings, if requested."""
    cut: Cut | None = None
    """None if the run was complete."""
    compared: "Simulation | None" = None
    explained: str = ""
    """The name of the object whose evaluations are explained; "" for none."""
    inquiries: tuple[EvaluationRecord, ...] = ()
    """The evaluations of policies on that object, in order."""
    unaffected: tuple[Unaffected, ...] = ()
    """Why policies that match kinds of given objects did nothing to them."""
    results: int = 0
    """The number of results without skipped ones."""
    skipped: int = 0

    @property
    def is_checked(self) -> bool:
        """Whether policies had results or effects, or an expectation was checked."""
        # Kyverno deletes objects at the end of their time to live without a policy.
        acted = (
            one.policies or one.unevaluated or one.actor == "cleanup"
            for one in self.events
            if one.outcome != "skipped"
        )
        return bool(self.results or self.expectations) or any(acted)


class ScenarioEnding(NamedTuple):
    """One of the possible endings of a scenario."""

    simulation: Simulation
    """The run with this ending and the fewest reorderings."""
    changes: int
    """The number of reorderings: an actor was run before the one that was due first."""
    runs: int


class Interleavings(NamedTuple):
    """The tried interleavings, by ending."""

    runs: int
    complete: bool
    """Whether all relevant interleavings were tried, up to a number of reorderings."""
    most_changes: int
    endings: tuple[ScenarioEnding, ...]
    """The ending of the usual interleaving is the first."""
