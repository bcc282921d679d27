"""Policies in CEL in a cluster: refused, ready, asked, excepted, scanned."""

import pytest

from kyvsim.kube.objects import ObjectKey

GROUP = "policies.kyverno.io"
PODS = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
TEAM = {"expression": "has(object.metadata.labels) && 'team' in object.metadata.labels"}
VALIDATION = {**TEAM, "message": "team is missing"}


@pytest.fixture
def validating(obj):
    """Return what makes a ValidatingPolicy on Pods, or a namespaced one."""

    def make(name, *validations, namespace="", version="v1beta1", rule=PODS, **spec):
        kind = "NamespacedValidatingPolicy" if namespace else "ValidatingPolicy"
        constraints = {"resourceRules": [rule]}
        spec = {"matchConstraints": constraints, "validations": list(validations), **spec}
        return obj(kind, name, namespace, api_version=f"{GROUP}/{version}", spec=spec)

    return make


@pytest.fixture
def exception(obj):
    def make(name, policy, **spec):
        references = [{"name": policy, "kind": "ValidatingPolicy"}]
        spec = {"policyRefs": references, **spec}
        return obj("PolicyException", name, "kyverno", api_version=f"{GROUP}/v1", spec=spec)

    return make


def status_of(admin, name, kind="ValidatingPolicy", namespace=""):
    return admin.get(*ObjectKey(f"{GROUP}/v1", kind, namespace, name))["status"]


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1", "v1"])
def test_every_served_version_denies_as_its_webhook_does(put, admin, validating, pod, version):
    put(validating("team", VALIDATION, version=version))
    assert admin.create(pod(labels={"team": "a"})).ok
    assert admin.create(pod("q")).error.message == (
        'admission webhook "vpol.validate.kyverno.svc-fail" denied the request: '
        "Policy team failed: team is missing"
    )


def test_a_denial_has_what_all_policies_of_a_webhook_say(put, admin, validating, pod):
    put(
        validating("a", VALIDATION),
        validating("b", {"expression": "object.metadata.nothing == 'x'"}),
    )
    assert admin.create(pod()).error.message == (
        'admission webhook "vpol.validate.kyverno.svc-fail" denied the request: '
        "Policy a failed: team is missing; Policy b error: error: no such key: nothing"
    )


def test_actions_decide_between_denial_warning_and_silence(put, admin, validating, pod):
    put(
        validating("warns", VALIDATION, validationActions=["Warn"]),
        validating("audits", VALIDATION, validationActions=["Audit"]),
    )
    response = admin.create(pod())
    assert response.ok
    assert response.warnings == ("Policy warns failed: team is missing",)


def test_a_namespaced_policy_looks_at_its_namespace_only(put, admin, validating, obj, pod):
    put(obj("Namespace", "shop"), validating("team", VALIDATION, namespace="shop"))
    assert admin.create(pod("p", "default")).ok
    assert admin.create(pod("p", "shop")).error.message.startswith(
        'admission webhook "nvpol.validate.kyverno.svc-fail"'
    )


def test_the_status_says_what_a_policy_is_ready_for(put, admin, validating):
    put(validating("team", VALIDATION))
    status = status_of(admin, "team")
    conditions = status["conditionStatus"]["conditions"]
    assert [(one["type"], one["status"], one["message"]) for one in conditions] == [
        ("WebhookConfigured", "True", "Webhook configured."),
        ("RBACPermissionsGranted", "True", "Policy is ready for reporting."),
    ]
    assert status["conditionStatus"]["ready"] is True
    assert {name: len(one["targets"]) for name, one in status["autogen"]["configs"].items()} == {
        "cronjobs": 1,
        "defaults": 5,
    }


def test_reports_need_rights_unless_nothing_is_scanned(put, admin, validating):
    widgets = {**PODS, "apiGroups": ["example.com"], "resources": ["widgets"]}
    scans = {"background": {"enabled": False}}
    put(
        validating("scanned", VALIDATION, rule=widgets),
        validating("asked", VALIDATION, rule=widgets, evaluation=scans),
    )
    scanned, asked = (status_of(admin, name)["conditionStatus"] for name in ("scanned", "asked"))
    assert (scanned["ready"], asked["ready"]) == (False, True)
    assert (
        "missing permissions: get example.com/v1, Resource=widgets"
        in (scanned["conditions"][1]["message"])
    )


def test_controllers_are_asked_as_well(put, admin, validating, obj):
    put(validating("team", VALIDATION))
    labels = {"app": "web"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": pod}
    web = obj("Deployment", "web", "default", api_version="apps/v1", spec=spec)
    assert "Policy team failed: team is missing" in admin.create(web).error.message


def test_without_admission_nobody_asks(put, admin, validating, pod):
    put(validating("team", VALIDATION, evaluation={"admission": {"enabled": False}}))
    assert admin.create(pod()).ok


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (
            {"validations": [{"expression": "object.a =="}]},
            'spec.validations[0].expression: Invalid value: "object.a =="',
        ),
        (
            {"matchConstraints": {}},
            "spec.matchConstraints: Required value: a matchConstraints with at least one",
        ),
    ],
)
def test_what_cannot_work_is_refused(admin, validating, spec, said):
    response = admin.create(validating("p", VALIDATION, **spec))
    assert 'webhook "validate-policy.kyverno.svc" denied' in response.error.message
    assert said in response.error.message


def test_exceptions_count_while_they_are_there(put, admin, validating, exception, cluster, pod):
    put(validating("team", VALIDATION))
    condition = {"name": "c", "expression": "object.metadata.name.startsWith('free')"}
    put(exception("free", "team", matchConditions=[condition]))
    assert not admin.create(pod("bound")).ok
    assert admin.create(pod("free")).ok
    admin.delete(ObjectKey(f"{GROUP}/v1", "PolicyException", "kyverno", "free"))
    cluster.parts.scheduler.settle(30)
    assert not admin.create(pod("free-too")).ok


def test_an_exception_without_a_policy_is_refused(admin, exception):
    response = admin.create(exception("e", "team", policyRefs=[]))
    assert "spec.policyRefs" in response.error.message


def test_objects_are_scanned_and_reported_under_their_own_source(put, cluster, validating, pod):
    put(pod(), validating("team", VALIDATION))
    cluster.parts.scheduler.advance(120)
    (report,) = cluster.parts.store.list("wgpolicyk8s.io/v1alpha2", "PolicyReport", "default")
    (result,) = report["results"]
    assert (result["policy"], result["result"], result["source"]) == (
        "team",
        "fail",
        "KyvernoValidatingPolicy",
    )


def test_policies_of_both_groups_may_share_a_name(put, admin, validating, cluster_policy, pod):
    deny = {"validate": {"deny": {}, "message": "never", "failureAction": "Audit"}}
    put(validating("team", VALIDATION), cluster_policy("team", deny))
    assert not admin.create(pod()).ok
    admin.delete(ObjectKey("kyverno.io/v1", "ClusterPolicy", "", "team"))
    assert not admin.create(pod()).ok
