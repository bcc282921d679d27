"""The Job and CronJob controllers."""

from datetime import datetime

from kyvsim.kubernetes.cron import next_times
from kyvsim.kubernetes.objects import Json, ObjectKey, annotations, labels, object_key, text_field
from kyvsim.simulator.api_server import Client, StoreChange
from kyvsim.simulator.api_server.metadata import is_terminating
from kyvsim.simulator.context import SimulationContext
from kyvsim.simulator.kubernetes.controller import (
    CRON_JOB,
    JOB,
    TTL_AFTER_FINISHED,
    StatusCondition,
    WorkQueue,
    conditions,
    counts,
    has_condition,
    watch_kinds,
    write_status,
)
from kyvsim.simulator.kubernetes.garbage_collector import (
    controlled,
    enqueue,
    enqueue_controller,
    owner_reference,
)
from kyvsim.simulator.kubernetes.workloads import is_active, is_ready, pod_of, reconcile

# The Job controller: Pods until enough of them have succeeded.
#
# Source of the rules: k8s.io/kubernetes pkg/controller/job, pkg/controller/ttlafterfinished.


def run_jobs(sim: SimulationContext) -> None:
    """Make the Pods of Jobs, and count those that succeed."""

    def sync(client: Client, job: Json) -> bool:
        if is_finished(job):
            return True
        well = _make_pods(sim, job)
        return write_status(client, job, _status(sim, job)) and well

    reconcile(sim, JOB, "job-controller", ("batch/v1", "Job"), sync)


def delete_finished_jobs(sim: SimulationContext) -> None:
    """Delete Jobs that have been finished for as long as they are to be kept."""
    if not sim.settings.workloads:
        return
    client = sim.client(TTL_AFTER_FINISHED)

    def work(key: ObjectKey) -> bool:
        found = client.get(*key)
        if found is None or is_terminating(found) or not is_finished(found):
            return True
        return client.delete(key).ok

    queue = WorkQueue(sim, "ttl-after-finished-controller", work)

    def on_job(change: StoreChange) -> None:
        job, old = change.new, change.old
        if job is None or not is_finished(job) or (old is not None and is_finished(old)):
            return
        seconds = job["spec"].get("ttlSecondsAfterFinished")
        if seconds is not None:
            queue.add_at(object_key(job), float(seconds))

    watch_kinds(sim.store, {("batch/v1", "Job"): on_job})


def is_finished(job: Json) -> bool:
    """Return whether a Job has come to its end."""
    return has_condition(job, "Complete") or has_condition(job, "Failed")


def _pods(sim: SimulationContext, job: Json) -> tuple[list[Json], int, int]:
    """Return the Pods that run, and how many have succeeded and failed."""
    pods = controlled(sim.store, job, "v1", "Pod")
    phases = [(one.get("status") or {}).get("phase") for one in pods]
    active = [one for one in pods if is_active(one)]
    return active, phases.count("Succeeded"), phases.count("Failed")


def _make_pods(sim: SimulationContext, job: Json) -> bool:
    client, spec = sim.client(JOB), job["spec"]
    active, succeeded, _ = _pods(sim, job)
    if spec.get("suspend") is True:
        return not [one for one in active if not client.delete(object_key(one)).ok]
    parallel = int(spec.get("parallelism", 1))
    completions = spec.get("completions")
    wanted = parallel if completions is None else min(parallel, int(completions) - succeeded)
    if completions is None and succeeded:
        wanted = 0  # a queue of work is done when one of its Pods says so
    used = {_index(one) for one in controlled(sim.store, job, "v1", "Pod")}
    for _ in range(wanted - len(active)):
        index = next(number for number in range(len(used) + 1) if number not in used)
        used.add(index)
        if not client.create(_pod(job, index)).ok:
            return False
    return True


_INDEX = "batch.kubernetes.io/job-completion-index"


def _index(pod: Json) -> int:
    found = (pod["metadata"].get("annotations") or {}).get(_INDEX)
    return int(found) if found is not None else -1


def _pod(job: Json, index: int) -> Json:
    base = object_key(job).name
    if job["spec"].get("completionMode") != "Indexed":
        return pod_of(job, job["spec"]["template"], {"generateName": f"{base}-"}, {})
    mark = {_INDEX: str(index)}
    name = {"generateName": f"{base}-{index}-"}
    pod = pod_of(job, job["spec"]["template"], name, mark)
    meta = {**pod["metadata"], "annotations": {**pod["metadata"].get("annotations", {}), **mark}}
    return {**pod, "metadata": meta}


def _status(sim: SimulationContext, job: Json) -> Json:
    active, succeeded, failed = _pods(sim, job)
    spec, old, now = job["spec"], job.get("status") or {}, sim.clock.stamp()
    suspended = spec.get("suspend") is True
    wanted = spec.get("completions")
    done = succeeded >= (1 if wanted is None else int(wanted)) and not active
    held = []
    if suspended:
        held.append(StatusCondition("Suspended", True, "JobSuspended", "Job suspended"))
    if done:
        why = ("CompletionsReached", "Reached expected number of succeeded pods")
        held += [
            StatusCondition("SuccessCriteriaMet", True, *why),
            StatusCondition("Complete", True, *why),
        ]
    written = conditions(old, held, now)
    started = {} if suspended else {"startTime": old.get("startTime", now)}
    return {
        **started,
        **counts(active=len(active), succeeded=succeeded, failed=failed),
        "ready": sum(is_ready(one) for one in active),
        "terminating": 0,
        "uncountedTerminatedPods": {},
        **({"completionTime": now} if done else {}),
        **({"conditions": written} if written else {}),
    }


# The CronJob controller: a Job whenever the schedule says so.
#
# Source of the rules: k8s.io/kubernetes pkg/controller/cronjob.

_AT = "batch.kubernetes.io/cronjob-scheduled-timestamp"


def run_cron_jobs(sim: SimulationContext) -> None:
    """Make the Jobs of CronJobs in time, and delete old ones."""
    if sim.settings.workloads:
        _CronJobController(sim)


class _CronJobController:
    def __init__(self, sim: SimulationContext) -> None:
        self._sim = sim
        self._client = sim.client(CRON_JOB)
        self._queue = WorkQueue(sim, "cronjob-controller", self._sync)
        self._next: dict[str, datetime] = {}
        """When a CronJob, by its uid and schedule, is due next; only the first timer counts."""
        watch_kinds(
            sim.store,
            {
                ("batch/v1", "CronJob"): enqueue(self._queue),
                ("batch/v1", "Job"): enqueue_controller(self._queue, "CronJob"),
            },
        )

    def _sync(self, key: ObjectKey) -> bool:
        found = self._client.get(*key)
        if found is None or is_terminating(found):
            return True
        now, spec = self._sim.clock.now(), found["spec"]
        which = f"{found['metadata']['uid']} {spec.get('schedule')}"
        due = self._next.get(which)
        made = None
        well = True
        if due is not None and due <= now and spec.get("suspend") is not True:
            made, well = self._make(found, due)
        if due is None or due <= now:
            self._plan(found, which)
        finished = [one for one in self._jobs(found) if is_finished(one)]
        kept = int(found["spec"].get("successfulJobsHistoryLimit", 3))
        old = sorted(finished, key=_started)[: max(len(finished) - kept, 0)]
        well = (not [one for one in old if not self._client.delete(object_key(one)).ok]) and well
        return write_status(self._client, found, self._status(found, made)) and well

    def _plan(self, cron_job: Json, which: str) -> None:
        """Come back when the CronJob is due next; never, where its schedule cannot be read."""
        now = self._sim.clock.now()
        try:
            times = next_times(text_field(cron_job["spec"], "schedule"), now, 1)
        except ValueError:
            return
        if times:
            self._next[which] = times[0]
            self._queue.add_at(object_key(cron_job), (times[0] - now).total_seconds())

    def _jobs(self, cron_job: Json) -> list[Json]:
        return controlled(self._sim.store, cron_job, "batch/v1", "Job")

    def _make(self, cron_job: Json, due: datetime) -> tuple[datetime | None, bool]:
        """Make the Job of a time, unless another runs that forbids it; return when it was due."""
        active = [one for one in self._jobs(cron_job) if not is_finished(one)]
        policy = cron_job["spec"].get("concurrencyPolicy")
        if active and policy == "Forbid":
            return None, True
        if policy == "Replace":
            for one in active:
                self._client.delete(object_key(one))
        template, key = cron_job["spec"]["jobTemplate"], object_key(cron_job)
        meta: dict[str, Json] = {
            "name": f"{key.name}-{int(due.timestamp()) // 60}",
            "namespace": key.namespace,
            "annotations": {**annotations(template), _AT: due.strftime("%Y-%m-%dT%H:%M:%SZ")},
            "ownerReferences": [owner_reference(cron_job)],
        }
        if labels(template):
            meta["labels"] = labels(template)
        kind = {"apiVersion": "batch/v1", "kind": "Job"}
        made = self._client.create({**kind, "metadata": meta, "spec": template.get("spec")})
        return (due if made.ok else None), made.ok

    def _status(self, cron_job: Json, made: datetime | None) -> Json:
        status = dict(cron_job.get("status") or {})
        active = [one for one in self._jobs(cron_job) if not is_finished(one)]
        status.pop("active", None)
        if active:
            status["active"] = [_reference(one) for one in active]
        if made is not None:
            status["lastScheduleTime"] = made.strftime("%Y-%m-%dT%H:%M:%SZ")
        return status


def _started(job: Json) -> tuple[str, str]:
    return text_field(job.get("status"), "startTime"), object_key(job).name


def _reference(job: Json) -> dict[str, Json]:
    key, meta = object_key(job), job["metadata"]
    named = {"apiVersion": key.api_version, "kind": key.kind, "name": key.name}
    return {**named, "namespace": key.namespace, "uid": meta["uid"]}
