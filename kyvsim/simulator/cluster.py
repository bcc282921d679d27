"""A whole cluster: its parts, its controllers, and its initial objects."""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from kyvsim.kubernetes.objects import KubernetesObject, object_key
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy
from kyvsim.model.simulation import BY_NAME, Installation
from kyvsim.schema.kinds import kyverno_kinds, version_deprecation
from kyvsim.simulator.admission.admission_policies import AdmissionPolicies, refuse_uncompiled
from kyvsim.simulator.admission.cel import CelAdmission, ImageAdmission
from kyvsim.simulator.admission.classic import AdmissionController, AdmissionNotes, record_requests
from kyvsim.simulator.admission.policy_validation import PolicyWebhook
from kyvsim.simulator.api_server import ApiServer, ObjectStore
from kyvsim.simulator.api_server.authorizer import refusal, refuse_escalation
from kyvsim.simulator.api_server.metadata import Identities, with_metadata
from kyvsim.simulator.api_server.pod_plugins import pod_plugin
from kyvsim.simulator.api_server.validation import refuse_invalid
from kyvsim.simulator.background.controller import (
    restart_background_controller,
    start_admission_triggers,
    start_background_controller,
    start_policy_controller,
)
from kyvsim.simulator.background.generate import start_generating_policies
from kyvsim.simulator.background.mutate_existing import start_mutating_policies
from kyvsim.simulator.cleanup import (
    CleanupController,
    TimeToLiveWebhook,
    TtlController,
    restart_cleanup_controller,
)
from kyvsim.simulator.configuration import installed_objects
from kyvsim.simulator.context import Readers, SimulationContext, SimulationSettings
from kyvsim.simulator.downstream_watch import DownstreamWatch
from kyvsim.simulator.events import EventRecorder
from kyvsim.simulator.generated_policies import AdmissionPolicyGenerator
from kyvsim.simulator.kubernetes.cluster_scoped import (
    GarbageCollector,
    NamespaceController,
    add_service_accounts,
    aggregate_cluster_roles,
    check_types,
    establish_definitions,
    publish_root_certificate,
    set_aggregated_rules,
)
from kyvsim.simulator.kubernetes.pods import Kubelet, bind_pods
from kyvsim.simulator.kubernetes.workloads import (
    CronJobController,
    delete_finished_jobs,
    run_workloads,
)
from kyvsim.simulator.kyverno import Kyverno
from kyvsim.simulator.own_pods import install_pods, watch_leases
from kyvsim.simulator.policies import (
    GENERATING_KINDS,
    MUTATING_KINDS,
    POLICY_KINDS,
    PolicyCache,
    PolicyLister,
    PolicyStatusController,
)
from kyvsim.simulator.reports import ReportCollector
from kyvsim.simulator.reports_controller import (
    Scanner,
    start_admission_events,
    start_admission_reports,
)
from kyvsim.simulator.scheduler import START, Choose, Scheduler, VirtualClock, earliest
from kyvsim.simulator.timeline import Timeline
from kyvsim.simulator.tracer import SimulationTracer, TracedCluster
from kyvsim.simulator.webhook_configurations import write_webhooks

# Each controller is started with the cluster's parts, or with the installation of Kyverno: it
# watches the store, or listens to admission and to policies, and schedules its own steps.

KUBERNETES_CONTROLLERS: tuple[Callable[[SimulationContext], object], ...] = (
    establish_definitions,
    aggregate_cluster_roles,
    add_service_accounts,
    publish_root_certificate,
    check_types,
    NamespaceController,
    GarbageCollector,
    run_workloads,
    delete_finished_jobs,
    CronJobController,
    bind_pods,
    Kubelet,
)

KYVERNO_CONTROLLERS: tuple[Callable[[Kyverno], object], ...] = (
    write_webhooks,
    AdmissionPolicyGenerator,
    start_admission_events,
    start_admission_reports,
    Scanner,
    start_admission_triggers,
    start_background_controller,
    start_policy_controller,
    start_generating_policies,
    start_mutating_policies,
    CleanupController,
    TtlController,
)
RESTARTS: Mapping[str, Callable[[Kyverno], None]] = {
    "background-controller": restart_background_controller,
    "cleanup-controller": restart_cleanup_controller,
}


class SimulatedCluster(NamedTuple):
    """A cluster with Kyverno; nothing is pending until a request is sent."""

    sim: SimulationContext
    kyverno: Kyverno


@lru_cache(maxsize=4)
def _installed(installation: str, seed: int, start: datetime) -> tuple[ObjectStore, Identities]:
    return _install(BY_NAME[installation], seed, start)


def _install(
    installation: Installation, seed: int, start: datetime
) -> tuple[ObjectStore, Identities]:
    """Return a store with the objects of an installation, and what gave them their uids."""
    store, identities, clock = ObjectStore(kyverno_kinds()), Identities(seed), VirtualClock(start)
    for obj in installed_objects(installation):
        stamp = {"uid": identities.uid(*object_key(obj)), "creationTimestamp": clock.stamp()}
        store.put(with_metadata(obj, stamp))
    set_aggregated_rules(store)
    return store, identities


def open_cluster(
    readers: Readers,
    settings: SimulationSettings = SimulationSettings(),  # noqa: B008 — an immutable value
    start: datetime = START,
    choose: Choose = earliest,
    *,
    tracer: SimulationTracer | None = None,
) -> SimulatedCluster:
    """Return a new cluster with Kyverno installed."""
    if settings.installation.ignores_failures:
        read_policy = readers.policy

        def read_open(obj: KubernetesObject) -> tuple[Policy | None, tuple[Diagnostic, ...]]:
            """Read a policy as failing open, whatever its `failurePolicy`."""
            policy, diagnostics = read_policy(obj)
            if policy is not None:
                policy = policy._replace(facts=policy.facts._replace(fails_closed=False))
            return policy, diagnostics

        readers = readers._replace(policy=read_open)
    clock = VirtualClock(start)
    installation = settings.installation
    if installation == BY_NAME.get(installation.name):
        # Hundreds of tests, and of runs of a scenario, begin with equal objects.
        prepared, before = _installed(installation.name, settings.seed, start)
        store, identities = prepared.copy(), before.copy()
    else:
        store, identities = _install(installation, settings.seed, start)
    server = ApiServer(store, clock, identities)
    timeline = Timeline(clock)
    scheduler = Scheduler(clock, choose, dict(settings.delays))
    sim = SimulationContext(
        clock, scheduler, store, server, timeline, identities, readers, settings, tracer
    )
    if settings.own_pods:
        install_pods(sim)
    cache = PolicyCache(sim)
    admission = AdmissionController(sim, cache)
    _serve(sim, cache, admission)
    status = PolicyStatusController(sim, cache)
    kyverno = Kyverno(
        sim=sim,
        cache=cache,
        admission=admission,
        policies=status,
        events=EventRecorder(sim),
        lister=PolicyLister(sim, cache, POLICY_KINDS),
        reports=ReportCollector(sim, cache),
        generating=PolicyLister(sim, cache, GENERATING_KINDS),
        mutating=PolicyLister(sim, cache, MUTATING_KINDS),
        downstreams=DownstreamWatch(sim),
        cleaning=[],
    )
    for start_controller in KUBERNETES_CONTROLLERS:
        start_controller(sim)
    for start_own in KYVERNO_CONTROLLERS:
        start_own(kyverno)
    watch_leases(kyverno, RESTARTS)
    return SimulatedCluster(sim, kyverno)


def _serve(sim: SimulationContext, cache: PolicyCache, admission: AdmissionController) -> None:
    """Register everything that admits, mutates or records requests with the API server."""
    server, store, identities = sim.server, sim.store, sim.identities
    release = sim.settings.release
    server.deprecation = lambda *kind: release.requested(*kind) or version_deprecation(*kind)
    server.authorizers.append(lambda request: refusal(request, store))
    server.plugins.append(pod_plugin(store, identities))
    server.validators += [
        lambda review: refuse_escalation(review, store),
        refuse_invalid,
        lambda review: refuse_uncompiled(review, store),
    ]
    notes = AdmissionNotes(admission, store)
    server.policies.append(AdmissionPolicies(store, notes.add))
    server.webhooks += [
        # The API server calls mutating webhooks by name: those of CEL policies are first.
        ImageAdmission(sim, cache, admission),
        CelAdmission(sim, cache, admission),
        admission,
        PolicyWebhook(sim),
        TimeToLiveWebhook(),
    ]
    server.observers.append(record_requests(sim.timeline, notes.take))
    tracer = sim.tracer
    if tracer is not None:
        # It records requests, evaluations and their results.
        cluster = TracedCluster(
            sim.scheduler, sim.timeline, store, lambda: cache.index, cache.waiting
        )
        tracer.attach(cluster, server)
        admission.listeners.append(
            lambda one: tracer.add_responses(one.review.request, (*one.responses, *one.dropped))
        )
