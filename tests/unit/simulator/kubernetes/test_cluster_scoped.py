"""The controllers of namespaces and ClusterRoles."""

import pytest

from kyvsim.kubernetes.objects import ObjectKey, object_key
from kyvsim.simulator.api_server.authorizer import may
from kyvsim.simulator.configuration import BACKGROUND


def test_a_namespace_takes_its_contents_along(cluster, admin, obj, put, run, told):
    put(obj("Namespace", "shop"), obj("ConfigMap", "a", "shop"))
    admin.delete(ObjectKey("v1", "Namespace", "", "shop"))
    assert admin.get("v1", "Namespace", "", "shop")["status"]["phase"] == "Terminating"
    error = admin.create(obj("ConfigMap", "b", "shop")).error
    assert error.message.endswith("in namespace shop because it is being terminated")
    run(1)
    assert admin.get("v1", "Namespace", "", "shop") is None
    assert not [one for one in cluster.sim.store.every() if _place(one) == "shop"]
    assert ("delete", "done", "") in told("namespace-controller")


def test_a_namespace_waits_for_what_a_finalizer_holds(admin, obj, put, run):
    held = {"finalizers": ["example.com/hold"]}
    put(obj("Namespace", "shop"), obj("ConfigMap", "a", "shop", metadata=held))
    admin.delete(ObjectKey("v1", "Namespace", "", "shop"))
    run(1)
    assert admin.get("v1", "Namespace", "", "shop")["status"]["phase"] == "Terminating"
    admin.merge(ObjectKey("v1", "ConfigMap", "shop", "a"), {"metadata": {"finalizers": None}})
    run(1)
    assert admin.get("v1", "Namespace", "", "shop") is None


def test_a_policy_may_keep_a_namespace_from_going(admin, obj, cluster_policy, put, run):
    match = {"any": [{"resources": {"kinds": ["ConfigMap"], "names": ["kept"]}}]}
    deny = {"conditions": {"any": [_deletion()]}}
    rule = {"match": match, "validate": {"failureAction": "Enforce", "message": "no", "deny": deny}}
    put(cluster_policy("keep", rule), obj("Namespace", "shop"), obj("ConfigMap", "kept", "shop"))
    admin.delete(ObjectKey("v1", "Namespace", "", "shop"))
    run(20)
    assert admin.get("v1", "ConfigMap", "shop", "kept")
    admin.delete(ObjectKey("kyverno.io/v1", "ClusterPolicy", "", "keep"))
    run(60)
    assert admin.get("v1", "Namespace", "", "shop") is None


def _deletion():
    return {"key": "{{ request.operation }}", "operator": "Equals", "value": "DELETE"}


def _place(obj):
    return obj["metadata"].get("namespace")


# Roles that select others have their rules.

RBAC = "rbac.authorization.k8s.io/v1"
RULE = {"apiGroups": ["example.com"], "resources": ["gizmos"], "verbs": ["get"]}


@pytest.fixture
def role(obj):
    return lambda name, marks, *rules: obj(
        "ClusterRole", name, api_version=RBAC, metadata={"labels": marks}, rules=list(rules)
    )


@pytest.fixture
def rules_of(cluster):
    return lambda name: cluster.sim.store.get(RBAC, "ClusterRole", "", name)["rules"]


@pytest.mark.parametrize("name", ["admin", "edit", "view", "kyverno:background-controller"])
def test_installed_roles_are_filled(rules_of, name):
    assert rules_of(name)


def test_a_role_that_comes_later_counts(put, role, rules_of):
    put(role("more", {"rbac.authorization.k8s.io/aggregate-to-view": "true"}, RULE))
    assert RULE in rules_of("view")
    assert RULE in rules_of("admin")


def test_controllers_may_do_what_the_chart_lets_them(cluster, key_of_config_map):
    store = cluster.sim.store
    assert may(BACKGROUND, "create", key_of_config_map, store)
    assert not may(BACKGROUND, "create", key_of_config_map._replace(kind="ServiceAccount"), store)


@pytest.fixture
def key_of_config_map(obj):
    return object_key(obj("ConfigMap", "c", "default"))


def test_a_namespace_gets_an_account_and_a_certificate(admin, obj, put, run):
    put(obj("Namespace", "shop"))
    assert admin.get("v1", "ServiceAccount", "shop", "default")
    assert admin.get("v1", "ConfigMap", "shop", "kube-root-ca.crt")["data"]["ca.crt"]
    admin.delete(ObjectKey("v1", "ServiceAccount", "shop", "default"))
    run(1)
    assert admin.get("v1", "ServiceAccount", "shop", "default")


def test_a_changed_certificate_comes_back(admin, run):
    key = ObjectKey("v1", "ConfigMap", "default", "kube-root-ca.crt")
    before = admin.get(*key)["data"]
    admin.merge(key, {"data": {"ca.crt": "mine"}})
    run(1)
    assert admin.get(*key)["data"] == before


def admission_policy(obj, expression, resources=("secrets",)):
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"]}
    spec = {
        "matchConstraints": {"resourceRules": [{**rule, "resources": list(resources)}]},
        "validations": [{"expression": "true"}, {"expression": expression}],
    }
    api_version = "admissionregistration.k8s.io/v1"
    return obj("ValidatingAdmissionPolicy", "p", api_version=api_version, spec=spec)


def test_the_status_of_an_admission_policy_has_its_type_errors(admin, obj, put, run):
    key = object_key(put(admission_policy(obj, "object.kin == 'x'")))
    mark = " | object.kin == 'x'\n | ......^\n"
    warning = f"/v1, Kind=Secret: ERROR: <input>:1:7: undefined field 'kin'\n{mark}"
    assert admin.get(*key)["status"] == {
        "observedGeneration": 1,
        "typeChecking": {
            "expressionWarnings": [
                {"fieldRef": "spec.validations[1].expression", "warning": warning}
            ]
        },
    }
    admin.merge(key, {"spec": admission_policy(obj, "object.kind == 'x'")["spec"]})
    run(1)
    assert admin.get(*key)["status"] == {"observedGeneration": 2, "typeChecking": {}}
