"""What the controllers of one simulation share."""

from collections.abc import Callable
from typing import NamedTuple

from kyvsim.engine.compile import Model
from kyvsim.kubernetes.objects import Json
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import CelException, Policy, PolicyException
from kyvsim.model.ports import SIMULATED, Budget, Meter
from kyvsim.model.request import UserInfo
from kyvsim.model.scenario import CI, Installation
from kyvsim.simulator.api_server import ApiServer, Client, Purpose, Store
from kyvsim.simulator.api_server.metadata import Identities
from kyvsim.simulator.inquirer import Inquirer
from kyvsim.simulator.time import Scheduler, VirtualClock
from kyvsim.simulator.timeline import Timeline


class Readers(NamedTuple):
    """How stored objects become policies and exceptions; files are none of a simulation's."""

    policy: Callable[[Json], tuple[Policy | None, tuple[Diagnostic, ...]]]
    """Reads a ClusterPolicy, Policy or cleanup policy."""
    exception: Callable[[Json], tuple[PolicyException | None, tuple[Diagnostic, ...]]]
    cel_exception: Callable[[Json], tuple[CelException | None, tuple[Diagnostic, ...]]]
    """The same for exceptions of `policies.kyverno.io`."""


class Settings(NamedTuple):
    """How Kyverno is installed, and which readings the simulation follows."""

    model: Model = Model.KYVERNO
    installation: Installation = CI
    exceptions: bool | None = None
    """Whether PolicyExceptions count, in all namespaces; None for what the installation says."""
    seed: int = 0
    workloads: bool = True
    """Whether the controllers of Deployments, Jobs … run."""
    delays: tuple[tuple[str, float], ...] = ()
    """Seconds by which each step of an actor comes later."""
    kubelet: bool = True
    """Whether Pods start, and hang where what they refer to is missing."""
    budget: Budget = SIMULATED
    """What policies may take whenever they are asked."""
    has_budget_option: bool = False
    """Whether the command has an option for the budget, which errors then name."""

    def meter(self) -> Meter:
        """Return what counts the steps of policies."""
        return Meter(self.budget, settable=self.has_budget_option)

    @property
    def exceptions_namespace(self) -> str:
        """The namespace in which PolicyExceptions count, `*` for all, "" for none."""
        if self.exceptions is None:
            return self.installation.exceptions_namespace
        return "*" if self.exceptions else ""


class Parts(NamedTuple):
    """Time, storage, the record, and what was decided for the whole run."""

    clock: VirtualClock
    scheduler: Scheduler
    store: Store
    server: ApiServer
    timeline: Timeline
    identities: Identities
    readers: Readers
    settings: Settings
    inquirer: Inquirer | None = None
    """Who is told how policies come to what they say; nobody by default."""

    def client(self, user: UserInfo, purpose: Purpose | None = None) -> Client:
        """Return the API as a user sees it, whose requests are told to be for a purpose."""
        return Client(self.server, user, purpose)
