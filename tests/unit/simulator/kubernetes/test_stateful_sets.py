from kyvsim.kubernetes.objects import ObjectKey

CLAIM = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
KEY = ObjectKey("apps/v1", "StatefulSet", "default", "w")


def test_pods_have_numbers_and_claims(admin, workload, put, names):
    put(workload("StatefulSet", replicas=2, serviceName="web", volumeClaimTemplates=[CLAIM]))
    assert names("v1", "Pod") == ["w-0", "w-1"]
    assert names("v1", "PersistentVolumeClaim") == ["data-w-0", "data-w-1"]
    spec = admin.get("v1", "Pod", "default", "w-1")["spec"]
    assert (spec["hostname"], spec["subdomain"]) == ("w-1", "web")
    assert {"name": "data", "persistentVolumeClaim": {"claimName": "data-w-1"}} in spec["volumes"]


def test_the_second_waits_for_the_first(workload, pod, put, names, obj):
    container = {**pod()["spec"]["containers"][0], "envFrom": [{"configMapRef": {"name": "late"}}]}
    template = {"metadata": {"labels": {"app": "w"}}, "spec": {"containers": [container]}}
    put(workload("StatefulSet", replicas=2, template=template))
    assert names("v1", "Pod") == ["w-0"]
    put(obj("ConfigMap", "late", "default"))
    assert names("v1", "Pod") == ["w-0", "w-1"]


def test_the_last_goes_first(admin, workload, put, run, names):
    put(workload("StatefulSet", replicas=3))
    admin.merge(KEY, {"spec": {"replicas": 1}})
    run(5)
    assert names("v1", "Pod") == ["w-0"]


def test_another_template_replaces_the_pods(admin, workload, put, run):
    put(workload("StatefulSet", replicas=2))
    labels = {"app": "w", "version": "2"}
    admin.merge(KEY, {"spec": {"template": {"metadata": {"labels": labels}}}})
    run(20)
    pods = admin.list("v1", "Pod", "default")
    assert [one["metadata"]["labels"]["version"] for one in pods] == ["2", "2"]
