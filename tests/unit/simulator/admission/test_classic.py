"""What policies with rules answer at admission."""

from collections import Counter

import pytest

from kyvsim.engine import policy
from kyvsim.kubernetes.objects import object_key
from kyvsim.model.request import UserInfo
from kyvsim.simulator.admission import classic
from kyvsim.simulator.api_server import authorizer

LABELLED = {"pattern": {"metadata": {"labels": {"team": "?*"}}}, "message": "team is missing"}
ENFORCED = {"validate": {**LABELLED, "failureAction": "Enforce"}}
AUDITED = {"validate": {**LABELLED, "failureAction": "Audit"}}
ADDS_LABEL = {"mutate": {"patchStrategicMerge": {"metadata": {"labels": {"team": "shop"}}}}}


def test_a_denial_is_worded_as_the_api_server_passes_it_on(put, admin, cluster_policy, pod):
    put(cluster_policy("needs-team", ENFORCED))
    error = admin.create(pod("naked")).error
    assert error.message == (
        'admission webhook "validate.kyverno.svc-fail" denied the request: \n\n'
        "resource Pod/default/naked was blocked due to the following policies \n\n"
        "needs-team:\n"
        "  rule-0: 'validation error: team is missing. "
        "rule rule-0 failed at path /metadata/labels/'\n"
    )


def test_an_audit_only_warns(put, admin, cluster_policy, pod):
    put(cluster_policy("quiet", AUDITED), cluster_policy("loud", AUDITED, emitWarning=True))
    response = admin.create(pod("naked"))
    assert response.ok
    assert [one.partition(":")[0] for one in response.warnings] == ["policy loud.rule-0"]


def test_a_namespace_may_override_the_action(put, admin, cluster_policy, obj, pod):
    overrides = [{"action": "Enforce", "namespaces": ["prod*"]}]
    rule = {"validate": {**AUDITED["validate"], "failureActionOverrides": overrides}}
    put(obj("Namespace", "prod-1"), cluster_policy("needs-team", rule))
    assert admin.create(pod("a", "default")).ok
    assert not admin.create(pod("a", "prod-1")).ok


def test_mutation_comes_before_validation(put, admin, cluster_policy, pod):
    put(cluster_policy("needs-team", ENFORCED), cluster_policy("adds-team", ADDS_LABEL))
    response = admin.create(pod("p"))
    assert response.ok
    assert response.object["metadata"]["labels"] == {"team": "shop"}


def test_an_object_with_generate_name_has_no_name_while_it_is_mutated(
    put, admin, cluster_policy, obj
):
    patch = {"metadata": {"annotations": {"seen": "[{{ request.object.metadata.name || '' }}]"}}}
    put(cluster_policy("tells-name", {"mutate": {"patchStrategicMerge": patch}}))
    spec = {"containers": [{"name": "c", "image": "nginx"}]}
    sent = obj("Pod", namespace="default", metadata={"generateName": "p-"}, spec=spec)
    made = admin.create(sent).object["metadata"]
    assert made["annotations"] == {"seen": "[]"}
    assert made["name"].startswith("p-")


def test_a_policy_acts_only_once_it_is_ready(cluster, admin, cluster_policy, pod):
    assert admin.create(cluster_policy("needs-team", ENFORCED)).ok
    assert admin.create(pod("early")).ok
    cluster.sim.scheduler.settle(30)
    assert not admin.create(pod("late")).ok


def test_a_deleted_policy_acts_no_more(cluster, put, admin, cluster_policy, pod):
    policy = put(cluster_policy("needs-team", ENFORCED))
    admin.delete(object_key(policy))
    cluster.sim.scheduler.settle(30)
    assert admin.create(pod("p")).ok


def test_namespaces_of_the_system_are_passed_over(put, admin, cluster_policy, pod):
    put(cluster_policy("needs-team", ENFORCED))
    assert admin.create(pod("p", "kube-system")).ok


def test_excluded_groups_are_passed_over(cluster, put, admin, cluster_policy, pod, obj):
    group = {"kind": "Group", "name": "system:nodes", "apiGroup": "rbac.authorization.k8s.io"}
    reference = {
        "kind": "ClusterRole",
        "name": "cluster-admin",
        "apiGroup": "rbac.authorization.k8s.io",
    }
    binding = obj(
        "ClusterRoleBinding",
        "nodes",
        api_version="rbac.authorization.k8s.io/v1",
        roleRef=reference,
        subjects=[group],
    )
    put(binding, cluster_policy("needs-team", ENFORCED))
    node = UserInfo("system:node:a", groups=("system:nodes",))
    assert cluster.sim.client(node).create(pod("p")).ok
    assert not admin.create(pod("q")).ok


def test_an_error_denies_unless_the_policy_fails_open(put, admin, cluster_policy, pod):
    unknown = {
        "deny": {
            "conditions": {
                "all": [{"key": "{{ request.object.nope }}", "operator": "Equals", "value": 1}]
            }
        }
    }
    rule = {"validate": {**unknown, "failureAction": "Enforce"}}
    put(cluster_policy("open", rule, failurePolicy="Ignore"))
    assert admin.create(pod("p")).ok
    put(cluster_policy("closed", rule))
    assert "closed" in admin.create(pod("q")).error.message


def test_a_failed_mutation_denies(put, admin, cluster_policy, pod):
    patch = {"metadata": {"labels": {"a": "{{ request.object.nope }}"}}}
    put(cluster_policy("breaks", {"mutate": {"patchStrategicMerge": patch}}))
    message = admin.create(pod("p")).error.message
    start = 'admission webhook "mutate.kyverno.svc-fail" denied the request: mutation policy breaks'
    assert message.startswith(f"{start} error: failed to apply policy breaks rules [rule-0: ")


def _unfolded(response):
    return " ".join(response.error.message.split())


def _counts(path):
    """Return a rule that denies where a call finds something."""
    call = {"name": "found", "apiCall": {"urlPath": path, "jmesPath": "length(items)"}}
    condition = {"key": "{{ found }}", "operator": "GreaterThan", "value": 0}
    deny = {"deny": {"conditions": {"any": [condition]}}, "failureAction": "Enforce"}
    return {"context": [call], "validate": deny}


def test_a_call_without_right_is_an_error_of_the_rule(put, admin, cluster_policy, pod):
    put(cluster_policy("looks", _counts("/apis/example.com/v1/widgets")))
    assert "permission denied: unknown" in _unfolded(admin.create(pod()))


def test_a_call_is_answered_once_a_role_grants_it(put, admin, cluster_policy, obj, pod):
    rules = [{"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["list"]}]
    label = {"rbac.kyverno.io/aggregate-to-admission-controller": "true"}
    role = obj(
        "ClusterRole",
        "reads-widgets",
        api_version="rbac.authorization.k8s.io/v1",
        metadata={"labels": label},
        rules=rules,
    )
    put(role, cluster_policy("looks", _counts("/apis/example.com/v1/widgets")))
    said = _unfolded(admin.create(pod()))
    assert "the server could not find the requested resource" in said


def test_an_entry_that_is_not_kept_is_an_error_in_a_cluster(put, admin, cluster_policy, pod):
    entry = {"name": "found", "globalReference": {"name": "nowhere"}}
    rule = {**_counts("/"), "context": [entry]}
    put(cluster_policy("looks", rule))
    assert "failed to fetch entry key=nowhere" in _unfolded(admin.create(pod()))


def _cel(expression):
    expressions = [{"expression": expression, "message": "no"}]
    return {"validate": {"cel": {"expressions": expressions}, "failureAction": "Enforce"}}


def test_cel_sees_the_labels_of_the_namespace(put, admin, cluster_policy, obj, pod):
    put(
        obj("Namespace", "gold", metadata={"labels": {"tier": "gold"}}),
        obj("Namespace", "tin", metadata={"labels": {"tier": "tin"}}),
        cluster_policy("gold-only", _cel("namespaceObject.metadata.labels['tier'] == 'gold'")),
    )
    assert admin.create(pod("a", "gold")).ok
    assert not admin.create(pod("a", "tin")).ok


def test_cel_asks_the_roles(put, admin, cluster_policy, obj, pod):
    asked = "authorizer.serviceAccount('default', 'robot').group('').resource('pods')"
    put(cluster_policy("robots", _cel(f"{asked}.namespace('default').check('delete').allowed()")))
    assert not admin.create(pod()).ok
    rbac = {"api_version": "rbac.authorization.k8s.io/v1", "namespace": "default"}
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["delete"]}]
    subject = {"kind": "ServiceAccount", "name": "robot", "namespace": "default"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "deleter"}
    put(
        obj("Role", "deleter", rules=rules, **rbac),
        obj("RoleBinding", "robot", subjects=[subject], roleRef=reference, **rbac),
    )
    assert admin.create(pod()).ok


# Work of the webhooks, counted: one look at a request serves all policies and webhooks.

_LABELLED = {"pattern": {"metadata": {"labels": {"team": "?*"}}}, "message": "team is missing"}
_AUDITED = {"validate": {**_LABELLED, "failureAction": "Audit"}}


@pytest.fixture
def calls(monkeypatch):
    """Return how often requests are made for rules, opened, and roles are looked for."""
    found = Counter()
    for module, name in (
        (classic, "admission_request"),
        (classic, "open_request"),
        (authorizer, "_bound_roles"),
    ):
        real = getattr(module, name)

        def counted(*args, _real=real, _name=name):
            found[_name] += 1
            return _real(*args)

        monkeypatch.setattr(module, name, counted)
    return found


def test_a_request_is_opened_once_for_all_policies(put, admin, cluster_policy, pod, calls):
    put(*(cluster_policy(f"policy-{number}", _AUDITED) for number in range(4)))
    assert admin.create(pod("first")).ok
    calls.clear()
    assert admin.create(pod("second")).ok
    # One for the webhooks that mutate, one for those that validate what they left.
    assert calls["admission_request"] == 2
    assert calls["open_request"] == 1
    assert calls["_bound_roles"] == 0


def test_what_passes_is_shown_without_evaluating_rules(
    cluster, put, admin, cluster_policy, pod, monkeypatch
):
    put(cluster_policy("labelled", _AUDITED, background=True))
    evaluated = []
    real = policy.evaluate_rule

    def counted(rule, given, **options):
        evaluated.append(given.request.subject["metadata"]["name"])
        return real(rule, given, **options)

    monkeypatch.setattr(policy, "evaluate_rule", counted)
    for number in range(20):
        labels = {"team": "a"} if number != 18 else None
        assert admin.create(pod(f"pod-{number:02}", labels=labels)).ok
    cluster.sim.scheduler.advance(120)
    # The first is evaluated when it is admitted; one that fails also when it is scanned.
    assert (evaluated.count("pod-00"), evaluated.count("pod-18")) == (1, 2)
    assert evaluated.count("pod-17") == evaluated.count("pod-19") == 0
    reports = cluster.sim.store.list("wgpolicyk8s.io/v1alpha2", "PolicyReport", "")
    entries = {one["scope"]["name"]: one["results"] for one in reports}
    assert len(entries) == 20
    assert entries["pod-18"][0]["result"] == "fail"
    assert entries["pod-00"] == entries["pod-19"]
    assert entries["pod-19"][0]["result"] == "pass"
