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
