"""The installed policies: their status, and what they read."""

import pytest

from kyvsim.model.release import V_1_19_0, V_1_19_1
from kyvsim.policy.rule import read_rule, status_rule

# What policies say of themselves once they act.

DENY = {"validate": {"message": "no", "deny": {}}}


@pytest.fixture
def status(cluster):
    return lambda: cluster.sim.store.get("kyverno.io/v1", "ClusterPolicy", "", "p")["status"]


def test_a_policy_says_that_it_is_ready_and_since_when(put, cluster_policy, status):
    put(cluster_policy("p", DENY))
    assert status()["conditions"] == [
        {
            "lastTransitionTime": "2026-01-01T00:00:00Z",
            "message": "Ready",
            "reason": "Succeeded",
            "status": "True",
            "type": "Ready",
        }
    ]


def test_readiness_that_stays_keeps_its_time(put, cluster, cluster_policy, status, admin):
    put(cluster_policy("p", DENY))
    cluster.sim.scheduler.advance(60)
    admin.update(cluster_policy("p", DENY, DENY))
    cluster.sim.scheduler.settle(30)
    assert status()["rulecount"]["validate"] == 2
    assert status()["conditions"][0]["lastTransitionTime"] == "2026-01-01T00:00:00Z"


def test_change_of_a_policy_that_acts_counts_before_a_new_policy_would(
    put, cluster, cluster_policy, status, admin
):
    put(cluster_policy("p", DENY))
    admin.update(cluster_policy("p", DENY, DENY))
    cluster.sim.scheduler.advance(0.04)
    assert status()["rulecount"]["validate"] == 2
    admin.create({**cluster_policy("q", DENY)})
    cluster.sim.scheduler.advance(0.04)
    assert cluster.kyverno.cache.get("q") is None


def test_derived_rules_are_listed_and_not_counted(put, cluster_policy, status):
    pattern = {"message": "m", "pattern": {"spec": {"hostPID": False}}}
    put(cluster_policy("p", {"validate": pattern}))
    names = [rule["name"] for rule in status()["autogen"]["rules"]]
    assert names == ["autogen-rule-0", "autogen-cronjob-rule-0"]
    assert status()["rulecount"] == {"generate": 0, "mutate": 0, "validate": 1, "verifyimages": 0}


def test_rules_are_written_with_the_empty_fields_of_their_type():
    rule = {"match": {"any": [{"roles": ["r"]}]}, "context": [{"apiCall": {"jmesPath": "@"}}]}
    assert status_rule(read_rule(rule, ())) == {
        "match": {"any": [{"resources": {}, "roles": ["r"]}], "resources": {}},
        "context": [{"apiCall": {"jmesPath": "@", "urlPath": ""}}],
    }


# Whole numbers of a cluster's objects are floats in expressions, as JSON text has them.

ONE_MORE = "{{ add(%s, `1`) }}"


def denying(expression, expected, **rule):
    condition = {"key": ONE_MORE % expression, "operator": "Equals", "value": expected}
    deny = {"conditions": {"any": [condition]}}
    widgets = {"any": [{"resources": {"kinds": ["Widget"]}}]}
    validate = {"message": "counted", "failureAction": "Enforce", "deny": deny}
    return {"match": widgets, "validate": validate, **rule}


@pytest.fixture
def widget(put, obj):
    """Return what makes an object of a kind with numbers, which is defined here."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": "Widget", "plural": "widgets", "singular": "widget"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    api = "apiextensions.k8s.io/v1"
    put(obj("CustomResourceDefinition", "widgets.example.com", api_version=api, spec=spec))
    return lambda name, count: obj(
        "Widget", name, "default", "example.com/v1", spec={"count": count}
    )


def test_the_object_of_a_request(put, admin, cluster_policy, widget):
    put(cluster_policy("p", denying("request.object.spec.count", 4)))
    assert "counted" in admin.create(widget("a", 3)).error.message
    assert admin.create(widget("b", 5)).ok


def test_the_object_before(put, admin, cluster_policy, widget):
    put(widget("a", 3), cluster_policy("p", denying("request.oldObject.spec.count || `0`", 4)))
    assert "counted" in admin.update(widget("a", 5)).error.message


def test_the_answer_to_a_call(put, admin, obj, cluster_policy, widget):
    call = {
        "urlPath": "/apis/example.com/v1/namespaces/default/widgets/a",
        "jmesPath": "spec.count",
    }
    rule = denying("told", 4, context=[{"name": "told", "apiCall": call}])
    rights = [{"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["get"]}]
    label = {"rbac.kyverno.io/aggregate-to-admission-controller": "true"}
    kind = {"api_version": "rbac.authorization.k8s.io/v1", "metadata": {"labels": label}}
    put(obj("ClusterRole", "reads", rules=rights, **kind))
    put(widget("a", 3), cluster_policy("p", rule))
    assert "counted" in admin.create(widget("b", 1)).error.message


def test_what_a_rule_computes_is_stored_as_a_whole_number(put, admin, cluster_policy, widget):
    patch = {"spec": {"twice": "{{ multiply(request.object.spec.count, `2`) }}"}}
    widgets = {"match": {"any": [{"resources": {"kinds": ["Widget"]}}]}}
    rules = [{**widgets, "name": "a", "mutate": {"patchStrategicMerge": patch}}]
    put(cluster_policy("p", *rules))
    made = admin.create(widget("a", 3)).object["spec"]["twice"]
    assert (made, made.__class__) == (6, int)


# What a rule hears of GlobalContextEntries that have nothing to give.

CALLED = {"apiCall": {"urlPath": "/api/v1/namespaces/default/configmaps/gone"}}
UNSERVED = {"kubernetesResource": {"group": "acme.io", "version": "v1", "resource": "gizmos"}}
FAILED = "failed to marshal APICall data for context entry kept: "


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (UNSERVED, f"{FAILED}failed to fetch entry key=kept"),
        (CALLED, f"{FAILED}failed to GET resource with raw url: {CALLED['apiCall']['urlPath']}: "),
    ],
)
def test_an_entry_that_failed_is_an_error_of_the_rule(
    put, admin, obj, pod, cluster_policy, spec, told
):
    put(obj("GlobalContextEntry", "kept", api_version="kyverno.io/v2", spec=spec))
    condition = {"key": "{{ kept }}", "operator": "Equals", "value": "x"}
    rule = {
        "context": [{"name": "kept", "globalReference": {"name": "kept"}}],
        "validate": {
            "message": "no",
            "failureAction": "Enforce",
            "deny": {"conditions": {"any": [condition]}},
        },
    }
    put(cluster_policy("p", rule))
    error = admin.create(pod("a")).error.message
    assert told.replace(" ", "") in "".join(error.split())


# Custom workloads in a cluster.

JOBSETS = "jobsets.v1alpha2.jobset.x-k8s.io"
CRD = {
    "group": "jobset.x-k8s.io",
    "scope": "Namespaced",
    "names": {"kind": "JobSet", "plural": "jobsets", "singular": "jobset"},
    "versions": [
        {
            "name": "v1alpha2",
            "served": True,
            "storage": True,
            "schema": {
                "openAPIV3Schema": {
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": True,
                }
            },
        }
    ],
}
NO_LATEST = {
    "validationActions": ["Deny"],
    "autogen": {"podControllers": {"controllers": [JOBSETS]}},
    "matchConstraints": {
        "resourceRules": [
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "operations": ["CREATE"],
                "resources": ["pods"],
            }
        ]
    },
    "matchConditions": [{"name": "pods", "expression": "object.kind == 'Pod'"}],
    "validations": [
        {"expression": "object.spec.containers.all(c, c.image != 'x')", "message": "not x"}
    ],
}


@pytest.mark.parametrize(("release", "derives"), [(V_1_19_0, False), (V_1_19_1, True)])
def test_custom_workloads_are_sent_to_policies_on_pods(put, admin, obj, cluster, derives):
    crds = "apiextensions.k8s.io/v1"
    put(obj("CustomResourceDefinition", f"jobsets.{CRD['group']}", api_version=crds, spec=CRD))
    kind = ("policies.kyverno.io/v1", "ValidatingPolicy")
    put(obj(kind[1], "no-x", api_version=kind[0], spec=NO_LATEST))
    template = {"spec": {"containers": [{"name": "c", "image": "x"}]}}
    jobset = obj("JobSet", "js", "default", api_version="jobset.x-k8s.io/v1alpha2")
    error = admin.create({**jobset, "spec": {"a": template}}).error
    status = cluster.sim.store.get(*kind, "", "no-x")["status"]
    configs = status["autogen"].get("configs", {})
    permissions = status["conditionStatus"]["conditions"][-1]["message"]
    if not derives:
        assert error is None
        assert configs == {}
        assert "extraResources" not in permissions
        return
    assert error.message.endswith("not x (pod template at spec.a)")
    assert [*configs] == ["extract"]
    assert configs["extract"]["targets"][0]["kind"] == "JobSet"
    assert "list jobset.x-k8s.io/v1alpha2, Resource=jobsets" in permissions
    assert "extraResources" in permissions
