"""What Kyverno's controllers share, and how they restart."""

from collections.abc import Callable
from typing import NamedTuple

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.simulator.admission.classic import AdmissionController
from kyvsim.simulator.configuration import NAMESPACE
from kyvsim.simulator.context import RESTART, SimulationContext
from kyvsim.simulator.downstream_watch import DownstreamWatch
from kyvsim.simulator.events import EventRecorder
from kyvsim.simulator.policies import PolicyCache, PolicyLister, PolicyStatusController
from kyvsim.simulator.reports import ReportCollector

# A controller's process started anew: memory is lost, and what is stored is seen again.


def restart(
    sim: SimulationContext, name: str, actors: frozenset[str], relist: Callable[[], None]
) -> None:
    """Let a controller end, and `relist` what it looks at when it is at work again some time later.

    `name` is the controller's, such as `cleanup`; `actors` are what runs in its process.
    """
    deployment = ObjectKey("apps/v1", "Deployment", NAMESPACE, f"kyverno-{name}-controller")
    event = sim.timeline.record("user", "restart", deployment)
    sim.scheduler.stop(actors)

    def begin() -> None:
        sim.scheduler.resume(actors)
        with sim.timeline.following(event.number):
            sim.timeline.record(name, "begin", deployment, message="re-lists all objects")
        relist()

    sim.scheduler.after(RESTART, "kubelet", begin)


# What Kyverno's controllers have of each other.


class Kyverno(NamedTuple):
    """One installation."""

    sim: SimulationContext
    cache: PolicyCache
    admission: AdmissionController
    policies: PolicyStatusController
    """Tells of policies that act anew, and of those that are gone."""
    events: EventRecorder
    lister: PolicyLister
    """The policies that work in the background, which do not wait for admission."""
    reports: ReportCollector
    generating: PolicyLister
    mutating: PolicyLister
    downstreams: DownstreamWatch
    """What those generated that keep it as they want it."""
    cleaning: list[Callable[[], None]]
    """What lists everything anew where the cleanup controller is started again."""
