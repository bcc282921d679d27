"""What Kyverno's scans tell of ValidatingAdmissionPolicies."""

import pytest

from kyvsim.kube.objects import ObjectKey
from kyvsim.model.installation import Installation
from kyvsim.sim.server.client import ADMIN

NATIVE = "admissionregistration.k8s.io/v1"
LABEL = "reports.kyverno.io/enabled"
FEW = {"expression": "object.spec.replicas <= 3", "message": "too many"}


def rules(resource="deployments", group="apps"):
    named = {"apiGroups": [group], "apiVersions": ["v1"], "resources": [resource]}
    return {"resourceRules": [{**named, "operations": ["CREATE", "UPDATE"]}]}


@pytest.fixture
def native(obj):
    def make(*validations, label="true", **spec):
        spec = {"matchConstraints": rules(), "validations": list(validations) or [FEW], **spec}
        meta = {"labels": {LABEL: label}} if label else {}
        kind = "ValidatingAdmissionPolicy"
        return obj(kind, "few", api_version=NATIVE, metadata=meta, spec=spec)

    return make


@pytest.fixture
def binding(obj):
    def make(name="b", labels=None, **spec):
        spec = {"policyName": "few", "validationActions": ["Audit"], **spec}
        kind = "ValidatingAdmissionPolicyBinding"
        return obj(kind, name, api_version=NATIVE, metadata={"labels": labels or {}}, spec=spec)

    return make


@pytest.fixture
def results(cluster):
    def read(namespace="default"):
        cluster.parts.scheduler.advance(120)
        reports = cluster.parts.store.list("wgpolicyk8s.io/v1alpha2", "PolicyReport", namespace)
        return [one for report in reports for one in report["results"]]

    return read


def told(results):
    return [(one["result"], one.get("message", "")) for one in results]


def test_an_entry_says_which_policy_and_binding_it_is_of(put, native, binding, deployment, results):
    put(deployment(replicas=5), native(), binding())
    (entry,) = results()
    del entry["timestamp"]
    assert entry == {
        "source": "ValidatingAdmissionPolicy",
        "policy": "few",
        "rule": "few",
        "message": "too many",
        "result": "fail",
        "scored": True,
        "properties": {"binding": "b", "process": "background scan"},
    }


@pytest.mark.parametrize(
    ("validation", "expected"),
    [
        ({"expression": "true"}, ("pass", "")),
        ({"expression": "false"}, ("fail", "failed expression: false")),
        (
            {"expression": "object.x == 1"},
            ("error", "expression 'object.x == 1' resulted in error: no such key: x"),
        ),
        ({"expression": "has(request.userInfo.username)"}, ("pass", "")),
    ],
)
def test_results_are_those_of_a_creation(put, native, deployment, results, validation, expected):
    put(deployment(), native(validation))
    assert told(results()) == [expected]


def test_conditions_that_do_not_hold_skip(put, native, deployment, results):
    put(deployment(), native(matchConditions=[{"name": "c", "expression": "false"}]))
    assert told(results()) == [("skip", "match conditions aren't met")]


@pytest.mark.parametrize("label", [None, "false"])
def test_policies_without_the_label_are_not_reported(put, native, deployment, results, label):
    put(deployment(replicas=5), native(label=label))
    assert results() == []


def test_nothing_is_reported_where_the_installation_says_so(make_cluster, native, deployment):
    values = {"features": {"validatingAdmissionPolicyReports": {"enabled": False}}}
    parts = make_cluster(installation=Installation("own", values)).parts
    for one in (deployment(replicas=5), native()):
        assert parts.client(ADMIN).create(one).ok
    parts.scheduler.advance(120)
    assert not parts.store.list("wgpolicyk8s.io/v1alpha2", "PolicyReport", "")


def test_the_constraints_of_the_policy_and_of_a_binding_count(
    put, obj, native, binding, deployment, results
):
    selector = {"namespaceSelector": {"matchLabels": {"stage": "test"}}}
    put(obj("Namespace", "test", metadata={"labels": {"stage": "test"}}))
    put(native(), binding(matchResources=selector))
    put(deployment("a", "default", replicas=5), deployment("a", "test", replicas=5))
    put(obj("ConfigMap", "c", "test"))
    assert results() == []
    assert told(results("test")) == [("fail", "too many")]


def test_the_last_binding_that_matches_counts(put, native, binding, deployment, results):
    other = {"resourceRules": rules("statefulsets")["resourceRules"]}
    put(deployment(replicas=5), native(), binding("a"), binding("b"))
    put(binding("c", matchResources=other))
    assert [one["properties"]["binding"] for one in results()] == ["b"]


def test_a_binding_can_be_left_out_by_a_label(put, native, binding, deployment, results):
    put(deployment(replicas=5), native(), binding("a"))
    put(binding("b", labels={"reports.kyverno.io/disabled": ""}))
    assert [one["properties"]["binding"] for one in results()] == ["a"]


CONFIG = {"apiVersion": "v1", "kind": "ConfigMap"}
BY_LABEL = {"selector": {"matchLabels": {"limit": "yes"}}, "parameterNotFoundAction": "Allow"}
ONE = {"expression": "object.spec.replicas <= int(params.data.most)"}
SEVERAL = {"expression": "params.items.all(one, object.spec.replicas <= int(one.data.most))"}


@pytest.mark.parametrize(
    ("reference", "names", "validation", "replicas", "result"),
    [
        ({"name": "a"}, "a", ONE, 4, "fail"),
        ({"name": "a"}, "a", ONE, 3, "pass"),
        (BY_LABEL, "a", ONE, 4, "fail"),
        (BY_LABEL, "ab", SEVERAL, 4, "fail"),
        (BY_LABEL, "ab", SEVERAL, 3, "pass"),
    ],
)
def test_parameters_are_those_of_the_cluster(
    put, obj, native, binding, deployment, results, reference, names, validation, replicas, result
):
    for name in names:
        meta = {"labels": {"limit": "yes"}}
        put(obj("ConfigMap", name, "default", metadata=meta, data={"most": "3"}))
    reference = {"parameterNotFoundAction": "Allow", **reference}
    put(native(validation, paramKind=CONFIG), binding(paramRef=reference))
    put(deployment(replicas=replicas))
    assert [one["result"] for one in results()] == [result]


@pytest.mark.parametrize("reference", [{"name": "a"}, BY_LABEL])
def test_nothing_is_reported_on_an_object_where_parameters_are_missing(
    put, native, binding, deployment, cluster_policy, results, cluster, reference
):
    put(deployment(), native(ONE, paramKind=CONFIG))
    put(binding(paramRef={"parameterNotFoundAction": "Allow", **reference}))
    match = {"any": [{"resources": {"kinds": ["Deployment"]}}]}
    put(cluster_policy("p", {"match": match, "validate": {"deny": {}}}, background=True))
    assert results() == []
    events = cluster.parts.timeline.events
    told = [(event.action, one) for event in events for one in event.unevaluated]
    assert ("give up scan", ("few", "no params found")) in told


def test_entries_go_with_the_policy(put, admin, native, deployment, results):
    put(deployment(replicas=5), native())
    assert results()
    admin.delete(ObjectKey(NATIVE, "ValidatingAdmissionPolicy", "", "few"))
    assert results() == []


def test_a_changed_policy_is_asked_again(put, admin, native, deployment, results):
    put(deployment(replicas=5), native())
    assert told(results()) == [("fail", "too many")]
    admin.update(native({"expression": "true"}))
    assert told(results()) == [("pass", "")]


def test_failures_are_told_by_events(put, native, deployment, cluster):
    put(deployment(replicas=5), native())
    cluster.parts.scheduler.advance(120)
    found = [
        (one["involvedObject"]["kind"], one["reason"], one["message"])
        for one in cluster.parts.store.list("v1", "Event", "")
        if one["reportingComponent"] == "kyverno-scan"
    ]
    note = "Deployment default/web: [few] fail; too many"
    assert ("ValidatingAdmissionPolicy", "PolicyViolation", note) in found
    assert ("Deployment", "PolicyViolation", "policy few/few fail: too many") in found
