"""The controllers of Kubernetes; `CONTROLLERS` lists them.

Each is started with the cluster's parts, watches the store, and schedules its own steps.
"""

from collections.abc import Callable

from kyvsim.simulator.kubernetes.cluster_roles import aggregate_cluster_roles
from kyvsim.simulator.kubernetes.definitions import establish_definitions
from kyvsim.simulator.kubernetes.jobs import delete_finished_jobs, run_cron_jobs, run_jobs
from kyvsim.simulator.kubernetes.namespaces import (
    add_service_accounts,
    empty_namespaces,
    publish_root_certificate,
)
from kyvsim.simulator.kubernetes.ownership import collect_garbage
from kyvsim.simulator.kubernetes.pods import bind_pods, run_kubelet
from kyvsim.simulator.kubernetes.workloads import (
    run_daemon_sets,
    run_deployments,
    run_replica_sets,
    run_stateful_sets,
)
from kyvsim.simulator.parts import Parts

CONTROLLERS: tuple[Callable[[Parts], None], ...] = (
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
