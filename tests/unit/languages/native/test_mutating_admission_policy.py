"""MutatingAdmissionPolicies over objects, as `apply` evaluates them."""

import json

import pytest

from kyvsim.api import ApplyInputs, open_application

CONFIG = """
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: shop, labels: {app: web}}
data: {a: "1"}
"""
VALUES = """
apiVersion: cli.kyverno.io/v1alpha1
kind: Value
metadata: {name: values}
namespaceSelector: [{name: shop, labels: {stage: test}}]
"""
LABEL = 'Object{metadata: Object.metadata{labels: {"x": "y"}}}'
PASS = [("p", "pass", "mutation is successfully applied")]


def merge(text):
    return (
        f"{{patchType: ApplyConfiguration, applyConfiguration: {{expression: {json.dumps(text)}}}}}"
    )


def patch(text):
    return f"{{patchType: JSONPatch, jsonPatch: {{expression: {json.dumps(text)}}}}}"


def policy(*mutations, more="", plural="configmaps", version="v1beta1"):
    parts = "".join(f"  - {one}\n" for one in mutations)
    return f"""
apiVersion: admissionregistration.k8s.io/{version}
kind: MutatingAdmissionPolicy
metadata: {{name: p}}
spec:
  matchConstraints:
    resourceRules:
    - {{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [{plural}]}}
{more}
  mutations:
{parts}"""


def binding(more="", name="b", bound="p"):
    return f"""
---
apiVersion: admissionregistration.k8s.io/v1beta1
kind: MutatingAdmissionPolicyBinding
metadata: {{name: {name}}}
spec:
  policyName: {bound}
{more}"""


@pytest.fixture
def run(tmp_path):
    """Return what gives (rule, status, message) of the results, the response, the diagnostics."""

    def call(policies, resource=CONFIG, params=""):
        files = {"policy.yaml": policies, "resource.yaml": resource, "values.yaml": VALUES}
        files |= {"params.yaml": params} if params else {}
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        inputs = ApplyInputs(
            policies=(str(tmp_path / "policy.yaml"),),
            resources=(str(tmp_path / "resource.yaml"),),
            values_file=str(tmp_path / "values.yaml"),
            parameters=(str(tmp_path / "params.yaml"),) if params else (),
        )
        found = open_application(inputs)
        (response,) = found.responses
        rows = [
            (result.rule.name, result.status.value, result.message)
            for answer in response.responses
            for result in answer.results
        ]
        return rows, response, found.diagnostics

    return call


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1", "v1"])
def test_mutations_are_done_in_order_each_on_what_the_last_left(run, version):
    second = patch('[JSONPatch{op: "add", path: "/data/b", value: object.metadata.labels.x}]')
    rows, response, _ = run(policy(merge(LABEL), second, version=version))
    assert rows == PASS
    assert response.object["metadata"]["labels"] == {"app": "web", "x": "y"}
    assert response.object["data"] == {"a": "1", "b": "y"}


def test_lists_are_replaced_whatever_their_keys(run):
    pod = """
apiVersion: v1
kind: Pod
metadata: {name: c, namespace: shop}
spec: {containers: [{name: a}, {name: b}]}
"""
    text = 'Object{spec: Object.spec{containers: [Object.spec.containers{name: "c"}]}}'
    rows, response, _ = run(policy(merge(text), plural="pods"), pod)
    assert rows == PASS
    assert response.object["spec"] == {"containers": [{"name": "c"}]}


def test_what_fails_has_no_result_and_is_told_beside_them(run):
    rows, response, _ = run(policy(merge(LABEL), merge('Object{data: {"b": object.zzz}}')))
    assert rows == []
    assert response.object["metadata"]["labels"] == {"app": "web"}
    silent = [one.unchecked for answer in response.responses for one in answer.silent]
    (said,) = silent[0]
    assert said.endswith("resulted in error: no such key: zzz")


@pytest.mark.parametrize(
    ("condition", "more", "rows"),
    [
        ("true", "", PASS),
        ("false", "", [("p", "skip", "match conditions aren't met")]),
        ("object.zzz", "  failurePolicy: Ignore", [("p", "skip", "match conditions aren't met")]),
        ("object.zzz", "  failurePolicy: Fail", []),
        ("request.userInfo.username == 'system:kyverno:background-scan'", "", PASS),
        ("request.resource.resource == 'configmaps'", "", PASS),
        ("variables.v == '1'", "  variables: [{name: v, expression: object.data.a}]", PASS),
    ],
)
def test_conditions(run, condition, more, rows):
    text = json.dumps(condition if condition != "object.zzz" else "object.zzz == 1")
    written = f"  matchConditions: [{{name: c, expression: {text}}}]\n{more}"
    assert run(policy(merge(LABEL), more=written))[0] == rows


def test_expressions_know_the_labels_of_the_namespace(run):
    text = "Object{metadata: Object.metadata{labels: namespaceObject.metadata.labels}}"
    rows, response, _ = run(policy(merge(text)))
    assert rows == PASS
    assert response.object["metadata"]["labels"] == {"app": "web", "stage": "test"}


STAGE = "  matchResources: {namespaceSelector: {matchLabels: {stage: %s}}}"


@pytest.mark.parametrize(
    ("bindings", "rows"),
    [
        (binding(), PASS),
        (binding(STAGE % "test"), PASS),
        (binding(STAGE % "live"), []),
        (binding(STAGE % "live") + binding(STAGE % "test", "c"), PASS),
        (binding(bound="q"), PASS),
    ],
)
def test_bindings_say_where_a_policy_counts(run, bindings, rows):
    assert run(policy(merge(LABEL)) + bindings)[0] == rows


def test_a_policy_with_a_binding_forgets_its_own_constraints(run):
    assert run(policy(merge(LABEL), plural="secrets") + binding())[0] == PASS
    assert run(policy(merge(LABEL), plural="secrets"))[0] == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (policy(merge("Objekt{}")), "KV156"),
        (policy(merge(LABEL)) + binding("  paramRef: {name: x}"), "KV157"),
        (policy(merge(LABEL), more="  bogus: 1"), "KV012"),
        (policy(merge(LABEL)) + binding("  bogus: 1"), "KV012"),
        (policy(merge(LABEL), more="    objectSelector: {matchLabels: {a: b c}}"), "KV161"),
    ],
)
def test_what_cannot_be_used_is_told(run, text, code):
    assert [one.code for one in run(text)[2]] == [code]


def test_a_policy_is_evaluated_where_the_parameters_of_a_binding_are_not_given(run):
    lost = binding("  paramRef: {name: x}")
    assert run(policy(merge(LABEL)) + lost)[0] == PASS
    assert run(policy(merge("Object{data: {'a': params.data.a}}")) + lost)[0] == []


PARAM_KIND = "  paramKind: {apiVersion: v1, kind: ConfigMap}\n"
GIVEN = "  paramRef: {name: c, namespace: shop, parameterNotFoundAction: Deny}"
NULL = PARAM_KIND + "  matchConditions: [{name: none, expression: params == null}]"


def test_parameters_that_no_binding_gives_are_not_declared(run):
    rows, response, told = run(policy(merge(LABEL), more=NULL) + binding())
    (said,) = [one.unchecked for answer in response.responses for one in answer.silent]
    assert (rows, told) == ([], ())
    assert "undeclared reference to 'params'" in said[0]
    assert run(policy(merge(LABEL), more=PARAM_KIND) + binding())[0] == PASS


def test_conditions_see_no_parameters(run):
    assert run(policy(merge(LABEL), more=NULL) + binding(GIVEN), params=CONFIG)[0] == PASS
