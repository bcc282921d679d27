"""How policies in CEL, Pod security and rules that change or create come to what they say."""

import pytest

from kyvsim.api import ApplyInputs
from kyvsim.api.explain import ExplainTarget, open_explanation
from kyvsim.load.files import Source
from kyvsim.model.diagnostic import Severity
from kyvsim.model.explanation import StepKind, deciding, places
from kyvsim.model.result import RuleStatus

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, labels: {app: x}}
spec:
  hostNetwork: true
  containers:
  - {name: main, image: "nginx:1.25", securityContext: {privileged: true}}
  - {name: side, image: busybox}
"""
PODS = "{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}"
VALIDATING = """\
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: p}
spec:
  matchConstraints: {resourceRules: [%s]}
  matchConditions:
  - {name: c, expression: "object.metadata.namespace %s 'shop'"}
  variables:
  - {name: images, expression: "object.spec.containers.map(c, c.image)"}
  validations:
  - expression: "has(object.spec) && variables.images.all(i, i.contains(':'))"
"""
NATIVE = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints: {resourceRules: [%s]}
  validations:
  - expression: "object.spec.containers.size() < 2"
"""
CLASSIC = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p, annotations: {pod-policies.kyverno.io/autogen-controllers: none}}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [Pod]}}]}
    %s
"""
CLEANUP = """\
apiVersion: kyverno.io/v2
kind: ClusterCleanupPolicy
metadata: {name: p}
spec:
  schedule: "0 0 * * *"
  match: {any: [{resources: {kinds: [Pod]}}]}
  conditions: {all: [{key: "{{ target.metadata.name }}", operator: Equals, value: x}]}
"""
SECURITY = "validate: {podSecurity: {level: baseline, version: latest}}"
CEL_RULE = 'validate: {cel: {expressions: [{expression: "object.spec.hostNetwork == false"}]}}'
CASES = {
    "a validation": (VALIDATING % (PODS, "=="), 'i.contains(":")', 11, 6),
    "a match condition": (
        VALIDATING % (PODS, "!="),
        "object.metadata.namespace != 'shop'",
        7,
        3,
    ),
    "a constraint": (
        VALIDATING % (PODS.replace("v1", "v2"), "=="),
        "apiVersions",
        5,
        1,
    ),
    "a policy of Kubernetes": (NATIVE % PODS, "object.spec.containers.size() < 2", 7, 6),
    "a rule in CEL": (CLASSIC % CEL_RULE, "object.spec.hostNetwork == false", 8, 5),
    "a control": (CLASSIC % SECURITY, "privileged", 8, 7),
    "a cleanup policy": (CLEANUP, "all[0]", 7, 3),
}


def explained(text, resource=POD):
    given = ApplyInputs((Source("policy.yaml", text),), (Source("pod.yaml", resource),))
    found = open_explanation(given, ExplainTarget())
    assert not any(one.severity is Severity.ERROR for one in found.run.diagnostics)
    (one,) = found.objects
    return one.rules


@pytest.mark.parametrize(("text", "last", "line", "seen"), CASES.values(), ids=CASES)
def test_what_decided_is_named_with_its_places(text, last, line, seen):
    (found,) = explained(text)
    step = deciding(found.steps)[-1]
    assert last in {step.name, step.text}
    assert [place.line for place in places(deciding(found.steps))] == [line, seen]


def test_parts_of_an_expression_tell_what_they_came_to():
    (found,) = explained(VALIDATING % (PODS, "=="))
    body = next(one for one in found.steps if one.kind is StepKind.BODY)
    validation = body.steps[-1]
    told = {one.text: one.answer for one in validation.steps}
    assert told == {
        "has(object.spec)": True,
        'variables.images.all(i, i.contains(":"))': False,
    }
    variable = next(one for one in inside(validation) if one.kind is StepKind.VARIABLE)
    assert (variable.name, variable.found.data) == ("variables[0]", ["nginx:1.25", "busybox"])


def test_parts_of_an_expression_stand_where_they_are_written():
    text = VALIDATING % (PODS, "==")
    whole = "  - expression: |\n      has(object.spec) &&\n        variables.images.all(i,\n"
    block = f"{text[: text.rindex('  - expression')]}{whole}          i.contains(':'))\n"
    (found,) = explained(block)
    lines = block.splitlines()
    placed = {
        one.text: lines[one.place.line - 1][one.place.column - 1 :]
        for one in inside(found.steps[-1])
        if one.kind is StepKind.EXPRESSION and not one.name
    }
    starts = {
        "has(object.spec)": "has(object.spec) &&",
        'variables.images.all(i, i.contains(":"))': "variables.images.all(i,",
        'i.contains(":")': "i.contains(':'))",
        "variables.images": "variables.images.all(i,",
        "object.spec.containers": "object.spec.containers.map(",
        "c.image": 'c.image)"}',
    }
    told = {part: placed[part][: len(start)] for part, start in starts.items()}
    assert told == starts


def inside(step):
    for one in step.steps:
        yield one
        yield from inside(one)


def test_each_control_is_told_with_the_fields_that_it_forbids():
    (found,) = explained(CLASSIC % SECURITY)
    (controls,) = found.steps[-1].steps
    refused = {
        one.name: [each.name for each in one.steps] for one in controls.steps if not one.answer
    }
    assert refused == {
        "hostNamespaces": ["spec.hostNetwork"],
        "privileged": ["spec.containers[0].securityContext.privileged"],
    }
    assert len(controls.steps) == 12


MERGE = "mutate: {patchStrategicMerge: {metadata: {labels: {+(tier): '{{ request.operation }}'}}}}"


def test_a_change_is_told_with_the_patch_as_it_was_filled():
    (found,) = explained(CLASSIC % MERGE)
    body = found.steps[-1]
    filled, change = body.steps
    assert body.answer is RuleStatus.PASS
    assert filled.found.data["patchStrategicMerge"]["metadata"]["labels"] == {"+(tier)": "CREATE"}
    assert change.found.data["metadata"]["labels"] == {"app": "x"}
    assert change.wanted.data["metadata"]["labels"] == {"app": "x", "tier": "CREATE"}


GENERATE = (
    "generate: {apiVersion: v1, kind: ConfigMap, name: '{{ request.object.metadata.name }}',"
    " namespace: shop, data: {data: {a: b}}}"
)


def test_what_would_be_created_is_told():
    (found,) = explained(CLASSIC % GENERATE)
    filled, made = found.steps[-1].steps
    assert filled.found.data["name"] == "web"
    assert (made.kind, made.found.data["metadata"]["name"]) == (StepKind.GENERATED, "web")


VERIFY = (
    "verifyImages: [{imageReferences: ['*'], mutateDigest: false, verifyDigest: false,"
    " required: false, attestors: [{entries: [{keys: {publicKeys: abc}}]}]}]"
)


def test_each_image_is_told():
    rules = explained(CLASSIC % VERIFY)
    images = [
        one
        for rule in rules
        for step in rule.steps
        for one in step.steps
        if one.kind is StepKind.IMAGE
    ]
    assert [one.name for one in images] == [
        "docker.io/nginx:1.25",
        "docker.io/busybox:latest",
    ]


MUTATING = """\
apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {name: p}
spec:
  matchConstraints: {resourceRules: [%s]}
  mutations:
  - patchType: %s
    %s:
      expression: |
        %s
"""


@pytest.mark.parametrize(
    ("way", "expression", "part"),
    [
        (
            "jsonPatch",
            '[JSONPatch{op: "remove", path: "/spec/a"}, JSONPatch{op: "remove", path: "/spec/b"}]',
            "/spec/a",
        ),
        ("jsonPatch", '[JSONPatch{op: "multiply", path: "/spec/a", value: "a"}]', "multiply"),
        ("applyConfiguration", "Object{spec: Object.spec{hostNetwrk: true}}", "hostNetwrk"),
    ],
)
def test_an_error_of_a_mutation_has_its_place_in_the_expression(way, expression, part):
    patch_type = way[0].upper() + way[1:] if way == "applyConfiguration" else "JSONPatch"
    (found,) = explained(MUTATING % (PODS, patch_type, way, expression))
    place, _ = places(deciding(found.steps))
    assert (place.line, place.column) == (10, 9 + expression.index(part))


WORKLOAD = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: js, namespace: shop}
spec:
  jobs:
  - name: good
    spec:
      containers:
      - {name: a, image: "x:1"}
  - name: bad
    spec:
      containers:
      - {name: a, image: x}
"""


def _every(steps):
    return [inner for step in steps for inner in (step, *_every(step.steps))]


CONTROLLERS = "autogen: {podControllers: {controllers: [jobsets.v1alpha2.jobset.x-k8s.io]}}"


def test_a_pod_template_in_a_custom_workload_is_a_step_with_its_fields():
    policy = VALIDATING.replace("spec:\n", f"spec:\n  {CONTROLLERS}\n", 1) % (PODS, "==")
    policy = policy.replace("variables.images.all(i, i", "object.spec.containers.all(i, i.image")
    results = (one for one in explained(policy, WORKLOAD) if one.results)
    way = deciding(next(results).steps)
    (template,) = (one for one in way if one.kind is StepKind.TEMPLATE)
    assert template.name == "spec.jobs[1]"
    assert template.path == ("spec", "jobs", 1)
    assert ("spec", "jobs", 1, "spec", "containers") in [one.path for one in _every(way)]
    assert places(way)[1].line == 12
