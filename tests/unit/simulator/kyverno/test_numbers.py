"""Whole numbers of a cluster's objects are floats in expressions, as JSON text has them."""

import pytest

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
