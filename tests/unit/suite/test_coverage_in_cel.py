"""What tests reach in policies in CEL."""

import pytest

from kyvsim.api import suite
from kyvsim.kubernetes.objects import path_text

RESOURCES = """
apiVersion: v1
kind: Pod
metadata: {name: a, labels: {owner: x}}
---
apiVersion: v1
kind: Pod
metadata: {name: b}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec: {template: {metadata: {labels: {owner: x}}}}
"""
PODS = '[{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]'
OWNER = "object.metadata.?labels.?owner.orValue('')"
EVERY = "policy: p, result: pass, resources: [a, b]"


def policy(kind, spec, api_version="policies.kyverno.io/v1", constraints=PODS):
    return (
        f"apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: p}}\n"
        f"spec:\n  matchConstraints: {{resourceRules: {constraints}}}\n{spec}"
    )


@pytest.fixture
def reached(manifest_of):
    """Return the outcomes of each point, by kind and the way from the specification on."""

    def run(text, *rows, extra="", resources=RESOURCES, **files):
        files = {"policy.yaml": text, "resources.yaml": resources, **files}
        file = manifest_of(rows or (EVERY,), extra, **files)
        (found,) = suite.run_file(file, suite.Reading(coverage=True))
        (plain,) = suite.run_file(file, suite.Reading())
        assert found.rows == plain.rows
        # Objects that are cut short are ones that an API server refuses (KV233).
        assert [str(one) for one in found.diagnostics if one.code != "KV233"] == []
        return {
            (point.kind.value, path_text(point.path).removeprefix("spec.")): dict(point.outcomes)
            for point in found.points
        }

    return run


VALIDATING = f"""\
  matchConditions: [{{name: named, expression: object.metadata.name != 'b'}}]
  variables:
  - {{name: owner, expression: "{OWNER}"}}
  - {{name: unused, expression: "1"}}
  validations:
  - {{expression: variables.owner == 'y', messageExpression: "'no: ' + variables.owner"}}
  - {{expression: variables.owner == 'z'}}
  auditAnnotations: [{{key: k, valueExpression: string(variables.owner)}}]
"""


def test_conditions_variables_validations_and_messages_are_points(reached):
    points = reached(policy("ValidatingPolicy", VALIDATING))
    assert points == {
        ("rule", "spec"): {"passed": 0, "failed": 1},
        ("variant", "spec"): {"as written": 1, "cronjobs": 0, "defaults": 0},
        ("condition", "matchConditions[0].expression"): {"true": 1, "false": 1},
        ("expression", "variables[0].expression"): {"evaluated": 1},
        ("expression", "variables[1].expression"): {"evaluated": 0},
        ("condition", "validations[0].expression"): {"true": 0, "false": 1},
        ("expression", "validations[0].messageExpression"): {"evaluated": 1},
        ("condition", "validations[1].expression"): {"true": 0, "false": 0},
        ("expression", "auditAnnotations[0].valueExpression"): {"evaluated": 1},
    }


def test_variants_for_controllers_count_at_the_places_of_their_policy(reached):
    spec = f"  validations: [{{expression: \"{OWNER} == 'x'\"}}]\n"
    points = reached(policy("ValidatingPolicy", spec), "policy: p, result: pass, resources: [d]")
    assert points["condition", "validations[0].expression"] == {"true": 1, "false": 0}
    assert points["variant", "spec"] == {"as written": 0, "cronjobs": 0, "defaults": 1}


def test_only_what_rows_are_about_counts(reached):
    spec = "  validations: [{expression: object.metadata.name == 'a'}]\n"
    points = reached(policy("ValidatingPolicy", spec), "policy: p, result: pass, resources: [a]")
    assert points["condition", "validations[0].expression"] == {"true": 1, "false": 0}


MUTATION = "Object{metadata: Object.metadata{labels: {'a': 'b'}}}"


@pytest.mark.parametrize(
    ("kind", "api_version"),
    [
        ("MutatingPolicy", "policies.kyverno.io/v1"),
        ("MutatingAdmissionPolicy", "admissionregistration.k8s.io/v1alpha1"),
    ],
)
def test_mutations_are_points(reached, kind, api_version):
    spec = (
        "  matchConditions: [{name: named, expression: object.metadata.name == 'a'}]\n"
        f"  mutations: [{{patchType: ApplyConfiguration, "
        f'applyConfiguration: {{expression: "{MUTATION}"}}}}]\n'
    )
    if kind == "MutatingPolicy":
        spec = f"  autogen: {{podControllers: {{controllers: []}}}}\n{spec}"
    assert reached(policy(kind, spec, api_version)) == {
        ("rule", "spec"): {"applied": 1},
        ("condition", "matchConditions[0].expression"): {"true": 1, "false": 1},
        ("expression", "mutations[0].applyConfiguration.expression"): {"evaluated": 1},
    }


def test_what_generates_is_a_point(reached):
    made = "[{'apiVersion': dyn('v1'), 'kind': dyn('Secret'), 'metadata': dyn({'name': 's'})}]"
    template = "'{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: x}}'"
    spec = (
        f"  generate:\n  - {{expression: \"generator.Apply('x', {made})\"}}\n"
        f"  - {{template: {{value: {template}}}}}\n"
    )
    assert reached(policy("GeneratingPolicy", spec)) == {
        ("rule", "spec"): {"applied": 2},
        ("expression", "generate[0].expression"): {"evaluated": 2},
        ("expression", "generate[1].template.value"): {"evaluated": 2},
    }


def test_conditions_of_what_deletes_are_points(reached):
    spec = (
        '  schedule: "* * * * *"\n'
        "  conditions: [{name: named, expression: object.metadata.name == 'a'}]\n"
    )
    assert reached(policy("DeletingPolicy", spec)) == {
        ("rule", "spec"): {"applied": 1},
        ("condition", "conditions[0].expression"): {"true": 1, "false": 1},
    }


def test_admission_policies_of_kubernetes_have_points(reached):
    spec = (
        "  variables: [{name: named, expression: object.metadata.name}]\n"
        "  validations: [{expression: variables.named == 'a'}]\n"
    )
    version = "admissionregistration.k8s.io/v1"
    assert reached(policy("ValidatingAdmissionPolicy", spec, version)) == {
        ("rule", "spec"): {"passed": 1, "failed": 1},
        ("expression", "variables[0].expression"): {"evaluated": 2},
        ("condition", "validations[0].expression"): {"true": 1, "false": 1},
    }


def test_requests_reach_what_decides_on_them(reached):
    spec = (
        "  evaluation: {mode: HTTP}\n  validations:\n"
        "  - {expression: \"object.attributes.path == '/' ? http.Denied('x').Response() : null\"}\n"
        "  - {expression: http.Allowed().Response()}\n"
    )
    points = reached(
        policy("ValidatingPolicy", spec),
        "policy: p, result: fail, resources: [r.json]",
        extra="httpPayloads: [r.json]\n",
        **{"r.json": '{"attributes": {"path": "/"}}'},
    )
    assert points == {
        ("rule", "spec"): {"passed": 0, "failed": 1},
        ("expression", "validations[0].expression"): {"evaluated": 1},
        ("expression", "validations[1].expression"): {"evaluated": 0},
    }


def test_conditions_of_exceptions_are_no_points_of_the_policy(reached):
    exception = (
        "apiVersion: policies.kyverno.io/v1\nkind: PolicyException\nmetadata: {name: e}\n"
        "spec:\n  policyRefs: [{name: p, kind: ValidatingPolicy}]\n"
        "  matchConditions: [{name: named, expression: object.metadata.name == 'b'}]\n"
    )
    spec = "  validations: [{expression: object.metadata.name == 'a'}]\n"
    points = reached(
        policy("ValidatingPolicy", spec), extra="exceptions: [e.yaml]\n", **{"e.yaml": exception}
    )
    assert points["exception", "policyRefs[0]"] == {"applied": 1}
    assert ("condition", "matchConditions[0].expression") not in points
    assert points["condition", "validations[0].expression"] == {"true": 1, "false": 0}
