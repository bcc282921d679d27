"""The controllers of a cluster: those of Kubernetes and those of Kyverno."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from kyvsim.simulator.background.controller import (
    restart_background_controller,
    start_admission_triggers,
    start_background_controller,
    start_policy_controller,
)
from kyvsim.simulator.background.generate_cel import start_generating_policies
from kyvsim.simulator.background.mutate_existing import start_mutating_policies
from kyvsim.simulator.cleanup import restart_cleanup_controller, start_cleanup, start_ttl
from kyvsim.simulator.context import SimulationContext
from kyvsim.simulator.generated_policies import start_generated_policies
from kyvsim.simulator.kubernetes.cluster_scoped import (
    add_service_accounts,
    aggregate_cluster_roles,
    empty_namespaces,
    establish_definitions,
    publish_root_certificate,
)
from kyvsim.simulator.kubernetes.garbage_collector import collect_garbage
from kyvsim.simulator.kubernetes.jobs import delete_finished_jobs, run_cron_jobs, run_jobs
from kyvsim.simulator.kubernetes.pods import bind_pods, run_kubelet
from kyvsim.simulator.kubernetes.workloads import (
    run_daemon_sets,
    run_deployments,
    run_replica_sets,
    run_stateful_sets,
)
from kyvsim.simulator.kyverno import Kyverno
from kyvsim.simulator.reports_controller import (
    start_admission_events,
    start_admission_reports,
    start_scans,
)
from kyvsim.simulator.webhook_configurations import write_webhooks

# The controllers of Kubernetes; `KUBERNETES_CONTROLLERS` lists them.
#
# Each is started with the cluster's parts, watches the store, and schedules its own steps.

KUBERNETES_CONTROLLERS: tuple[Callable[[SimulationContext], None], ...] = (
    establish_definitions,
    aggregate_cluster_roles,
    add_service_accounts,
    publish_root_certificate,
    empty_namespaces,
    collect_garbage,
    run_deployments,
    run_replica_sets,
    run_stateful_sets,
    run_daemon_sets,
    run_jobs,
    delete_finished_jobs,
    run_cron_jobs,
    bind_pods,
    run_kubelet,
)

# Kyverno's controllers besides admission: `KYVERNO_CONTROLLERS` lists them, `RESTARTS` those that
# scenarios restart.
#
# Each is started with the installation: it listens to admission and to policies, watches the
# store, and schedules its own steps.

KYVERNO_CONTROLLERS: tuple[Callable[[Kyverno], None], ...] = (
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
