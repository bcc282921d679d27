"""Reports: what is scanned, and what is gathered into them."""

import pytest

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.model.simulation import Installation
from kyvsim.simulator.api_server.server import ADMIN

AUDIT = {"validate": {"failureAction": "Audit", "message": "no", "deny": {}}}
LABELS = {"mutate": {"patchStrategicMerge": {"metadata": {"labels": {"a": "b"}}}}}


@pytest.fixture
def reports(cluster):
    """Return what lists the reports there are after some virtual seconds."""

    def list_reports(after=60, kind="PolicyReport"):
        cluster.sim.scheduler.advance(after)
        return cluster.sim.store.list("wgpolicyk8s.io/v1alpha2", kind, "")

    return list_reports


def test_object_from_before_the_policy_is_reported(put, cluster_policy, pod, reports):
    put(pod(), cluster_policy("p", AUDIT, background=True))
    [report] = reports()
    uid = report["scope"]["uid"]
    assert report["metadata"]["name"] == uid
    assert report["metadata"]["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid}
    ]
    [entry] = report["results"]
    assert (entry["policy"], entry["rule"], entry["result"]) == ("p", "rule-0", "fail")
    assert entry["properties"] == {"process": "background scan"}
    assert report["summary"] == {"error": 0, "fail": 1, "pass": 0, "skip": 0, "warn": 0}


def test_policy_without_background_does_not_scan(put, cluster_policy, pod, reports):
    put(pod(), cluster_policy("p", AUDIT, background=False))
    assert reports(4000) == []


def test_admission_is_reported_without_a_scan(put, cluster_policy, pod, reports):
    put(cluster_policy("p", AUDIT, background=False), pod())
    [report] = reports(25)
    assert report["results"][0]["properties"] == {"process": "admission review"}


def test_mutation_is_reported(put, cluster_policy, pod, reports):
    put(cluster_policy("p", LABELS), pod())
    [report] = reports(25)
    assert report["results"][0]["message"] == "mutated Pod/p in namespace default"


def test_blocked_request_leaves_no_report(admin, put, cluster_policy, pod, reports):
    enforced = {"validate": {**AUDIT["validate"], "failureAction": "Enforce"}}
    put(cluster_policy("p", enforced))
    assert not admin.create(pod()).ok
    assert reports() == []


def test_report_goes_with_its_policy(admin, put, cluster_policy, pod, reports):
    put(pod(), cluster_policy("p", AUDIT, background=True))
    assert len(reports()) == 1
    admin.delete(ObjectKey("kyverno.io/v1", "ClusterPolicy", "", "p"))
    assert reports(15) == []


def test_label_keeps_a_policy_out_of_reports(put, cluster_policy, pod, reports):
    policy = cluster_policy("p", AUDIT, background=True)
    policy["metadata"]["labels"] = {"reports.kyverno.io/disabled": "true"}
    put(pod(), policy)
    assert reports() == []


def test_cluster_scoped_object_has_a_cluster_report(obj, put, cluster_policy, reports):
    namespaces = {"match": {"any": [{"resources": {"kinds": ["Namespace"], "names": ["shop"]}}]}}
    put(cluster_policy("p", {**AUDIT, **namespaces}, background=True), obj("Namespace", "shop"))
    [report] = reports(kind="ClusterPolicyReport")
    assert report["scope"]["name"] == "shop"


def test_exception_turns_a_failure_into_a_skip(obj, put, cluster_policy, pod, reports):
    put(pod(), cluster_policy("p", AUDIT, background=True))
    assert reports()[0]["summary"]["fail"] == 1
    spec = {
        "exceptions": [{"policyName": "p", "ruleNames": ["rule-0"]}],
        "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
    }
    put(obj("PolicyException", "e", "default", api_version="kyverno.io/v2", spec=spec))
    [report] = reports(25)
    assert report["results"][0]["result"] == "skip"
    assert report["results"][0]["properties"]["exceptions"] == "e"


def test_ephemeral_reports_do_not_stay(cluster, put, cluster_policy, pod, reports):
    put(cluster_policy("p", AUDIT, background=True), pod())
    reports(200)
    assert cluster.sim.store.list("reports.kyverno.io/v1", "EphemeralReport", "") == []


def test_unscored_failure_is_a_warning(put, cluster_policy, pod, reports):
    policy = cluster_policy("p", AUDIT, background=True)
    policy["metadata"]["annotations"] = {
        "policies.kyverno.io/scored": "false",
        "policies.kyverno.io/severity": "high",
    }
    put(pod(), policy)
    [entry] = reports()[0]["results"]
    assert (entry["result"], entry["severity"]) == ("warn", "high")
    assert "scored" not in entry  # a server writes no false out


def test_properties_of_a_rule_are_reported(put, cluster_policy, pod, reports):
    properties = {"who": "{{ request.object.metadata.name }}"}
    put(cluster_policy("p", {**AUDIT, "reportProperties": properties}), pod())
    [entry] = reports(25)[0]["results"]
    assert entry["properties"]["who"] == "p"


def test_message_of_a_status_replaces_the_rule_s(put, cluster_policy, pod, reports):
    put(cluster_policy("p", {**AUDIT, "reportProperties": {"failMessage": "oh no"}}), pod())
    assert reports(25)[0]["results"][0]["message"] == "oh no"


def test_properties_that_cannot_be_filled_in_stay_as_written(put, cluster_policy, pod, reports):
    put(
        cluster_policy("p", {**AUDIT, "reportProperties": {"who": "{{ request.object.nothing }}"}}),
        pod(),
    )
    assert reports(25)[0]["results"][0]["properties"]["who"] == "{{ request.object.nothing }}"


def test_controls_of_pod_security_are_reported(put, cluster_policy, obj, reports):
    rule = {"validate": {"podSecurity": {"level": "baseline", "version": "latest"}}}
    container = {"name": "c", "image": "nginx:1.27", "securityContext": {"privileged": True}}
    put(cluster_policy("p", rule), obj("Pod", "p", "default", spec={"containers": [container]}))
    properties = reports(25)[0]["results"][0]["properties"]
    assert (properties["standard"], properties["version"]) == ("baseline", "latest")
    assert properties["controls"] == "privileged"
    assert properties["controlsJSON"] == (
        '[{"ID":"privileged","Name":"Privileged Containers","Images":["docker.io/nginx:1.27"]}]'
    )


def test_generation_is_reported_on_the_trigger(put, cluster_policy, obj, reports):
    namespaces = {"match": {"any": [{"resources": {"kinds": ["Namespace"], "names": ["shop"]}}]}}
    made = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "namespace": "shop"}
    rule = {**namespaces, "generate": {**made, "data": {"data": {"a": "b"}}}}
    put(cluster_policy("p", rule), obj("Namespace", "shop"))
    [report] = reports(25, "ClusterPolicyReport")
    [entry] = report["results"]
    assert entry["properties"]["generated-resources"] == "/v1, Kind=ConfigMap Name=c Namespace=shop"
    assert "message" not in entry


def test_object_that_is_gone_is_not_reported(admin, put, cluster_policy, pod, reports):
    put(pod(), cluster_policy("p", AUDIT, background=True))
    assert reports(35) == []
    admin.delete(ObjectKey("v1", "Pod", "default", "p"))
    assert reports(60) == []


def test_reports_tell_of_the_results_that_the_installation_lets_them(
    make_cluster, cluster_policy, pod
):
    named = {"metadata": {"name": "?*"}}
    passing = {"validate": {"failureAction": "Audit", "message": "no", "pattern": named}}
    told = {}
    for wanted in (None, {"fail": True}, {"pass": True, "fail": False}, {"error": True}):
        values = {"features": {"reporting": {"allowedResults": wanted}}}
        cluster = make_cluster(installation=Installation("values", values))
        client = cluster.sim.client(ADMIN)
        for one in (cluster_policy("p", AUDIT, passing, background=True), pod()):
            assert client.create(one).ok
            cluster.sim.scheduler.advance(30)
        cluster.sim.scheduler.advance(60)
        reports = cluster.sim.store.list("wgpolicyk8s.io/v1alpha2", "PolicyReport", "")
        told[str(wanted)] = [entry["result"] for one in reports for entry in one["results"]]
    assert list(told.values()) == [["fail", "pass"], ["fail"], ["pass"], []]


@pytest.mark.parametrize(
    ("kind", "label"),
    [
        ("ClusterPolicy", "cpol.kyverno.io/p"),
        ("ValidatingPolicy", "vpol.kyverno.io/p"),
        ("NamespacedValidatingPolicy", "validatingadmissionpolicy.apiserver.io/p"),
    ],
)
def test_ephemeral_reports_name_policies_and_their_versions(
    put, obj, cluster, cluster_policy, pod, kind, label
):
    group = "policies.kyverno.io/v1"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    spec = {
        "matchConstraints": {"resourceRules": [{**rule, "operations": ["CREATE"]}]},
        "validationActions": ["Audit"],
        "validations": [{"expression": "false"}],
    }
    place = "default" if kind.startswith("Namespaced") else ""
    written = cluster_policy("p", AUDIT) if kind == "ClusterPolicy" else None
    policy = put(written or obj(kind, "p", place, api_version=group, spec=spec))
    put(pod())
    made = [one.new for one in cluster.sim.store.changes if one.new and one.old is None]
    (report,) = [one for one in made if one["kind"] == "EphemeralReport"]
    stored = cluster.sim.store.get(policy["apiVersion"], kind, place, "p")
    assert report["metadata"]["labels"][label] == stored["metadata"]["resourceVersion"]


def test_what_is_said_of_objects_in_one_second_is_one_entry(
    put, admin, cluster_policy, pod, reports
):
    put(cluster_policy("p", AUDIT, background=False))
    for name in ("a", "b"):
        assert admin.create(pod(name)).ok
    first, second = (report["results"][0] for report in reports(60))
    assert first is second
