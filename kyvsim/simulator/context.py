"""The shared objects of a simulation's controllers, and their latencies."""

from collections.abc import Callable
from typing import NamedTuple

from kyvsim.engine.compile import Model
from kyvsim.kubernetes.objects import KubernetesObject
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import CelException, Policy, PolicyException
from kyvsim.model.ports import SIMULATED, Budget, Meter, System
from kyvsim.model.release import NEWEST, Release
from kyvsim.model.request import UserInfo
from kyvsim.model.simulation import CI, Installation
from kyvsim.simulator.api_server import ApiServer, Client, ObjectStore, Purpose
from kyvsim.simulator.api_server.metadata import Identities
from kyvsim.simulator.scheduler import Scheduler, VirtualClock
from kyvsim.simulator.timeline import Timeline
from kyvsim.simulator.tracer import SimulationTracer

# Latencies in virtual seconds; those that depend on the network in upstream are guesses.

WEBHOOK = 0.005
"""From a request's arrival to its admission, and again to its storage."""
NOTICE = 0.001
"""From a write to the controllers that watch for it."""
WRITE = 0.005
"""From a controller's request for a webhook configuration or a status to its storage."""
UPDATE_REQUEST = 0.01
"""From a webhook's response to its UpdateRequest."""
PICK_UP = 0.002
"""From the state Pending of an UpdateRequest to an attempt at it."""
TYPE_CHECK = 0.5
"""From the change of an admission policy to its checked types, for which schemas are downloaded."""
POD_START = 1.0
"""From the binding of a Pod to the start of its containers."""
POD_RUN = 5.0
"""From the start of a Job's Pod to its success, if its command has no `sleep`."""
POD_STOP = 1.0
"""From the signal to end a container to its end, if the container handles the signal."""
RESTART = 2.0
"""From a controller's stop to its restart."""
RETRY = 1.0
"""From a controller's failure to its next attempt; doubled after each."""
LONGEST_RETRY = 300.0
SCAN_DELAY = 30.0
"""From an object's change to its scan."""
SCAN_INTERVAL = 3600.0
"""Between two scans of all objects."""
REPORT_DELAY = 10.0
"""From an ephemeral report to its processing."""
REPORT_GIVEN_UP = 120.0
"""How long an ephemeral report waits for its object."""

# A run is cut after this many steps without effect, such as hourly steps over many years.

MOST_STEPS = 200_000


class StallDetector:
    """Detects that steps no longer have an effect."""

    def __init__(self, timeline: Timeline, scheduler: Scheduler) -> None:
        self._timeline = timeline
        self._scheduler = scheduler
        self._events = 0
        self._since = 0

    def is_stalled(self) -> bool:
        """Return whether more steps than the limit were run since the last event."""
        events, done = len(self._timeline.events), self._scheduler.done
        if events != self._events:
            self._events, self._since = events, done
        return done - self._since > MOST_STEPS


# The maximum number of Pods of one object, since each Pod is simulated.

MOST_PODS = 1_000


class ReplicaLimit:
    """Detects objects with more Pods than are simulated."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._seen = 0
        self.excess = ""
        """The object and its number of Pods; "" if there is none."""

    def is_exceeded(self) -> bool:
        """Return whether an object with too many Pods was written."""
        events = self._timeline.events
        while self._seen < len(events) and not self.excess:
            event = events[self._seen]
            self._seen += 1
            spec = event.after.get("spec") if event.after.__class__ is dict else None
            spec = spec if spec.__class__ is dict else {}
            numbers = [spec.get(name) for name in ("replicas", "parallelism")]
            count = max((int(one) for one in numbers if one.__class__ in {int, float}), default=0)
            if count > MOST_PODS:
                self.excess = (
                    f"{count:,} Pods for {event.object.kind} {event.object.namespace}/"
                    f"{event.object.name} (no more than {MOST_PODS:,} are simulated)"
                )
        return bool(self.excess)


class Readers(NamedTuple):
    """Functions that read stored objects as policies and exceptions."""

    policy: Callable[[KubernetesObject], tuple[Policy | None, tuple[Diagnostic, ...]]]
    """Reads a ClusterPolicy, Policy or cleanup policy."""
    exception: Callable[[KubernetesObject], tuple[PolicyException | None, tuple[Diagnostic, ...]]]
    cel_exception: Callable[[KubernetesObject], tuple[CelException | None, tuple[Diagnostic, ...]]]
    """The same for exceptions of `policies.kyverno.io`."""


class SimulationSettings(NamedTuple):
    """How Kyverno is installed, and which behaviour is simulated."""

    model: Model = Model.KYVERNO
    release: Release = NEWEST
    installation: Installation = CI
    exceptions: bool | None = None
    """Whether PolicyExceptions count, in all namespaces; None for the installation's setting."""
    seed: int = 0
    workloads: bool = True
    """Whether the controllers of Deployments, Jobs … run."""
    delays: tuple[tuple[str, float], ...] = ()
    """Seconds by which each step of an actor is delayed."""
    kubelet: bool = True
    """Whether Pods start, unless something that they refer to is missing."""
    own_pods: bool = False
    """Whether Kyverno's own Pods and Leases are in the cluster."""
    budget: Budget = SIMULATED
    """The steps that an evaluation can take."""
    has_budget_option: bool = False
    """Whether the command has an option for the budget, which error messages then name."""

    def meter(self) -> Meter:
        """Return the meter for the steps of policies."""
        return Meter(self.budget, settable=self.has_budget_option)

    @property
    def exceptions_namespace(self) -> str:
        """The namespace in which PolicyExceptions are enabled, `*` for all, "" for none."""
        if self.exceptions is None:
            return self.installation.exceptions_namespace
        return "*" if self.exceptions else ""


class SimulationContext(NamedTuple):
    """Clock, store, timeline, and the settings of a run."""

    clock: VirtualClock
    scheduler: Scheduler
    store: ObjectStore
    server: ApiServer
    timeline: Timeline
    identities: Identities
    readers: Readers
    settings: SimulationSettings
    tracer: SimulationTracer | None = None
    """Records evaluations for `--explain`; None by default."""

    def system(self) -> System:
        """Return the clock and randomness for policies, with a meter of their own."""
        return System(self.clock, self.identities, self.settings.meter(), self.settings.release)

    def client(self, user: UserInfo, purpose: Purpose | None = None) -> Client:
        """Return an API client for a user; its requests are recorded with a purpose."""
        return Client(self.server, user, purpose)
