"""ValidatingAdmissionPolicies over objects, as `apply` evaluates them."""

import json

import pytest

from kyvsim.api import ApplyInputs, open_application

# validating admission policy


DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {app: web}}
spec: {replicas: 3}
"""
PARAMETERS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: small, namespace: limits, labels: {size: s}}
data: {most: "1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: large, namespace: limits}
data: {most: "9"}
"""
UNMET = ("p", "skip", "match conditions aren't met")


def policy(*validations, more="", failure="Fail"):
    listed = "".join(f"  - {json.dumps(one)}\n" for one in validations)
    return f"""
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: p}}
spec:
  failurePolicy: {failure}
  matchConstraints:
    resourceRules:
    - {{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}}
{more}
  validations:
{listed}"""


def binding(more="", name="b", bound="p"):
    return f"""
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: {name}}}
spec:
  policyName: {bound}
  validationActions: [Deny]
{more}"""


@pytest.fixture
def run(tmp_path):
    """Return what gives (rule, status, message) of the results, properties, and diagnostics."""

    def call(policies, resource=DEPLOYMENT):
        paths = []
        for name, text in (("policy", policies), ("resource", resource), ("params", PARAMETERS)):
            path = tmp_path / f"{name}.yaml"
            path.write_text(text)
            paths.append((str(path),))
        found = open_application(ApplyInputs(paths[0], paths[1], parameters=paths[2]))
        results = [
            result
            for response in found.responses
            for answer in response.responses
            for result in answer.results
        ]
        rows = [(one.rule.name, one.status.value, one.message) for one in results]
        return rows, [dict(one.properties) for one in results], found.diagnostics

    return call


def expression(text, **more):
    return {"expression": text, **more}


NO_KEY = "expression 'object.spec.no == 1' resulted in error: no such key: no"
OUTCOMES = {
    "pass": ([expression("object.spec.replicas == 3.0")], ("p", "pass", "")),
    "nothing to validate": ([], ("p", "pass", "")),
    "denied": ([expression("false")], ("p", "fail", "failed expression: false")),
    "message": ([expression("false", message=" no ")], ("p", "fail", "no")),
    "computed message": (
        [expression("false", messageExpression="object.metadata.name + '!'")],
        ("p", "fail", "web!"),
    ),
    "cannot be evaluated": ([expression("object.spec.no == 1")], ("p", "error", NO_KEY)),
    "the first decides": (
        [expression("true"), expression("object.spec.no == 1"), expression("false")],
        ("p", "error", NO_KEY),
    ),
    "nobody asks": (
        [expression("request.userInfo.username == 'system:kyverno:background-scan'")],
        ("p", "pass", ""),
    ),
    "an object is created": (
        [expression("oldObject == null && request.operation == 'CREATE'")],
        ("p", "pass", ""),
    ),
}


@pytest.mark.parametrize(("validations", "row"), OUTCOMES.values(), ids=OUTCOMES)
@pytest.mark.parametrize("failure", ["Fail", "Ignore"])
def test_outcomes(run, validations, row, failure):
    assert run(policy(*validations, failure=failure))[0] == [row]


@pytest.mark.parametrize(
    ("text", "failure", "row"),
    [
        ("false", "Fail", UNMET),
        ("object.spec.no == 1", "Fail", ("p", "error", NO_KEY)),
        ("object.spec.no == 1", "Ignore", UNMET),
    ],
)
def test_match_conditions(run, text, failure, row):
    more = f"  matchConditions: [{{name: c, expression: {text!r}}}]"
    written = policy(expression("false"), more=more, failure=failure)
    assert run(written)[0] == [row]


def test_what_does_not_compile_is_told_and_an_error_of_every_object(run):
    rows, _, told = run(policy(expression("objec.spec == 1")))
    assert [row[:2] for row in rows] == [("p", "error")]
    assert rows[0][2].startswith("compilation error: ")
    assert [one.code for one in told if "undeclared reference" in one.message] == ["KV156"]


MATCHING = "  matchResources: {objectSelector: {matchLabels: {app: %s}}}"


def test_bindings_alone_say_what_is_matched_and_are_named(run):
    text = policy(expression("false", message="no"))
    assert run(text + binding(MATCHING % "other"))[0] == []
    rows, properties, _ = run(text + binding(MATCHING % "web"))
    assert rows == [("p", "fail", "no")]
    assert properties == [{"binding": "b"}]
    pod = DEPLOYMENT.replace("apps/v1", "v1").replace("Deployment", "Pod")
    assert run(text, pod)[0] == []
    assert run(text + binding(), pod)[0] == [("p", "fail", "no")]


MOST = expression("object.spec.replicas <= double(params.data.most)", message="too many")
KIND = "  paramKind: {apiVersion: v1, kind: ConfigMap}"


@pytest.mark.parametrize(
    ("reference", "row"),
    [
        ("name: large", ("p", "pass", "")),
        ("name: small, namespace: limits", ("p", "fail", "too many")),
    ],
)
def test_parameters_come_from_the_binding(run, reference, row):
    bound = binding(f"  paramRef: {{{reference}, parameterNotFoundAction: Deny}}")
    assert run(policy(MOST, more=KIND) + bound)[0] == [row]


def test_of_several_bindings_the_last_that_matches_counts(run):
    first, second = (
        binding(f"  paramRef: {{name: {name}}}", name=name) for name in ("small", "large")
    )
    assert run(policy(MOST, more=KIND) + first + second)[0] == [("p", "pass", "")]
    assert run(policy(MOST, more=KIND) + second + first)[0] == [("p", "fail", "too many")]


def test_without_parameters_they_are_null(run):
    assert run(policy(expression("params == null"), more=KIND))[0] == [("p", "pass", "")]
    lost = binding("  paramRef: {name: nowhere}")
    rows, _, told = run(policy(MOST, more=KIND) + lost)
    assert [row[1] for row in rows] == ["error"]
    assert "KV157" in [one.code for one in told]


def test_a_binding_for_no_policy_is_told(run):
    _, _, told = run(policy(expression("true")) + binding(bound="q"))
    (one,) = [one for one in told if one.code == "KV167"]
    assert "`q`, which was not passed (passed: `p`)" in one.message


UNREAD = "objectSelector: {matchExpressions: [{key: a, operator: In, values: []}]}"


def test_a_policy_with_a_selector_that_cannot_be_read_takes_nothing(run):
    more = f"    {UNREAD}"
    rows, _, told = run(policy(expression("false"), more=more))
    assert rows == []
    (one,) = [one for one in told if one.code == "KV161"]
    assert one.severity.value == "error"
    assert one.location.line == 10
    assert "values set can't be empty" in one.message


def test_a_binding_with_a_selector_that_cannot_be_read_takes_nothing(run):
    broken = binding(f"  matchResources: {{{UNREAD}}}")
    rows, _, told = run(policy(expression("false")) + broken)
    assert rows == []
    assert "KV161" in [one.code for one in told]
    rows, _, told = run(policy(expression("false")) + broken + binding(name="c"))
    assert [row[1] for row in rows] == ["fail"]
    assert "KV161" in [one.code for one in told]


def test_a_selector_of_parameters_that_cannot_be_read_is_told(run):
    broken = binding("  paramRef: {selector: {matchLabels: {a: b c}}}")
    assert "KV161" in [one.code for one in run(policy(MOST, more=KIND) + broken)[2]]


def test_what_only_the_binding_takes_is_noted(tmp_path):
    (tmp_path / "p.yaml").write_text(policy(expression("has(object.spec)")) + binding())
    pod = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {}\n"
    (tmp_path / "r.yaml").write_text(DEPLOYMENT + pod)
    given = ((str(tmp_path / name),) for name in ("p.yaml", "r.yaml"))
    notes = [
        (response.trigger["kind"], result.note)
        for response in open_application(ApplyInputs(*given)).responses
        for answer in response.responses
        for result in answer.results
    ]
    beyond = "a cluster does not evaluate the policy: its own `matchConstraints` do not match"
    assert notes == [("Deployment", ""), ("Pod", beyond)]


@pytest.mark.parametrize(
    ("name", "rows"), [("shop", [("p", "fail", "failed expression: false")]), ("other", [])]
)
def test_namespaces_have_the_label_of_their_name(run, name, rows):
    """Kyverno's command line gives them no labels, so that this policy is not asked there."""
    selector = f"{{matchLabels: {{kubernetes.io/metadata.name: {name}}}}}"
    more = f"    namespaceSelector: {selector}"
    assert run(policy(expression("false"), more=more))[0] == rows
    bound = f"  matchResources: {{namespaceSelector: {selector}}}"
    assert run(policy(expression("false")) + binding(bound))[0] == rows


# mutating admission policy


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


def policy_mutating_admission_policy(*mutations, more="", plural="configmaps", version="v1beta1"):
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


def binding_mutating_admission_policy(more="", name="b", bound="p"):
    return f"""
---
apiVersion: admissionregistration.k8s.io/v1beta1
kind: MutatingAdmissionPolicyBinding
metadata: {{name: {name}}}
spec:
  policyName: {bound}
{more}"""


@pytest.fixture
def run_mutating_admission_policy(tmp_path):
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
def test_mutations_are_done_in_order_each_on_what_the_last_left(
    run_mutating_admission_policy, version
):
    second = patch('[JSONPatch{op: "add", path: "/data/b", value: object.metadata.labels.x}]')
    rows, response, _ = run_mutating_admission_policy(
        policy_mutating_admission_policy(merge(LABEL), second, version=version)
    )
    assert rows == PASS
    assert response.object["metadata"]["labels"] == {"app": "web", "x": "y"}
    assert response.object["data"] == {"a": "1", "b": "y"}


def test_lists_are_replaced_whatever_their_keys(run_mutating_admission_policy):
    pod = """
apiVersion: v1
kind: Pod
metadata: {name: c, namespace: shop}
spec: {containers: [{name: a}, {name: b}]}
"""
    text = 'Object{spec: Object.spec{containers: [Object.spec.containers{name: "c"}]}}'
    rows, response, _ = run_mutating_admission_policy(
        policy_mutating_admission_policy(merge(text), plural="pods"), pod
    )
    assert rows == PASS
    assert response.object["spec"] == {"containers": [{"name": "c"}]}


def test_what_fails_has_no_result_and_is_told_beside_them(run_mutating_admission_policy):
    rows, response, _ = run_mutating_admission_policy(
        policy_mutating_admission_policy(merge(LABEL), merge('Object{data: {"b": object.zzz}}'))
    )
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
def test_conditions(run_mutating_admission_policy, condition, more, rows):
    text = json.dumps(condition if condition != "object.zzz" else "object.zzz == 1")
    written = f"  matchConditions: [{{name: c, expression: {text}}}]\n{more}"
    assert (
        run_mutating_admission_policy(policy_mutating_admission_policy(merge(LABEL), more=written))[
            0
        ]
        == rows
    )


def test_expressions_know_the_labels_of_the_namespace(run_mutating_admission_policy):
    text = "Object{metadata: Object.metadata{labels: namespaceObject.metadata.labels}}"
    rows, response, _ = run_mutating_admission_policy(policy_mutating_admission_policy(merge(text)))
    assert rows == PASS
    assert response.object["metadata"]["labels"] == {"app": "web", "stage": "test"}


STAGE = "  matchResources: {namespaceSelector: {matchLabels: {stage: %s}}}"


@pytest.mark.parametrize(
    ("bindings", "rows"),
    [
        (binding_mutating_admission_policy(), PASS),
        (binding_mutating_admission_policy(STAGE % "test"), PASS),
        (binding_mutating_admission_policy(STAGE % "live"), []),
        (
            binding_mutating_admission_policy(STAGE % "live")
            + binding_mutating_admission_policy(STAGE % "test", "c"),
            PASS,
        ),
        (binding_mutating_admission_policy(bound="q"), PASS),
    ],
)
def test_bindings_say_where_a_policy_counts(run_mutating_admission_policy, bindings, rows):
    assert (
        run_mutating_admission_policy(policy_mutating_admission_policy(merge(LABEL)) + bindings)[0]
        == rows
    )


def test_a_policy_with_a_binding_forgets_its_own_constraints(run_mutating_admission_policy):
    assert (
        run_mutating_admission_policy(
            policy_mutating_admission_policy(merge(LABEL), plural="secrets")
            + binding_mutating_admission_policy()
        )[0]
        == PASS
    )
    assert (
        run_mutating_admission_policy(
            policy_mutating_admission_policy(merge(LABEL), plural="secrets")
        )[0]
        == []
    )


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (policy_mutating_admission_policy(merge("Objekt{}")), "KV156"),
        (
            policy_mutating_admission_policy(merge(LABEL))
            + binding_mutating_admission_policy("  paramRef: {name: x}"),
            "KV157",
        ),
        (policy_mutating_admission_policy(merge(LABEL), more="  bogus: 1"), "KV012"),
        (
            policy_mutating_admission_policy(merge(LABEL))
            + binding_mutating_admission_policy("  bogus: 1"),
            "KV012",
        ),
        (
            policy_mutating_admission_policy(
                merge(LABEL), more="    objectSelector: {matchLabels: {a: b c}}"
            ),
            "KV161",
        ),
    ],
)
def test_what_cannot_be_used_is_told(run_mutating_admission_policy, text, code):
    assert [one.code for one in run_mutating_admission_policy(text)[2]] == [code]


def test_a_policy_is_evaluated_where_the_parameters_of_a_binding_are_not_given(
    run_mutating_admission_policy,
):
    lost = binding_mutating_admission_policy("  paramRef: {name: x}")
    assert (
        run_mutating_admission_policy(policy_mutating_admission_policy(merge(LABEL)) + lost)[0]
        == PASS
    )
    assert (
        run_mutating_admission_policy(
            policy_mutating_admission_policy(merge("Object{data: {'a': params.data.a}}")) + lost
        )[0]
        == []
    )


PARAM_KIND = "  paramKind: {apiVersion: v1, kind: ConfigMap}\n"
GIVEN = "  paramRef: {name: c, namespace: shop, parameterNotFoundAction: Deny}"
NULL = PARAM_KIND + "  matchConditions: [{name: none, expression: params == null}]"


def test_parameters_that_no_binding_gives_are_not_declared(run_mutating_admission_policy):
    rows, response, told = run_mutating_admission_policy(
        policy_mutating_admission_policy(merge(LABEL), more=NULL)
        + binding_mutating_admission_policy()
    )
    (said,) = [one.unchecked for answer in response.responses for one in answer.silent]
    assert (rows, told) == ([], ())
    assert "undeclared reference to 'params'" in said[0]
    assert (
        run_mutating_admission_policy(
            policy_mutating_admission_policy(merge(LABEL), more=PARAM_KIND)
            + binding_mutating_admission_policy()
        )[0]
        == PASS
    )


def test_conditions_see_no_parameters(run_mutating_admission_policy):
    assert (
        run_mutating_admission_policy(
            policy_mutating_admission_policy(merge(LABEL), more=NULL)
            + binding_mutating_admission_policy(GIVEN),
            params=CONFIG,
        )[0]
        == PASS
    )
