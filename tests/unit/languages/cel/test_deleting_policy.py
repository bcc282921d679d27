"""DeletingPolicies over objects, as `apply` evaluates them."""

import pytest

from kyvsim.api import ApplyInputs, open_application
from kyvsim.model.request import PayloadMode

HEAD = """
apiVersion: policies.kyverno.io/v1
kind: %s
metadata: {name: p%s}
spec:
  schedule: "0 3 * * *"
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [DELETE], resources: [pods, namespaces]}
"""
CLUSTER = HEAD % ("DeletingPolicy", "")
NAMESPACED = HEAD % ("NamespacedDeletingPolicy", ", namespace: shop")
POD = """
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, labels: {app: web}}
spec: {containers: [{name: web, image: nginx}]}
"""
NAMESPACE = """
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {team: a}}
"""
EXCEPTION = """
apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {name: keep, namespace: shop}
spec:
  policyRefs: [{name: p, kind: DeletingPolicy}]
  images: [only-some]
  matchConditions: [{name: c, expression: "%s"}]
"""
VALUES = """
apiVersion: cli.kyverno.io/v1alpha1
kind: Values
globalValues: {request.operation: DELETE}
"""
MATCHED = ("p", "pass", "resource matched")
UNMATCHED = ("p", "fail", "resource did not match")


@pytest.fixture
def results(tmp_path):
    """Return what gives the results of a policy, and the policies' schedules."""

    def call(conditions, *resources, head=CLUSTER, exception="", **more):
        written = "".join(
            f'  - {{name: c{index}, expression: "{one}"}}\n' for index, one in enumerate(conditions)
        )
        policy = tmp_path / "policy.yaml"
        policy.write_text(f"{head}  variables: [{{name: v, expression: object.metadata.name}}]\n")
        policy.write_text(policy.read_text() + (f"  conditions:\n{written}" if written else ""))
        given = tmp_path / "resources.yaml"
        given.write_text("\n---\n".join(resources or (POD,)))
        if exception:
            (tmp_path / "exception.yaml").write_text(exception)
            more["exceptions"] = (str(tmp_path / "exception.yaml"),)
        inputs = ApplyInputs(policies=(str(policy),), resources=(str(given),), **more)
        found = open_application(inputs)
        assert found.diagnostics == ()
        return [
            result
            for response in found.responses
            for answer in response.responses
            for result in answer.results
        ], found.schedules

    return call


def rows(results):
    return [(one.rule.name, one.status.value, one.message) for one in results]


@pytest.mark.parametrize(
    ("conditions", "row"),
    [
        ((), MATCHED),
        (("true", "variables.v == 'web'"), MATCHED),
        (("true", "false"), UNMATCHED),
        (("object.zzz == 1", "false"), UNMATCHED),
        (("object.zzz == 1",), ("p", "error", "no such key: zzz")),
        (("request.operation == 'CREATE'",), ("p", "error", "no such attribute(s): request")),
        (("oldObject == null || true",), MATCHED),
        (("namespaceObject == null",), MATCHED),
    ],
)
def test_conditions(results, conditions, row):
    assert rows(results(conditions)[0]) == [row]


def test_objects_that_do_not_match_have_no_result(results):
    config_map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: shop}"
    assert results((), config_map)[0] == []


def test_the_object_is_there_whatever_is_done_with_it(results, tmp_path):
    values = tmp_path / "values.yaml"
    values.write_text(VALUES)
    found, _ = results(("object.metadata.name == 'web'",), values_file=str(values))
    assert rows(found) == [MATCHED]
    asked = "resource.get('v1', 'pods', 'shop', 'web').metadata.labels.app == 'web'"
    assert rows(results((asked,))[0]) == [MATCHED]


def test_a_namespace_is_its_own(results):
    found, _ = results(("namespaceObject.metadata.labels.team == 'a'",), NAMESPACE)
    assert rows(found) == [MATCHED]


def test_a_namespaced_policy_deletes_in_its_namespace_only(results):
    elsewhere = POD.replace("namespace: shop", "namespace: elsewhere")
    found, _ = results((), POD, elsewhere, NAMESPACE, head=NAMESPACED)
    assert rows(found) == [MATCHED]


def test_any_exception_that_matches_keeps_the_object(results):
    (kept,), _ = results((), exception=EXCEPTION % "variables.v == 'web'")
    assert rows([kept]) == [UNMATCHED]
    assert kept.note == "kept because of the policy exception shop/keep"
    (gone,), _ = results((), exception=EXCEPTION % "false")
    assert rows([gone]) == [MATCHED]


def test_its_schedule_is_told(results):
    _, schedules = results(())
    assert [(one.kind, one.policy, one.text) for one in schedules] == [
        ("DeletingPolicy", "p", "0 3 * * *")
    ]
    assert schedules[0].due


@pytest.mark.parametrize(
    ("condition", "row"),
    [
        ("object.age > 5", ("p", "pass", "json matched")),
        ("object.age > 9 || namespaceObject != null", ("p", "fail", "json did not match")),
    ],
)
def test_payloads_are_judged_whatever_they_are(tmp_path, condition, row):
    (tmp_path / "policy.yaml").write_text(
        f'{CLUSTER}  conditions: [{{name: c, expression: "{condition}"}}]\n'
    )
    (tmp_path / "payload.json").write_text('{"age": 7}')
    found = open_application(
        ApplyInputs(
            policies=(str(tmp_path / "policy.yaml"),),
            payloads=((PayloadMode.JSON, str(tmp_path / "payload.json")),),
        )
    )
    results = [one for said in found.responses for part in said.responses for one in part.results]
    assert rows(results) == [row]
