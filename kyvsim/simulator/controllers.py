"""Kyverno's controllers besides admission: `CONTROLLERS` has all, `RESTARTS` what starts anew.

Each is started with the installation: it listens to admission and to policies, watches the store,
and schedules its own steps.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from kyvsim.simulator.background.admission_triggers import start_admission_triggers
from kyvsim.simulator.background.background_controller import (
    restart_background_controller,
    start_background_controller,
)
from kyvsim.simulator.background.generate_in_cel import start_generating_policies
from kyvsim.simulator.background.mutate_existing_in_cel import start_mutating_policies
from kyvsim.simulator.background.policy_events import start_policy_controller
from kyvsim.simulator.cleanup.cleanup_controller import restart_cleanup_controller, start_cleanup
from kyvsim.simulator.cleanup.time_to_live import start_ttl
from kyvsim.simulator.generated_policies.controller import start_generated_policies
from kyvsim.simulator.kyverno.installed import Kyverno
from kyvsim.simulator.reports.admission_reports import (
    start_admission_events,
    start_admission_reports,
)
from kyvsim.simulator.reports.background_scan import start_scans
from kyvsim.simulator.webhooks.configurations import write_webhooks

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
