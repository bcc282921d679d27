"""MutatingAdmissionPolicies and webhooks that are asked again after others changed the object."""

import pytest

from kyvsim.kubernetes.objects import annotations, labels

GROUP = "admissionregistration.k8s.io"
PODS = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
COUNT = (
    "has(object.metadata.labels) "
    "? [JSONPatch{op: 'add', path: '/metadata/labels/n' + string(size(object.metadata.labels)), "
    "value: 'x'}] : [JSONPatch{op: 'add', path: '/metadata/labels', value: {'n0': 'x'}}]"
)
LOOK = (
    "[JSONPatch{op: 'add', path: '/metadata/labels/seen', "
    "value: 'added' in object.metadata.labels ? 'yes' : 'no'}]"
)
ADD = {"metadata": {"labels": {"added": "x"}}}
COPY = {"metadata": {"annotations": {"copied": "{{ request.object.metadata.labels.seen }}"}}}
COPY_IN_CEL = (
    "Object{metadata: Object.metadata{annotations: {'copied': object.metadata.labels.seen}}}"
)


@pytest.fixture
def mutating(obj):
    """Return what gives a bound MutatingAdmissionPolicy on new Pods."""

    def make(patch, again="IfNeeded", **spec):
        mutation = {"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}
        spec = {
            "matchConstraints": {"resourceRules": [PODS]},
            "reinvocationPolicy": again,
            "mutations": [mutation],
            **spec,
        }
        kind, api = "MutatingAdmissionPolicy", f"{GROUP}/v1beta1"
        policy = obj(kind, "p", api_version=api, spec=spec)
        return policy, obj(f"{kind}Binding", "b", api_version=api, spec={"policyName": "p"})

    return make


def adding(cluster_policy, patch=ADD, name="add"):
    return cluster_policy(name, {"mutate": {"patchStrategicMerge": patch}})


@pytest.mark.parametrize(("again", "found"), [("Never", {"n0"}), ("IfNeeded", {"n0", "n1"})])
def test_a_policy_that_wants_it_is_asked_twice(put, admin, mutating, pod, again, found):
    put(*mutating(COUNT, again))
    assert set(labels(admin.create(pod()).object)) == found


@pytest.mark.parametrize(("again", "seen"), [("Never", "no"), ("IfNeeded", "yes")])
def test_the_second_time_it_sees_what_webhooks_did(
    put, admin, mutating, cluster_policy, pod, again, seen
):
    put(*mutating(LOOK, again), adding(cluster_policy))
    assert labels(admin.create(pod(labels={"a": "b"})).object)["seen"] == seen


def test_one_whose_conditions_held_only_later_is_not_asked(
    put, admin, mutating, cluster_policy, pod
):
    later = [{"name": "later", "expression": "'added' in object.metadata.labels"}]
    put(*mutating(LOOK, matchConditions=later), adding(cluster_policy))
    assert "seen" not in labels(admin.create(pod(labels={"a": "b"})).object)


def test_webhooks_for_rules_are_asked_again_where_that_made_a_difference(
    put, admin, mutating, cluster_policy, pod
):
    both = {"metadata": {**ADD["metadata"], **COPY["metadata"]}}
    put(*mutating(LOOK), adding(cluster_policy, both))
    made = admin.create(pod(labels={"a": "b"})).object
    assert (labels(made)["seen"], annotations(made)["copied"]) == ("yes", "yes")


def test_webhooks_for_policies_in_cel_are_asked_once(
    put, admin, mutating, cluster_policy, pod, obj
):
    mutation = {
        "patchType": "ApplyConfiguration",
        "applyConfiguration": {"expression": COPY_IN_CEL},
    }
    spec = {"matchConstraints": {"resourceRules": [PODS]}, "mutations": [mutation]}
    once = obj("MutatingPolicy", "m", api_version="policies.kyverno.io/v1", spec=spec)
    put(*mutating(LOOK), once, adding(cluster_policy))
    made = admin.create(pod(labels={"a": "b"})).object
    assert (labels(made)["seen"], annotations(made)["copied"]) == ("yes", "no")
