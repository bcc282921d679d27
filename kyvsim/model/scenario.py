"""Scenarios: how Kyverno is installed, what is done to a cluster, and what is expected of it."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json, ObjectKey
from kyvsim.model.ports import SIMULATED, Budget
from kyvsim.model.request import UserInfo
from kyvsim.model.source import Document, Location

# How Kyverno is installed in a simulated cluster: as its Helm chart installs it, with values.


class Installation(NamedTuple):
    """One installation."""

    name: str
    """What views call it: `helm`, `ci`, or the file of values."""
    values: Mapping[str, Json] = MappingProxyType({})
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
        """The statuses of results that reports tell of, None for all of them."""
        given = self.value("features", "reporting", "allowedResults")
        if not given:
            return None
        return frozenset(name for name, wanted in given.items() if wanted)


HELM = Installation("helm")
"""The chart with its own values, which is what people have."""


def _rights(resources: Iterable[str], verbs: Iterable[str], group: str = "*") -> Json:
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
    """What is created, applied, updated or deleted, in this order."""
    target: ObjectKey | None = None
    """What is patched."""
    patch: Patch | None = None
    user: UserInfo | None = None
    """Who does it; None for the administrator."""
    seconds: float = 0.0
    """How long is waited."""
    controller: str = ""
    """What is restarted."""
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
    """What policies may take whenever they are asked."""


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
