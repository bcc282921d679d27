"""What Kyverno's controllers have of each other."""

from collections.abc import Callable
from typing import NamedTuple

from kyvsim.sim.kyverno.admission import AdmissionController
from kyvsim.sim.kyverno.downstream_watch import DownstreamWatch
from kyvsim.sim.kyverno.events import EventRecorder
from kyvsim.sim.kyverno.policies import PolicyCache, PolicyLister
from kyvsim.sim.kyverno.policy_status import PolicyStatusController
from kyvsim.sim.kyverno.reports import ReportCollector
from kyvsim.sim.parts import Parts


class Kyverno(NamedTuple):
    """One installation."""

    parts: Parts
    cache: PolicyCache
    admission: AdmissionController
    policies: PolicyStatusController
    """Tells of policies that act anew, and of those that are gone."""
    events: EventRecorder
    lister: PolicyLister
    """The policies that work in the background, which do not wait for admission."""
    reports: ReportCollector
    generating: PolicyLister
    """The policies in CEL that generate."""
    mutating: PolicyLister
    """Those that mutate."""
    downstreams: DownstreamWatch
    """What those generated that keep it as they want it."""
    cleaning: list[Callable[[], None]]
    """What lists everything anew where the cleanup controller is started again."""
