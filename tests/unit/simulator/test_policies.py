"""The installed policies: their status, and what they read."""

import pytest

from kyvsim.kubernetes.objects import object_key
from kyvsim.model.release import V_1_19_0, V_1_19_1
from kyvsim.policy.rule import read_rule, status_rule

# What policies say of themselves once they act.

DENY = {"validate": {"message": "no", "deny": {}}}
CONFIG_MAPS = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE"],
    "resources": ["configmaps"],
}


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


@pytest.mark.parametrize("version", ["v1", "v2beta1"])
def test_policies_of_all_versions_become_ready(put, cluster_policy, cluster, version):
    put({**cluster_policy("p", DENY), "apiVersion": f"kyverno.io/{version}"})
    stored = cluster.sim.store.get(f"kyverno.io/{version}", "ClusterPolicy", "", "p")
    assert stored["status"]["conditions"][0]["status"] == "True"
    assert cluster.kyverno.cache.get("p") is not None


def test_readiness_that_stays_keeps_its_time(put, cluster, cluster_policy, status, admin):
    put(cluster_policy("p", DENY))
    cluster.sim.scheduler.advance(60)
    admin.update(cluster_policy("p", DENY, DENY))
    cluster.sim.scheduler.settle(30)
    assert status()["rulecount"]["validate"] == 2
    assert status()["conditions"][0]["lastTransitionTime"] == "2026-01-01T00:00:00Z"


def test_a_policy_becomes_ready_step_by_step(cluster, cluster_policy, admin):
    name = "kyverno-resource-validating-webhook-cfg"
    kind = ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration")

    def steps():
        stored = admin.get("kyverno.io/v1", "ClusterPolicy", "", "p")
        return (
            bool(admin.get(*kind, "", name).get("webhooks")),
            "status" in stored,
            cluster.kyverno.cache.get("p") is not None,
        )

    admin.create(cluster_policy("p", DENY))
    seen = [steps()]
    while cluster.sim.scheduler.step(1):
        seen += [steps()] if steps() != seen[-1] else []
    assert seen == [
        (False, False, False),
        (True, False, False),
        (True, True, False),
        (True, True, True),
    ]


def test_a_policy_in_cel_acts_with_its_webhook(cluster, admin, obj):
    spec = {
        "matchConstraints": {"resourceRules": [CONFIG_MAPS]},
        "validations": [{"expression": "false"}],
    }
    policy = obj("ValidatingPolicy", "p", api_version="policies.kyverno.io/v1", spec=spec)
    key = object_key(admin.create(policy).object)
    seen = []
    while cluster.sim.scheduler.step(1):
        acts = cluster.kyverno.cache.get("ValidatingPolicy p") is not None
        step = acts, "status" in admin.get(*key)
        seen += [step] if step not in seen else []
    assert seen == [(False, False), (True, False), (True, True)]


def test_a_change_of_a_policy_that_acts_counts_at_once(put, cluster, cluster_policy, admin):
    put(cluster_policy("p", DENY))
    admin.update(cluster_policy("p", DENY, DENY))
    while len(cluster.kyverno.cache.get("p").policy.rules) == 1:
        assert cluster.sim.scheduler.step(1)
    status = admin.get("kyverno.io/v1", "ClusterPolicy", "", "p")["status"]
    assert status["rulecount"]["validate"] == 1


def test_steps_with_a_policy_end_where_it_changes(cluster, cluster_policy, admin):
    admin.create(cluster_policy("p", DENY))
    cluster.sim.scheduler.advance(0.003)
    admin.update(cluster_policy("p", DENY, DENY))
    written = []
    cluster.sim.store.watch(lambda change: written.append(change.new))
    cluster.sim.scheduler.settle(30)
    of_policy = [one for one in written if one["kind"] == "ClusterPolicy"]
    assert [one["status"]["rulecount"]["validate"] for one in of_policy] == [2]


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
