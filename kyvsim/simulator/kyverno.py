"""The shared objects of Kyverno's controllers, and how they restart."""

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


def restart(
    sim: SimulationContext, name: str, actors: frozenset[str], relist: Callable[[], None]
) -> None:
    """Stop a controller, and start it again some time later with `relist`, which lists its objects.

    `name` is that of the controller, such as `cleanup`; `actors` run in its process.
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


class Kyverno(NamedTuple):
    """An installation of Kyverno."""

    sim: SimulationContext
    cache: PolicyCache
    admission: AdmissionController
    policies: PolicyStatusController
    """Calls listeners when policies become active or are deleted."""
    events: EventRecorder
    lister: PolicyLister
    """The policies that work in the background, ready or not."""
    reports: ReportCollector
    generating: PolicyLister
    mutating: PolicyLister
    downstreams: DownstreamWatch
    """The synchronized objects of the generating CEL policies."""
    cleaning: list[Callable[[], None]]
    """Functions that list all objects again when the cleanup controller is restarted."""
