"""The CronJob controller: a Job whenever the schedule says so.

Source of the rules: k8s.io/kubernetes pkg/controller/cronjob.
"""

from datetime import datetime

from kyvsim.kube.cron import next_times
from kyvsim.kube.objects import Json, ObjectKey, annotations, labels, object_key, text_field
from kyvsim.sim.kubernetes.conditions import write_status
from kyvsim.sim.kubernetes.jobs import is_finished
from kyvsim.sim.kubernetes.owners import (
    controlled,
    look_at_controller,
    look_at_self,
    owner_reference,
)
from kyvsim.sim.kubernetes.users import CRON_JOB
from kyvsim.sim.kubernetes.work_queue import WorkQueue, watch_kinds
from kyvsim.sim.parts import Parts
from kyvsim.sim.server.metadata import is_terminating

_AT = "batch.kubernetes.io/cronjob-scheduled-timestamp"


def run_cron_jobs(parts: Parts) -> None:
    """Make the Jobs of CronJobs in time, and delete old ones."""
    if parts.settings.workloads:
        _CronJobController(parts)


class _CronJobController:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._client = parts.client(CRON_JOB)
        self._queue = WorkQueue(parts, "cronjob-controller", self._look)
        self._next: dict[str, datetime] = {}
        """When a CronJob, by its uid and schedule, is due next; only the first timer counts."""
        watch_kinds(
            parts.store,
            {
                ("batch/v1", "CronJob"): look_at_self(self._queue),
                ("batch/v1", "Job"): look_at_controller(self._queue, "CronJob"),
            },
        )

    def _look(self, key: ObjectKey) -> bool:
        found = self._client.get(*key)
        if found is None or is_terminating(found):
            return True
        now, spec = self._parts.clock.now(), found["spec"]
        which = f"{found['metadata']['uid']} {spec.get('schedule')}"
        due = self._next.get(which)
        made = None
        well = True
        if due is not None and due <= now and spec.get("suspend") is not True:
            made, well = self._make(found, due)
        if due is None or due <= now:
            self._plan(found, which)
        well = self._forget_old(found) and well
        return write_status(self._client, found, self._status(found, made)) and well

    def _plan(self, cron_job: Json, which: str) -> None:
        """Come back when the CronJob is due next; never, where its schedule cannot be read."""
        now = self._parts.clock.now()
        try:
            times = next_times(text_field(cron_job["spec"], "schedule"), now, 1)
        except ValueError:
            return
        if times:
            self._next[which] = times[0]
            self._queue.add_at(object_key(cron_job), (times[0] - now).total_seconds())

    def _jobs(self, cron_job: Json) -> list[Json]:
        return controlled(self._parts.store, cron_job, "batch/v1", "Job")

    def _make(self, cron_job: Json, due: datetime) -> tuple[datetime | None, bool]:
        """Make the Job of a time, unless another runs that forbids it; return when it was due."""
        active = [one for one in self._jobs(cron_job) if not is_finished(one)]
        policy = cron_job["spec"].get("concurrencyPolicy")
        if active and policy == "Forbid":
            return None, True
        if policy == "Replace":
            for one in active:
                self._client.delete(object_key(one))
        made = self._client.create(_job(cron_job, due))
        return (due if made.ok else None), made.ok

    def _forget_old(self, cron_job: Json) -> bool:
        finished = [one for one in self._jobs(cron_job) if is_finished(one)]
        kept = int(cron_job["spec"].get("successfulJobsHistoryLimit", 3))
        old = sorted(finished, key=_started)[: max(len(finished) - kept, 0)]
        return not [one for one in old if not self._client.delete(object_key(one)).ok]

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


def _job(cron_job: Json, due: datetime) -> Json:
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
    return {**kind, "metadata": meta, "spec": template.get("spec")}
