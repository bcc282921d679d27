"""Kyverno's controllers besides admission; `CONTROLLERS` lists them.

Each is started with the installation: it listens to admission and to policies, watches the store,
and schedules its own steps.
"""

from collections.abc import Callable

from kyvsim.sim.kyverno.admission_events import start_admission_events
from kyvsim.sim.kyverno.admission_notes import start_admission_notes
from kyvsim.sim.kyverno.admission_reports import start_admission_reports
from kyvsim.sim.kyverno.admission_triggers import start_admission_triggers
from kyvsim.sim.kyverno.background_controller import start_background_controller
from kyvsim.sim.kyverno.background_scan import start_scans
from kyvsim.sim.kyverno.cleanup_controller import start_cleanup
from kyvsim.sim.kyverno.installed import Kyverno
from kyvsim.sim.kyverno.policy_events import start_policy_controller
from kyvsim.sim.kyverno.ttl_controller import start_ttl

CONTROLLERS: tuple[Callable[[Kyverno], None], ...] = (
    start_admission_events,
    start_admission_notes,
    start_admission_reports,
    start_scans,
    start_admission_triggers,
    start_background_controller,
    start_policy_controller,
    start_cleanup,
    start_ttl,
)
