import pytest

from kyvsim.kubernetes.objects import ObjectKey

KEY = ObjectKey("batch/v1", "CronJob", "default", "c")


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
    assert admin.get(*KEY)["status"]["lastScheduleTime"] == "2026-01-01T00:02:00Z"


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
