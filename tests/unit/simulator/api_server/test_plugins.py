from kyvsim.simulator.api_server.plugins import TOKEN_PATH


def test_a_pod_gets_the_token_of_its_account(admin, pod):
    spec = admin.create(pod()).object["spec"]
    (volume,) = spec["volumes"]
    assert spec["serviceAccountName"] == spec["serviceAccount"] == "default"
    assert volume["name"].startswith("kube-api-access-")
    assert spec["containers"][0]["volumeMounts"] == [
        {"name": volume["name"], "mountPath": TOKEN_PATH, "readOnly": True}
    ]


def test_a_pod_or_its_account_may_decline_the_token(admin, obj, pod):
    spec = {**pod()["spec"], "automountServiceAccountToken": False}
    assert "volumes" not in admin.create(pod(spec=spec)).object["spec"]
    admin.create(obj("ServiceAccount", "quiet", "default", automountServiceAccountToken=False))
    spec = {**pod()["spec"], "serviceAccountName": "quiet"}
    assert "volumes" not in admin.create(pod("q", spec=spec)).object["spec"]


def test_a_pod_without_its_account_is_refused(admin, pod):
    spec = {**pod()["spec"], "serviceAccountName": "missing"}
    error = admin.create(pod(spec=spec)).error
    assert error.reason == "Forbidden"
    assert error.message == (
        'pods "p" is forbidden: error looking up service account default/missing: '
        'serviceaccount "missing" not found'
    )


def test_a_pod_pulls_images_as_its_account_does(admin, obj, pod):
    admin.create(obj("ServiceAccount", "a", "default", imagePullSecrets=[{"name": "s"}]))
    spec = {**pod()["spec"], "serviceAccountName": "a"}
    assert admin.create(pod(spec=spec)).object["spec"]["imagePullSecrets"] == [{"name": "s"}]


def test_a_pod_stands_a_failing_node_for_a_while(admin, pod):
    own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
    spec = {**pod()["spec"], "tolerations": [own]}
    found = admin.create(pod(spec=spec)).object["spec"]["tolerations"]
    assert [one["key"] for one in found] == [own["key"], "node.kubernetes.io/unreachable"]


def test_a_pod_has_the_priority_of_its_class(admin, obj, pod):
    high = obj("PriorityClass", "high", api_version="scheduling.k8s.io/v1", value=9)
    admin.create(high)
    spec = {**pod()["spec"], "priorityClassName": "high"}
    assert admin.create(pod(spec=spec)).object["spec"]["priority"] == 9
    assert admin.create(pod("q")).object["spec"]["priority"] == 0
