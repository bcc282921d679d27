"""Admission policies that Kyverno generates for the API server to evaluate."""

import pytest

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.model.simulation import Installation
from kyvsim.simulator.api_server.server import ADMIN

GROUP = "policies.kyverno.io"
NATIVE = "admissionregistration.k8s.io/v1"
DEPLOYMENTS = {
    "apiGroups": ["apps"],
    "apiVersions": ["v1"],
    "resources": ["deployments"],
    "operations": ["CREATE"],
}
TEAM = {
    "expression": "has(object.metadata.labels) && 'team' in object.metadata.labels",
    "message": "team is missing",
}
LABEL = {
    "patchType": "ApplyConfiguration",
    "applyConfiguration": {
        "expression": 'Object{metadata: Object.metadata{labels: {"team": "a"}}}',
    },
}


@pytest.fixture
def policy(obj):
    """Return what makes a policy of a kind on new Deployments, with its admission policy."""

    def make(kind="ValidatingPolicy", enabled=True, **spec):
        field = kind.replace("Policy", "AdmissionPolicy")
        field = f"{field[0].lower()}{field[1:]}"
        body = {"mutations": [LABEL]} if kind == "MutatingPolicy" else {"validations": [TEAM]}
        spec = {
            "matchConstraints": {"resourceRules": [DEPLOYMENTS]},
            "autogen": {field: {"enabled": enabled}},
            **body,
            **spec,
        }
        return obj(kind, "team", api_version=f"{GROUP}/v1", spec=spec)

    return make


@pytest.fixture
def exception(obj):
    def make(kind="ValidatingPolicy", **spec):
        spec = {"policyRefs": [{"name": "team", "kind": kind}], **spec}
        return obj("PolicyException", "x", "kyverno", api_version=f"{GROUP}/v1", spec=spec)

    return make


@pytest.fixture
def stored(cluster):
    def find(kind, name, api_version=NATIVE):
        return cluster.sim.store.get(api_version, kind, "", name)

    return find


def test_a_validating_policy_is_evaluated_by_the_api_server(put, admin, stored, policy, deployment):
    put(policy())
    made = stored("ValidatingAdmissionPolicy", "vpol-team")
    assert made["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "kyverno"}
    assert made["metadata"]["ownerReferences"][0]["kind"] == "ValidatingPolicy"
    assert made["spec"]["validations"] == [TEAM]
    binding = stored("ValidatingAdmissionPolicyBinding", "vpol-team-binding")
    assert binding["spec"] == {"policyName": "vpol-team", "validationActions": ["Deny"]}
    assert admin.create(deployment()).error.message == (
        "deployments.apps \"web\" is forbidden: ValidatingAdmissionPolicy 'vpol-team' with binding "
        "'vpol-team-binding' denied request: team is missing"
    )


def test_the_status_says_what_is_made_and_no_webhook_is_there(put, stored, policy):
    put(policy())
    status = stored("ValidatingPolicy", "team", f"{GROUP}/v1")["status"]
    assert status["generated"] is True
    webhooks = stored("ValidatingWebhookConfiguration", "kyverno-resource-validating-webhook-cfg")
    assert not webhooks.get("webhooks")


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"enabled": False}, "not enabled."),
        (
            {
                "matchConstraints": {
                    "resourceRules": [{**DEPLOYMENTS, "apiGroups": [""], "resources": ["pods"]}]
                }
            },
            "pod controllers autogen is enabled.",
        ),
    ],
)
def test_the_status_says_why_nothing_is_made(put, stored, policy, spec, why):
    put(policy(**spec))
    status = stored("ValidatingPolicy", "team", f"{GROUP}/v1")["status"]
    assert status["generated"] is False
    said = f"skip generating ValidatingAdmissionPolicy: {why}"
    assert status["conditionStatus"]["message"] == said
    assert stored("ValidatingAdmissionPolicy", "vpol-team") is None


def test_it_goes_where_it_is_not_wanted_any_more(put, admin, cluster, stored, policy):
    put(policy())
    before = stored("ValidatingPolicy", "team", f"{GROUP}/v1")
    assert admin.update({**before, "spec": policy(enabled=False)["spec"]}).ok
    cluster.sim.scheduler.settle(30)
    assert stored("ValidatingAdmissionPolicy", "vpol-team") is None
    assert stored("ValidatingAdmissionPolicyBinding", "vpol-team-binding") is None


def test_it_goes_with_its_policy(put, admin, cluster, stored, policy):
    put(policy())
    admin.delete(ObjectKey(f"{GROUP}/v1", "ValidatingPolicy", "", "team"))
    cluster.sim.scheduler.settle(60)
    assert stored("ValidatingAdmissionPolicy", "vpol-team") is None


def test_what_somebody_changes_or_deletes_is_made_again(put, admin, cluster, stored, policy):
    put(policy())
    made = stored("ValidatingAdmissionPolicy", "vpol-team")
    admin.update({**made, "spec": {**made["spec"], "validations": [{"expression": "true"}]}})
    cluster.sim.scheduler.settle(30)
    assert stored("ValidatingAdmissionPolicy", "vpol-team")["spec"]["validations"] == [TEAM]
    binding = ("ValidatingAdmissionPolicyBinding", "", "vpol-team-binding")
    admin.delete(ObjectKey(NATIVE, *binding))
    cluster.sim.scheduler.settle(30)
    assert stored("ValidatingAdmissionPolicyBinding", "vpol-team-binding") is not None


def test_exceptions_become_conditions_and_variables(put, stored, policy, exception):
    text = "object.metadata.name in exceptions.allowedValues"
    put(
        policy(validations=[{"expression": text}]),
        exception(
            matchConditions=[{"name": "a", "expression": "object.kind == 'X'"}],
            allowedValues=["b"],
        ),
    )
    spec = stored("ValidatingAdmissionPolicy", "vpol-team")["spec"]
    assert spec["matchConditions"] == [{"name": "a", "expression": "!(object.kind == 'X')"}]
    assert spec["variables"] == [{"name": "allowedValues", "expression": "['b']"}]
    allowed = "object.metadata.name in variables.allowedValues"
    assert spec["validations"] == [{"expression": allowed}]


def test_a_mutating_policy_is_evaluated_by_the_api_server(put, admin, stored, policy, deployment):
    put(policy("MutatingPolicy", failurePolicy="Ignore"))
    spec = stored("MutatingAdmissionPolicy", "mpol-team")["spec"]
    assert (spec["failurePolicy"], spec["reinvocationPolicy"]) == ("Ignore", "Never")
    assert stored("MutatingAdmissionPolicyBinding", "mpol-team-binding") is not None
    assert admin.create(deployment()).object["metadata"]["labels"] == {"team": "a"}


def test_nothing_is_made_where_the_installation_says_so(make_cluster, policy):
    values = {"features": {"generateValidatingAdmissionPolicy": {"enabled": False}}}
    sim = make_cluster(installation=Installation("own", values)).sim
    sim.client(ADMIN).create(policy())
    sim.scheduler.settle(30)
    assert sim.store.get(NATIVE, "ValidatingAdmissionPolicy", "", "vpol-team") is None
