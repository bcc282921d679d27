"""ValidatingPolicies over objects, as `apply` evaluates them."""

import pytest

from kyvsim.api import ApplyInputs, open_application

POD = """
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, labels: {app: web}}
spec: {containers: [{name: web, image: "registry.example.com/web:1"}]}
"""
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
"""
HEAD = """
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}
"""


@pytest.fixture
def run(tmp_path):
    """Return what gives (rule, status, message) of a policy's results, and the diagnostics."""

    def call(spec, *resources, head=HEAD, **more):
        policy = tmp_path / "policy.yaml"
        policy.write_text(head + spec)
        given = tmp_path / "resources.yaml"
        given.write_text("\n---\n".join(resources or (POD,)))
        inputs = ApplyInputs(policies=(str(policy),), resources=(str(given),))
        found = open_application(inputs._replace(**more))
        rows = [
            (result.rule.name, result.status.value, result.message)
            for response in found.responses
            for answer in response.responses
            for result in answer.results
        ]
        return rows, found.diagnostics

    return call


OUTCOMES = {
    "pass": ("  validations: [{expression: 'true'}]", ("", "pass", "success")),
    "message": (
        "  validations: [{expression: 'false', message: nope}]",
        ("", "fail", "nope"),
    ),
    "default message": (
        "  validations: [{expression: 'true'}, {expression: 'false'}]",
        ("", "fail", "CEL expression validation failed at index 1"),
    ),
    "message expression": (
        (
            "  variables: [{name: who, expression: object.metadata.name}]\n"
            "  validations: [{expression: 'false', messageExpression: variables.who + ' is bad'}]"
        ),
        ("", "fail", "web is bad"),
    ),
    "message expression that fails": (
        "  validations: [{expression: 'false', messageExpression: string(object.spec.zzz)}]",
        ("", "fail", "failed to evaluate message expression: no such key: zzz"),
    ),
    "error": (
        "  validations: [{expression: object.spec.zzz == 1}, {expression: 'false'}]",
        ("", "error", "error: no such key: zzz"),
    ),
    "failing variable": (
        (
            "  variables: [{name: bad, expression: object.spec.zzz}]\n"
            "  validations: [{expression: variables.bad == 1}]"
        ),
        ("", "error", "error: no such key: zzz"),
    ),
    "failing variable that nobody reads": (
        (
            "  variables: [{name: bad, expression: object.spec.zzz}]\n"
            "  validations: [{expression: 'true'}]"
        ),
        ("", "pass", "success"),
    ),
    "condition": (
        (
            "  matchConditions:\n"
            "  - {name: a, expression: 'false'}\n"
            "  - {name: b, expression: object.a == 1}\n"
            "  validations: [{expression: 'false'}]"
        ),
        ("", "skip", "skip"),
    ),
    "condition that fails": (
        (
            "  matchConditions: [{name: a, expression: object.a == 1}]\n"
            "  validations: [{expression: 'true'}]"
        ),
        ("evaluation", "error", "failed to load context: no such key: a"),
    ),
    "condition that fails and is ignored": (
        (
            "  failurePolicy: Ignore\n"
            "  matchConditions: [{name: a, expression: object.a == 1}]\n"
            "  validations: [{expression: 'false'}]"
        ),
        ("", "skip", "skip"),
    ),
    "annotation that fails": (
        (
            "  auditAnnotations: [{key: k, valueExpression: string(object.zzz)}]\n"
            "  validations: [{expression: 'true'}]"
        ),
        (
            "evaluation",
            "error",
            "failed to load context: failed to evaluate auditAnnotation 'k': no such key: zzz",
        ),
    ),
    "annotation that fails after a failure": (
        (
            "  auditAnnotations: [{key: k, valueExpression: string(object.zzz)}]\n"
            "  validations: [{expression: 'false'}]"
        ),
        ("", "error", "error: failed to evaluate auditAnnotation 'k': no such key: zzz"),
    ),
}


@pytest.mark.parametrize(("spec", "row"), OUTCOMES.values(), ids=OUTCOMES)
def test_outcomes(run, spec, row):
    assert run(spec) == ([row], ())


def test_request_and_old_object_of_a_creation(run):
    spec = (
        "  validations:\n"
        "  - expression: request.operation == 'CREATE' && oldObject == {} &&"
        " request.resource.resource == 'pods' && request.namespace == 'shop' &&"
        " request.object.metadata.name == object.metadata.name\n"
    )
    assert run(spec)[0] == [("", "pass", "success")]


def test_the_namespace_is_one_that_is_given(run):
    spec = "  validations: [{expression: namespaceObject.metadata.labels.team == 'a'}]"
    namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {team: a}}}"
    assert run(spec, POD, namespace)[0] == [("", "pass", "success")]
    assert run(spec)[0] == [("", "error", "error: no such key: metadata")]


def test_context_data_answers_what_no_given_object_does(run, tmp_path):
    context = tmp_path / "context.yaml"
    context.write_text(
        "{apiVersion: cli.kyverno.io/v1alpha1, kind: Context, metadata: {name: c}, spec: {"
        "resources: [{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop},"
        " data: {key: x}}], images: [{image: 'registry.example.com/web:1', tag: told}]}}"
    )
    spec = (
        "  validations:\n"
        "  - expression: resource.get('v1', 'configmaps', 'shop', 'c').data.key == 'x' &&"
        " image.getMetadata(object.spec.containers[0].image).tag == 'told'\n"
    )
    assert run(spec, context_file=str(context)) == ([("", "pass", "success")], ())
    assert run(spec)[0][0][1] == "error"


def test_a_policy_on_pods_is_derived_for_their_controllers(run):
    spec = (
        "  validations: [{expression: 'object.spec.containers.all(c, c.image.contains(\":\"))',"
        " message: object.spec.containers needs tags}]"
    )
    rows, _ = run(spec, POD, DEPLOYMENT)
    assert rows == [
        ("", "pass", "success"),
        ("", "fail", "object.spec.template.spec.containers needs tags"),
    ]


def test_controllers_can_be_chosen(run):
    spec = (
        "  autogen: {podControllers: {controllers: [cronjobs]}}\n"
        "  validations: [{expression: 'false'}]"
    )
    assert run(spec, DEPLOYMENT)[0] == []


def test_a_namespaced_policy_looks_at_its_own_namespace(run):
    head = HEAD.replace("kind: Validating", "kind: NamespacedValidating").replace(
        "{name: p}", "{name: p, namespace: NS}"
    )
    spec = "  validations: [{expression: 'false'}]"
    assert len(run(spec, head=head.replace("NS", "shop"))[0]) == 1
    assert run(spec, head=head.replace("NS", "other"))[0] == []


def test_every_expression_that_is_wrong_is_told_with_its_place(run):
    spec = (
        "  variables:\n"
        "  - {name: a, expression: object.}\n"
        "  - {name: b, expression: variables.zzz}\n"
        "  validations:\n"
        "  - expression: object.spec\n"
        "  - expression: \"'a'\"\n"
    )
    rows, remarks = run(spec)
    assert rows == []
    assert {one.code for one in remarks} == {"KV150"}
    assert [one.location.line for one in remarks] == [10, 11, 13, 14]
    assert "undefined field 'zzz'" in remarks[1].message
