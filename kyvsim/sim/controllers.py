"""Kyverno's controllers besides admission: `CONTROLLERS` has all, `RESTARTS` what starts anew.

Each is started with the installation: it listens to admission and to policies, watches the store,
and schedules its own steps.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from kyvsim.sim.background.admission_triggers import start_admission_triggers
from kyvsim.sim.background.background_controller import (
    restart_background_controller,
    start_background_controller,
)
from kyvsim.sim.background.generate_in_cel import start_generating_policies
from kyvsim.sim.background.mutate_existing_in_cel import start_mutating_policies
from kyvsim.sim.background.policy_events import start_policy_controller
from kyvsim.sim.cleanup.cleanup_controller import restart_cleanup_controller, start_cleanup
from kyvsim.sim.cleanup.time_to_live import start_ttl
from kyvsim.sim.generated_policies.controller import start_generated_policies
from kyvsim.sim.kyverno.installed import Kyverno
from kyvsim.sim.reports.admission_reports import start_admission_events, start_admission_reports
from kyvsim.sim.reports.background_scan import start_scans
from kyvsim.sim.webhooks.configurations import write_webhooks

CONTROLLERS: tuple[Callable[[Kyverno], None], ...] = (
    write_webhooks,
    start_generated_policies,
    start_admission_events,
    start_admission_reports,
    start_scans,
    start_admission_triggers,
    start_background_controller,
    start_policy_controller,
    start_generating_policies,
    start_mutating_policies,
    start_cleanup,
    start_ttl,
)

RESTARTS: Mapping[str, Callable[[Kyverno], None]] = MappingProxyType(
    {
        "background-controller": restart_background_controller,
        "cleanup-controller": restart_cleanup_controller,
    }
)
"""By what calls them so."""
