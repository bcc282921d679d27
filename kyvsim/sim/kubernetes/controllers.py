"""The controllers of Kubernetes; `CONTROLLERS` lists them.

Each is started with the cluster's parts, watches the store, and schedules its own steps.
"""

from collections.abc import Callable

from kyvsim.sim.kubernetes.cluster_roles import aggregate_cluster_roles
from kyvsim.sim.kubernetes.cron_jobs import run_cron_jobs
from kyvsim.sim.kubernetes.daemon_sets import run_daemon_sets
from kyvsim.sim.kubernetes.default_objects import add_service_accounts, publish_root_certificate
from kyvsim.sim.kubernetes.definitions import establish_definitions
from kyvsim.sim.kubernetes.deployments import run_deployments
from kyvsim.sim.kubernetes.garbage_collector import collect_garbage
from kyvsim.sim.kubernetes.jobs import delete_finished_jobs, run_jobs
from kyvsim.sim.kubernetes.kubelet import run_kubelet
from kyvsim.sim.kubernetes.namespaces import empty_namespaces
from kyvsim.sim.kubernetes.replica_sets import run_replica_sets
from kyvsim.sim.kubernetes.scheduling import bind_pods
from kyvsim.sim.kubernetes.stateful_sets import run_stateful_sets
from kyvsim.sim.parts import Parts

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
