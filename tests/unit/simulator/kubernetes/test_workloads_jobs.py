"""The controllers of Jobs and CronJobs."""

import pytest

from kyvsim.kubernetes.objects import ObjectKey

KEY = ObjectKey("batch/v1", "Job", "default", "j")


def conditions(admin):
    status = admin.get(*KEY)["status"]
    return [one["type"] for one in status.get("conditions", ())]


def test_a_job_is_complete_when_its_pod_has_succeeded(admin, job, put, run):
    made = put(job())
    (pod,) = admin.list("v1", "Pod", "default")
    uid = made["metadata"]["uid"]
    assert pod["metadata"]["generateName"] == "j-"
    assert pod["metadata"]["labels"] == {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": "j",
        "controller-uid": uid,
        "job-name": "j",
    }
    assert (pod["status"]["phase"], conditions(admin)) == ("Running", [])
    run(10)
    (pod,) = admin.list("v1", "Pod", "default")
    assert pod["status"]["phase"] == "Succeeded"
    assert conditions(admin) == ["SuccessCriteriaMet", "Complete"]
    assert admin.get(*KEY)["status"]["succeeded"] == 1


def test_a_command_that_sleeps_takes_that_long(admin, job, put, run):
    put(job(command=["sh", "-c", "sleep 2m"]))
    run(110)
    assert conditions(admin) == []
    run(20)
    assert "Complete" in conditions(admin)


def test_pods_run_beside_and_after_each_other(admin, job, put, run, names):
    put(job(parallelism=2, completions=3))
    assert len(names("v1", "Pod")) == 2
    run(30)
    assert len(names("v1", "Pod")) == 3
    assert admin.get(*KEY)["status"]["succeeded"] == 3


def test_an_indexed_job_numbers_its_pods(admin, job, put):
    put(job(parallelism=2, completions=2, completionMode="Indexed"))
    pods = admin.list("v1", "Pod", "default")
    assert sorted(one["metadata"]["generateName"] for one in pods) == ["j-0-", "j-1-"]


def test_a_suspended_job_has_no_pods(admin, job, put, run, names):
    put(job(suspend=True))
    assert (names("v1", "Pod"), conditions(admin)) == ([], ["Suspended"])
    admin.merge(KEY, {"spec": {"suspend": False}})
    run(2)
    assert len(names("v1", "Pod")) == 1


def test_a_finished_job_goes_when_its_time_is_over(admin, job, put, run, names):
    put(job(ttlSecondsAfterFinished=30))
    run(20)
    assert admin.get(*KEY)
    run(30)
    assert admin.get(*KEY) is None
    assert names("v1", "Pod") == []


CRON_JOB = ObjectKey("batch/v1", "CronJob", "default", "c")


@pytest.fixture
def cron_job(obj, job):
    """Return what makes a CronJob that is due every minute."""

    def make(command=(), **fields):
        template = {"spec": job(command=command)["spec"]}
        spec = {"schedule": "* * * * *", "jobTemplate": template, **fields}
        return obj("CronJob", "c", "default", "batch/v1", spec=spec)

    return make


def test_a_job_is_made_whenever_one_is_due(admin, cron_job, put, run):
    put(cron_job())
    assert not admin.list("batch/v1", "Job")
    run(130)
    jobs = admin.list("batch/v1", "Job")
    minute = 1767225600 // 60
    assert [one["metadata"]["name"] for one in jobs] == [f"c-{minute + 1}", f"c-{minute + 2}"]
    assert {one["metadata"]["ownerReferences"][0]["name"] for one in jobs} == {"c"}
    assert admin.get(*CRON_JOB)["status"]["lastScheduleTime"] == "2026-01-01T00:02:00Z"


def test_old_jobs_are_forgotten(admin, cron_job, put, run):
    put(cron_job(successfulJobsHistoryLimit=1))
    run(190)
    assert len(admin.list("batch/v1", "Job")) == 1


@pytest.mark.parametrize(("policy", "count"), [("Allow", 2), ("Forbid", 1), ("Replace", 1)])
def test_jobs_may_overlap_or_not(admin, cron_job, put, run, policy, count):
    put(cron_job(command=["sleep", "600"], concurrencyPolicy=policy))
    run(150)
    assert len(admin.list("batch/v1", "Job")) == count


def test_a_suspended_one_makes_nothing(admin, cron_job, put, run):
    put(cron_job(suspend=True))
    run(130)
    assert not admin.list("batch/v1", "Job")
