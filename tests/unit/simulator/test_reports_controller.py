"""Reports on admission and of background scans."""

import pytest

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.model.release import V_1_19_0, V_1_19_1
from kyvsim.model.simulation import Installation, Unevaluated
from kyvsim.simulator.api_server.server import ADMIN

# Reports: what is scanned, and what is gathered into them.

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
    ("release", "kind", "label"),
    [
        (V_1_19_1, "ClusterPolicy", "cpol.kyverno.io/p"),
        (V_1_19_1, "ValidatingPolicy", "vpol.kyverno.io/p"),
        (V_1_19_1, "NamespacedValidatingPolicy", "vpol.kyverno.io/p"),
        (V_1_19_0, "NamespacedValidatingPolicy", "validatingadmissionpolicy.apiserver.io/p"),
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


LONG = f"a{'b' * 50}.example.com"
DEFINITION = {
    "group": LONG,
    "names": {"kind": "Gadget", "plural": "gadgets"},
    "scope": "Namespaced",
    "versions": [
        {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": {"type": "object"}},
        }
    ],
}


def test_ephemeral_reports_of_kinds_with_long_names_split_them(put, obj, cluster, cluster_policy):
    crd = "apiextensions.k8s.io/v1"
    name = f"gadgets.{LONG}"
    put(obj("CustomResourceDefinition", name, "", api_version=crd, spec=DEFINITION))
    reading = {"apiGroups": [LONG], "resources": ["gadgets"], "verbs": ["get", "list", "watch"]}
    rbac = "rbac.authorization.k8s.io/v1"
    to_view = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    role = obj("ClusterRole", "more", api_version=rbac, metadata={"labels": to_view})
    put({**role, "rules": [reading]})
    rule = {
        "name": "r",
        "match": {"any": [{"resources": {"kinds": ["Gadget"]}}]},
        "validate": {"message": "m", "pattern": {"metadata": {"labels": {"a": "?*"}}}},
    }
    put(cluster_policy("p", rule))
    put(obj("Gadget", "g", "default", api_version=f"{LONG}/v1"))
    made = [one.new for one in cluster.sim.store.changes if one.new and one.old is None]
    (report,) = [one for one in made if one["kind"] == "EphemeralReport"]
    labels = report["metadata"]["labels"]
    assert labels["audit.kyverno.io/resource.name"] == "gadgets"
    assert "audit.kyverno.io/resource.gvr" not in labels
    assert set(report["spec"]["owner"].values()) == {""}
    cluster.sim.scheduler.advance(60)
    (merged,) = cluster.sim.store.list("wgpolicyk8s.io/v1alpha2", "PolicyReport", "")
    assert merged["scope"]["name"] == "g"


@pytest.mark.parametrize(
    ("release", "beside", "kinds"),
    [
        (V_1_19_0, False, ["Pod"]),
        (V_1_19_1, False, ["Deployment", "Pod"]),
        # Another policy makes Deployments scanned.
        (V_1_19_0, True, ["Deployment", "Pod"]),
    ],
)
def test_variants_of_image_policies_decide_what_is_scanned(
    put, obj, cluster_policy, pod, deployment, reports, beside, kinds
):
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    spec = {
        "matchConstraints": {"resourceRules": [{**rule, "operations": ["CREATE"]}]},
        "validationActions": ["Audit"],
        "matchImageReferences": [{"glob": "*"}],
        "attestors": [],
        "validations": [{"expression": "false", "message": "no"}],
    }
    put(pod(), deployment(replicas=0))
    if beside:
        named = {"match": {"any": [{"resources": {"kinds": ["Deployment"]}}]}}
        put(cluster_policy("other", {**AUDIT, **named}, background=True))
    group = "policies.kyverno.io/v1"
    put(obj("ImageValidatingPolicy", "p", api_version=group, spec=spec))
    found = reports(300)
    about = [one["scope"]["kind"] for one in found if "p" in {r["policy"] for r in one["results"]}]
    assert sorted(about) == kinds


def test_what_is_said_of_objects_in_one_second_is_one_entry(
    put, admin, cluster_policy, pod, reports
):
    put(cluster_policy("p", AUDIT, background=False))
    for name in ("a", "b"):
        assert admin.create(pod(name)).ok
    first, second = (report["results"][0] for report in reports(60))
    assert first is second


# What Kyverno's scans tell of Kubernetes' own admission policies.

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
        cluster.sim.scheduler.advance(120)
        reports = cluster.sim.store.list("wgpolicyk8s.io/v1alpha2", "PolicyReport", namespace)
        return [one for report in reports for one in report["results"]]

    return read


def told(results):
    return [(one["result"], one.get("message", "")) for one in results]


def test_an_entry_says_which_policy_and_binding_it_is_of(put, native, binding, deployment, results):
    put(deployment(replicas=5), native(), binding())
    (entry,) = results()
    assert {name: value for name, value in entry.items() if name != "timestamp"} == {
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
    sim = make_cluster(installation=Installation("own", values)).sim
    for one in (deployment(replicas=5), native()):
        assert sim.client(ADMIN).create(one).ok
    sim.scheduler.advance(120)
    assert not sim.store.list("wgpolicyk8s.io/v1alpha2", "PolicyReport", "")


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
    put(deployment(), binding(paramRef={"parameterNotFoundAction": "Allow", **reference}))
    put(native(ONE, paramKind=CONFIG))
    match = {"any": [{"resources": {"kinds": ["Deployment"]}}]}
    put(cluster_policy("p", {"match": match, "validate": {"deny": {}}}, background=True))
    assert results() == []
    events = cluster.sim.timeline.events
    told = [(event.action, one) for event in events for one in event.unevaluated]
    assert ("give up scan", Unevaluated("few", "no params found")) in told


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
    cluster.sim.scheduler.advance(120)
    found = [
        (one["involvedObject"]["kind"], one["reason"], one["message"])
        for one in cluster.sim.store.list("v1", "Event", "")
        if one["reportingComponent"] == "kyverno-scan"
    ]
    note = "Deployment default/web: [few] fail; too many"
    assert ("ValidatingAdmissionPolicy", "PolicyViolation", note) in found
    assert ("Deployment", "PolicyViolation", "policy few/few fail: too many") in found


ADD = 'Object{metadata: Object.metadata{labels: {"team": "a"}}}'
TO = 'Object{metadata: Object.metadata{labels: {"team": string(params.data.team)}}}'
REPORTED = {"features": {"mutatingAdmissionPolicyReports": {"enabled": True}}}


@pytest.fixture
def told_of(make_cluster, deployment):
    """Return what a scan tells of a Deployment that is there before policies are."""

    def read(*objects, values=REPORTED, **about):
        sim = make_cluster(installation=Installation("own", values)).sim
        for one in (deployment(**about), *objects):
            assert sim.client(ADMIN).create(one).ok
        sim.scheduler.advance(120)
        reports = sim.store.list("wgpolicyk8s.io/v1alpha2", "PolicyReport", "default")
        rows = [(one["result"], one["message"]) for each in reports for one in each["results"]]
        events = sim.timeline.events
        lost = [one for event in events for one in event.unevaluated]
        return reports, rows, lost

    return read


@pytest.fixture
def changing(obj):
    def make(expression=ADD, label="true", **spec):
        merge = {"patchType": "ApplyConfiguration"}
        merge["applyConfiguration"] = {"expression": expression}
        spec = {
            "matchConstraints": rules(),
            "reinvocationPolicy": "Never",
            "failurePolicy": "Fail",
            "mutations": [merge],
            **spec,
        }
        meta = {"labels": {LABEL: label}}
        kind = "MutatingAdmissionPolicy"
        return obj(
            kind,
            "add",
            api_version="admissionregistration.k8s.io/v1beta1",
            metadata=meta,
            spec=spec,
        )

    return make


@pytest.fixture
def bound(obj):
    def make(name="b", labels=None, **spec):
        spec = {"policyName": "add", **spec}
        return obj(
            "MutatingAdmissionPolicyBinding",
            name,
            api_version="admissionregistration.k8s.io/v1beta1",
            metadata={"labels": labels or {}},
            spec=spec,
        )

    return make


UNDONE = ("fail", "mutation is not applied")
DONE = ("pass", "mutation is successfully applied")


def test_an_entry_on_a_change_says_which_policy_and_binding_it_is_of(told_of, changing, bound):
    reports, *_ = told_of(changing(), bound())
    (entry,) = reports[0]["results"]
    assert {name: value for name, value in entry.items() if name != "timestamp"} == {
        "source": "MutatingAdmissionPolicy",
        "policy": "add",
        "rule": "add",
        "message": "mutation is not applied",
        "result": "fail",
        "scored": True,
        "properties": {"mapBinding": "b", "process": "background scan"},
    }


def test_an_object_that_a_policy_would_not_change_passes(told_of, changing, bound):
    policy = changing('object.metadata.name == "web" ? Object{} : ' + ADD)
    assert told_of(policy, bound())[1] == [DONE]


def test_conditions_of_a_change_that_do_not_hold_skip(told_of, changing, bound):
    policy = changing(matchConditions=[{"name": "c", "expression": "false"}])
    assert told_of(policy, bound())[1] == [("skip", "match conditions aren't met")]


def test_a_policy_that_changes_is_asked_without_a_binding_too(told_of, changing):
    assert told_of(changing())[1] == [UNDONE]


@pytest.mark.parametrize(
    ("label", "values"),
    [
        ("false", REPORTED),
        ("true", {}),
        ("true", {"features": {"mutatingAdmissionPolicyReports": {"enabled": False}}}),
    ],
)
def test_changes_are_reported_where_label_and_installation_want_it(
    told_of, changing, bound, label, values
):
    assert told_of(changing(label=label), bound(), values=values)[1] == []


def test_a_later_binding_is_compared_with_what_the_one_before_made(told_of, changing, bound):
    left_out = {"reports.kyverno.io/disabled": ""}
    reports, rows, _ = told_of(changing(), bound("a", left_out), bound("b"))
    assert rows == [DONE]
    assert reports[0]["results"][0]["properties"]["mapBinding"] == "b"


@pytest.mark.parametrize("unbound", [True, False])
def test_conditions_that_cannot_be_evaluated_give_up_the_object_but_for_bindings(
    told_of, changing, bound, unbound
):
    condition = {"name": "c", "expression": "object.x == 1"}
    policy = changing(matchConditions=[condition])
    _, rows, lost = told_of(*([policy] if unbound else [policy, bound()]))
    assert rows == []
    assert [one.rule for one in lost] == (["add"] if unbound else [])


@pytest.mark.parametrize("name", ["a", "other"])
def test_parameters_of_a_change_are_those_of_the_cluster(told_of, changing, bound, obj, name):
    param = obj("ConfigMap", "a", "default", data={"team": "x"})
    reference = {"name": name, "parameterNotFoundAction": "Allow"}
    policy = changing(TO, paramKind=CONFIG)
    _, rows, lost = told_of(param, policy, bound(paramRef=reference))
    if name == "a":
        assert rows == [UNDONE]
    else:
        assert rows == []
        assert [one.rule for one in lost] == ["add"]


def test_a_change_that_cannot_be_made_is_not_reported(told_of, changing, bound):
    policy = changing("Object{metadata: Object.metadata{labels: {'a': object.x}}}")
    assert told_of(policy, bound())[1:] == ([], [])


@pytest.mark.parametrize(
    ("expression", "note"),
    [
        ("Object{}", "Deployment default/web: pass"),
        (ADD, "Deployment default/web: [add] fail; mutation is not applied"),
    ],
)
def test_scans_by_policies_that_change_are_told_as_checks(
    put, admin, changing, bound, deployment, cluster, expression, note
):
    settings = ObjectKey("v1", "ConfigMap", "kyverno", "kyverno")
    admin.merge(settings, {"data": {"generateSuccessEvents": "true", "successEventActions": ""}})
    put(deployment(), changing(expression), bound())
    cluster.sim.scheduler.advance(120)
    found = {
        (one["action"], one["message"])
        for one in cluster.sim.store.list("v1", "Event", "")
        if one["involvedObject"]["kind"] == "MutatingAdmissionPolicy"
    }
    assert found == {("Resource Passed", note)}
