"""What Kyverno's controllers have of each other."""

from collections.abc import Callable
from typing import NamedTuple

from kyvsim.simulator.kyverno.admission import AdmissionController
from kyvsim.simulator.kyverno.downstream_watch import DownstreamWatch
from kyvsim.simulator.kyverno.events import EventRecorder
from kyvsim.simulator.kyverno.policies import PolicyCache, PolicyLister
from kyvsim.simulator.kyverno.policy_status import PolicyStatusController
from kyvsim.simulator.kyverno.reports import ReportCollector
from kyvsim.simulator.parts import Parts


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
