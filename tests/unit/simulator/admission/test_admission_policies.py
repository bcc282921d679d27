"""Kubernetes' own admission policies in a cluster: bound, with parameters, before webhooks."""

import pytest

GROUP = "admissionregistration.k8s.io"
PODS = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
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
    """Return what makes a policy of a kind on new Pods."""

    def make(kind, name="p", rule=PODS, **spec):
        spec = {"matchConstraints": {"resourceRules": [rule]}, **spec}
        return obj(kind, name, api_version=f"{GROUP}/v1", spec=spec)

    return make


@pytest.fixture
def validating(policy):
    return lambda *validations, **spec: policy(
        "ValidatingAdmissionPolicy", validations=list(validations), **spec
    )


@pytest.fixture
def mutating(policy):
    return lambda *mutations, **spec: policy(
        "MutatingAdmissionPolicy", mutations=list(mutations), reinvocationPolicy="Never", **spec
    )


@pytest.fixture
def bind(obj):
    """Return what makes the binding of the policy `p`."""

    def make(kind="Validating", name="b", **spec):
        if kind == "Validating":
            spec = {"validationActions": ["Deny"], **spec}
        api, kind = f"{GROUP}/v1", f"{kind}AdmissionPolicyBinding"
        return obj(kind, name, api_version=api, spec={"policyName": "p", **spec})

    return make


def test_a_bound_policy_denies_as_the_api_server_does(put, admin, validating, bind, pod):
    put(validating(TEAM), bind())
    assert admin.create(pod(labels={"team": "a"})).ok
    error = admin.create(pod("q")).error
    assert (error.code, error.reason) == (422, "Invalid")
    assert error.message == (
        "pods \"q\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: "
        "team is missing"
    )


def test_a_policy_without_a_binding_counts_for_nothing(put, admin, validating, pod):
    put(validating(TEAM))
    assert admin.create(pod()).ok


def test_the_constraints_of_policy_and_binding_both_count(put, admin, validating, bind, pod, obj):
    shop = {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}
    put(
        obj("Namespace", "shop"), validating(TEAM), bind(matchResources={"namespaceSelector": shop})
    )
    assert admin.create(pod("p", "default")).ok
    assert admin.create(obj("ConfigMap", "c", "shop")).ok
    assert not admin.create(pod("p", "shop")).ok


def test_actions_decide_between_denial_warning_and_silence(put, admin, validating, bind, pod):
    put(
        validating(TEAM),
        bind(validationActions=["Warn"]),
        bind(name="c", validationActions=["Audit"]),
    )
    response = admin.create(pod())
    assert response.ok
    assert response.warnings == (
        "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': team is missing",
    )


def test_a_reason_is_the_status_of_the_refusal(put, admin, validating, bind, pod):
    put(validating({**TEAM, "reason": "Forbidden"}), bind())
    error = admin.create(pod()).error
    assert (error.code, error.reason) == (403, "Forbidden")


@pytest.mark.parametrize(("failure", "ok"), [("Fail", False), ("Ignore", True)])
def test_the_failure_policy_is_for_what_cannot_be_evaluated(
    put, admin, validating, bind, pod, failure, ok
):
    put(validating({"expression": "object.spec.nothing == 1"}, failurePolicy=failure), bind())
    assert admin.create(pod()).ok is ok


@pytest.mark.parametrize(("failure", "outcome"), [("Fail", "denied"), ("Ignore", "done")])
@pytest.mark.parametrize("kind", ["Validating", "Mutating"])
def test_what_cannot_be_evaluated_is_told_of_the_request(
    put, admin, cluster, validating, mutating, bind, pod, kind, failure, outcome
):
    reading = "Object{metadata: Object.metadata{labels: {'a': object.spec.nothing}}}"
    merge = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": reading}}
    made = {
        "Validating": validating({"expression": "object.spec.nothing == 1"}, failurePolicy=failure),
        "Mutating": mutating(merge, failurePolicy=failure),
    }
    put(made[kind], bind(kind))
    admin.create(pod())
    event = cluster.sim.timeline.events[-1]
    assert (event.object.kind, event.outcome) == ("Pod", outcome)
    (error,) = event.unevaluated
    assert error.rule == "p"
    assert "no such key: nothing" in error.message
    assert event.policies == (("p",) if failure == "Fail" else ())


def test_a_timeline_tells_which_policy_denies_and_which_lets_pass(
    put, admin, cluster, validating, bind, pod
):
    put(validating(TEAM), bind(validationActions=["Audit"]))
    admin.create(pod())
    event = cluster.sim.timeline.events[-1]
    assert (event.outcome, event.message) == ("done", "admitted despite an Audit failure: p")
    put(bind(name="c"))
    admin.create(pod("q"))
    event = cluster.sim.timeline.events[-1]
    assert (event.outcome, event.policies, event.unevaluated) == ("denied", ("p",), ())


def test_each_parameter_is_looked_for_where_the_request_is(put, admin, validating, bind, pod, obj):
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    reference = {"name": "limits", "parameterNotFoundAction": "Deny"}
    rule = {"expression": "object.metadata.name.size() <= int(params.data.longest)"}
    put(validating(rule, paramKind=kind), bind(paramRef=reference))
    assert admin.create(pod("ab")).error.message.endswith(
        "denied request: failed to configure binding: "
        "no params found for policy binding with `Deny` parameterNotFoundAction"
    )
    put(obj("ConfigMap", "limits", "default", data={"longest": "2"}))
    assert admin.create(pod("ab")).ok
    assert admin.create(pod("abc")).error.message.endswith(
        f"failed expression: {rule['expression']}"
    )


def test_parameters_that_are_not_there_let_pass_if_they_may(put, admin, validating, bind, pod):
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    reference = {"name": "limits", "parameterNotFoundAction": "Allow"}
    put(validating({"expression": "false"}, paramKind=kind), bind(paramRef=reference))
    assert admin.create(pod()).ok


def test_a_mutation_comes_before_what_validates(put, admin, validating, mutating, bind, pod):
    put(mutating(LABEL), bind("Mutating"), validating(TEAM), bind())
    assert admin.create(pod()).object["metadata"]["labels"] == {"team": "a"}


def test_lists_are_merged_by_the_types_of_the_kind(put, admin, mutating, bind, pod):
    text = 'Object{spec: Object.spec{containers: [Object.spec.containers{name: "d", image: "x"}]}}'
    change = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": text}}
    put(mutating(change), bind("Mutating"))
    containers = admin.create(pod()).object["spec"]["containers"]
    assert [one["name"] for one in containers] == ["c", "d"]


def test_a_mutation_that_cannot_be_evaluated_denies(put, admin, mutating, bind, pod):
    text = '[JSONPatch{op: "replace", path: "/spec/nothing/at", value: 1}]'
    put(mutating({"patchType": "JSONPatch", "jsonPatch": {"expression": text}}), bind("Mutating"))
    error = admin.create(pod()).error
    assert error.message.startswith("policy 'p' with binding 'b' denied request: ")


def test_what_does_not_compile_is_not_stored(admin, validating, mutating):
    error = admin.create(validating({"expression": "object.metadata.name =="})).error
    assert error.code == 422
    assert "spec.validations[0].expression: Invalid value: " in error.message
    change = {"patchType": "JSONPatch", "jsonPatch": {"expression": "nothing"}}
    assert "spec.mutations[0].jsonPatch.expression" in admin.create(mutating(change)).error.message


def test_webhooks_hear_of_nothing_that_a_policy_refuses(put, admin, cluster, validating, bind, pod):
    heard = []
    cluster.kyverno.admission.background.append(lambda review, _: heard.append(review))
    put(validating(TEAM), bind())
    heard.clear()
    admin.create(pod())
    assert heard == []


def test_a_selector_that_cannot_be_read_is_refused(put, admin, validating, bind):
    selector = {"matchExpressions": [{"key": "a", "operator": "In"}]}
    constraints = {"resourceRules": [PODS], "objectSelector": selector}
    error = admin.create(validating(TEAM, matchConstraints=constraints)).error
    assert error.code == 422
    assert "spec.matchConstraints.objectSelector.values: Invalid value: null" in error.message
    put(validating(TEAM))
    error = admin.create(bind(matchResources={"namespaceSelector": selector})).error
    assert "spec.matchResources.namespaceSelector.values: Invalid value" in error.message


def test_a_label_that_an_update_drops_still_chooses_the_object(put, admin, validating, bind, obj):
    rule = {**PODS, "resources": ["configmaps"], "operations": ["UPDATE"]}
    selector = {"matchLabels": {"guarded": "yes"}}
    constraints = {"resourceRules": [rule], "objectSelector": selector}
    before = {"labels": {"guarded": "yes"}}
    guarded = obj("ConfigMap", "c", "default", metadata=before)
    put(validating(TEAM, matchConstraints=constraints), bind(), guarded)
    assert "team is missing" in admin.update(obj("ConfigMap", "c", "default")).error.message


def test_a_policy_that_does_not_fit_its_schema_is_refused(admin, mutating):
    error = admin.create(mutating({"applyConfiguration": LABEL["applyConfiguration"]})).error
    assert "spec.mutations[0].patchType: Required value" in error.message
