"""The Job controller: Pods until enough of them have succeeded.

Source of the rules: k8s.io/kubernetes pkg/controller/job, pkg/controller/ttlafterfinished.
"""

from kyvsim.kube.objects import Json, ObjectKey, object_key
from kyvsim.sim.kubernetes.conditions import (
    Condition,
    conditions,
    counts,
    has_condition,
    write_status,
)
from kyvsim.sim.kubernetes.owners import controlled, look_at_controller, look_at_self
from kyvsim.sim.kubernetes.pod_template import is_active, is_ready, pod_of
from kyvsim.sim.kubernetes.users import JOB, TTL_AFTER_FINISHED
from kyvsim.sim.kubernetes.work_queue import WorkQueue, watch_kinds
from kyvsim.sim.parts import Parts
from kyvsim.sim.server import Change
from kyvsim.sim.server.metadata import is_terminating


def run_jobs(parts: Parts) -> None:
    """Make the Pods of Jobs, and count those that succeed."""
    if not parts.settings.workloads:
        return
    client = parts.client(JOB)

    def work(key: ObjectKey) -> bool:
        found = client.get(*key)
        if found is None or is_terminating(found) or is_finished(found):
            return True
        well = _make_pods(parts, found)
        return write_status(client, found, _status(parts, found)) and well

    queue = WorkQueue(parts, "job-controller", work)
    watch_kinds(
        parts.store,
        {
            ("batch/v1", "Job"): look_at_self(queue),
            ("v1", "Pod"): look_at_controller(queue, "Job"),
        },
    )


def delete_finished_jobs(parts: Parts) -> None:
    """Delete Jobs that have been finished for as long as they are to be kept."""
    if not parts.settings.workloads:
        return
    client = parts.client(TTL_AFTER_FINISHED)

    def work(key: ObjectKey) -> bool:
        found = client.get(*key)
        if found is None or is_terminating(found) or not is_finished(found):
            return True
        return client.delete(key).ok

    queue = WorkQueue(parts, "ttl-after-finished-controller", work)

    def on_job(change: Change) -> None:
        job, old = change.new, change.old
        if job is None or not is_finished(job) or (old is not None and is_finished(old)):
            return
        seconds = job["spec"].get("ttlSecondsAfterFinished")
        if seconds is not None:
            queue.add_at(object_key(job), float(seconds))

    watch_kinds(parts.store, {("batch/v1", "Job"): on_job})


def is_finished(job: Json) -> bool:
    """Return whether a Job has come to its end."""
    return has_condition(job, "Complete") or has_condition(job, "Failed")


def _pods(parts: Parts, job: Json) -> tuple[list[Json], int, int]:
    """Return the Pods that run, and how many have succeeded and failed."""
    pods = controlled(parts.store, job, "v1", "Pod")
    phases = [(one.get("status") or {}).get("phase") for one in pods]
    active = [one for one in pods if is_active(one)]
    return active, phases.count("Succeeded"), phases.count("Failed")


def _make_pods(parts: Parts, job: Json) -> bool:
    client, spec = parts.client(JOB), job["spec"]
    active, succeeded, _ = _pods(parts, job)
    if spec.get("suspend") is True:
        return not [one for one in active if not client.delete(object_key(one)).ok]
    parallel = int(spec.get("parallelism", 1))
    completions = spec.get("completions")
    wanted = parallel if completions is None else min(parallel, int(completions) - succeeded)
    if completions is None and succeeded:
        wanted = 0  # a queue of work is done when one of its Pods says so
    used = {_index(one) for one in controlled(parts.store, job, "v1", "Pod")}
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


def _status(parts: Parts, job: Json) -> Json:
    active, succeeded, failed = _pods(parts, job)
    spec, old, now = job["spec"], job.get("status") or {}, parts.clock.stamp()
    suspended = spec.get("suspend") is True
    wanted = spec.get("completions")
    done = succeeded >= (1 if wanted is None else int(wanted)) and not active
    held = []
    if suspended:
        held.append(Condition("Suspended", True, "JobSuspended", "Job suspended"))
    if done:
        why = ("CompletionsReached", "Reached expected number of succeeded pods")
        held += [Condition("SuccessCriteriaMet", True, *why), Condition("Complete", True, *why)]
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
