"""Rows of policies in CEL, in both readings."""

import pytest

from kyvsim.api.suite import Reading, SuiteRun, run_tests

POLICY = """
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}
  matchConditions: [{name: no-robots, expression: object.metadata.name != 'robot'}]
  validations: [{expression: "request.operation == 'UPDATE' || object.metadata.name != 'bad'"}]
"""
NARROW = POLICY.replace("matchConditions", "evaluation: {}\n  matchConditions").replace(
    "resources: [pods]}", "resources: [pods]}\n    namespaceSelector: {matchLabels: {a: b}}"
)
RESOURCES = """
apiVersion: v1
kind: Pod
metadata: {name: good}
---
apiVersion: v1
kind: Pod
metadata: {name: bad}
---
apiVersion: v1
kind: Pod
metadata: {name: robot}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: map}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec: {jobTemplate: {spec: {template: {metadata: {name: x}}}}}
"""
EXCEPTION = """
apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {name: e}
spec:
  policyRefs: [{name: p, kind: ValidatingPolicy}]
  matchConditions: [{name: bad, expression: object.metadata.name == 'bad'}]
"""


@pytest.fixture
def outcomes(tmp_path):
    """Return what gives (rule, resource, result, reason) of rows, and the codes of remarks."""

    def call(*rows, lenient=False, policy=POLICY, more="", **files):
        texts = {"policy": policy, "resources": RESOURCES, **files}
        for name, text in texts.items():
            (tmp_path / f"{name}.yaml").write_text(text)
        listed = "".join(f"- {{policy: p, {row}}}\n" for row in rows)
        (tmp_path / "kyverno-test.yaml").write_text(
            "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: t}\n"
            f"policies: [policy.yaml]\nresources: [resources.yaml]\n{more}\nresults:\n{listed}"
        )
        found = run_tests(SuiteRun((str(tmp_path),), options=Reading(lenient=lenient)))
        (manifest,) = found.manifests
        shown = [
            (row.rule, row.resource.rpartition("/")[2], row.result, row.reason)
            for row in manifest.rows
        ]
        return shown, [one.code for one in manifest.diagnostics if one.code != "KV233"]

    return call


@pytest.mark.parametrize("lenient", [False, True], ids=["strict", "lenient"])
@pytest.mark.parametrize("rule", ["", "rule: whatever, "])
def test_a_row_means_the_whole_policy_whatever_rule_it_names(outcomes, lenient, rule):
    rows, _ = outcomes(
        f"{rule}resources: [good], result: pass",
        f"{rule}resources: [bad], result: fail",
        f"{rule}resources: [robot], result: skip",
        f"{rule}resources: [bad], result: pass",
        f"{rule}resources: [bad], operation: UPDATE, result: pass",
        f"{rule}resources: [nightly], result: pass",
        lenient=lenient,
    )
    assert rows == [
        ("", "good", "Pass", "Ok"),
        ("", "bad", "Pass", "Ok"),
        ("", "robot", "Pass", "Ok"),
        ("", "bad", "Fail", "Want pass, got fail"),
        ("", "bad", "Pass", "Ok"),
        ("", "nightly", "Pass", "Ok"),
    ]


def test_what_was_left_alone_is_excluded_or_not_found(outcomes):
    """The variants for controllers have several rules: such a policy answers, with nothing."""
    row = "resources: [map], result: fail"
    assert outcomes(row, lenient=True)[0] == [("", "map", "Pass", "Excluded")]
    alone = POLICY.replace("spec:", "spec:\n  autogen: {podControllers: {controllers: []}}", 1)
    assert outcomes(row, lenient=True, policy=alone)[0] == [("", "map", "Fail", "Not found")]
    assert outcomes(row)[0] == [("", "map", "Fail", "Never ran")]


def test_each_variant_answers_by_itself(outcomes):
    row = "resources: [nightly], result: fail"
    rows, _ = outcomes(row, lenient=True, policy=NARROW)
    assert [one[3] for one in rows] == ["Excluded"]


def test_exceptions_and_context_data_are_taken(outcomes):
    row = "resources: [bad], result: skip"
    exception = "exceptions: [exception.yaml]"
    rows, _ = outcomes(row, more=exception, exception=EXCEPTION)
    assert rows == [("exception", "bad", "Pass", "Ok")]
    given = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}}"
    context = f"apiVersion: cli.kyverno.io/v1alpha1\nkind: Context\nspec: {{resources: [{given}]}}"
    reading = POLICY.replace(
        "\"request.operation == 'UPDATE' || object.metadata.name != 'bad'\"",
        "\"resource.get('v1', 'configmaps', 'shop', 'c').metadata.name == 'c'\"",
    )
    rows, codes = outcomes(
        "resources: [good], result: pass",
        policy=reading,
        more="context: context.yaml",
        context=context,
    )
    assert rows == [("", "good", "Pass", "Ok")]
    assert "KV045" not in codes


def test_a_policy_that_does_not_compile_is_no_pass(outcomes):
    broken = POLICY.replace("object.metadata.name != 'robot'", "objec.metadata")
    for lenient in (False, True):
        rows, codes = outcomes("resources: [good], result: pass", policy=broken, lenient=lenient)
        assert [one[2] for one in rows] == ["Fail"]
        assert "KV150" in codes


@pytest.mark.parametrize(
    ("flag", "told"),
    [
        ("isValidatingPolicy: true", []),
        ("isMutatingPolicy: true", ["KV166"]),
        ("isMutatingPolicy: false", []),
    ],
)
def test_a_flag_for_another_kind_is_told(outcomes, flag, told):
    rows, codes = outcomes(f"{flag}, resources: [good], result: pass")
    assert rows == [("", "good", "Pass", "Ok")]
    assert codes == told


MUTATING = """
apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {name: %s}
spec:
  matchConstraints:
    %s
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{data: {"%s": "1"}}'}
"""
LEFT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: map}\ndata: "
SELECTING = "objectSelector: {matchLabels: {a: b}}"


@pytest.mark.parametrize("lenient", [False, True], ids=["strict", "lenient"])
def test_mutating_policies_are_weighed_by_what_all_of_them_leave(outcomes, lenient):
    row = "resources: [map], result: pass, patchedResources"
    rows, _ = outcomes(
        f"{row}: one.yaml",
        f"{row}: both.yaml",
        lenient=lenient,
        policy=f"{MUTATING % ('p', '', 'one')}\n---{MUTATING % ('q', '', 'two')}",
        one=LEFT + '{one: "1"}',
        both=LEFT + '{one: "1", two: "1"}',
    )
    assert [row[2:] for row in rows] == [("Fail", "Resource diff"), ("Pass", "Ok")]


def test_a_mutating_policy_that_selects_answers_what_it_leaves_alone(outcomes):
    row = "resources: [map], result: fail"
    narrow, plain = (MUTATING % ("p", more, "one") for more in (SELECTING, ""))
    assert outcomes(row, lenient=True, policy=narrow)[0] == [("", "map", "Pass", "Excluded")]
    other = "resources: [good], result: fail"
    assert outcomes(other, lenient=True, policy=plain)[0] == [("", "good", "Fail", "Not found")]


DELETING = """
apiVersion: policies.kyverno.io/v1
kind: DeletingPolicy
metadata: {name: p}
spec:
  schedule: "* * * * *"
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
"""


@pytest.mark.parametrize("lenient", [False, True])
def test_what_deletes_answers_rows_without_an_operation_only(outcomes, lenient):
    rows, _ = outcomes(
        "resources: [good], result: pass",
        "resources: [good], result: pass, operation: CREATE",
        "resources: [good], result: skip, operation: UPDATE",
        lenient=lenient,
        policy=DELETING,
    )
    unrun = ("", "good", "Fail", "Not found" if lenient else "Never ran")
    assert rows == [("p", "good", "Pass", "Ok"), unrun, unrun]


JSON_POLICY = """
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: p}
spec:
  evaluation: {mode: JSON}
  validations: [{expression: object.a > 1}]
"""


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize("field", ["jsonPayloads: [good.yaml, bad.yaml]", "jsonPayload: bad.yaml"])
def test_rows_name_payloads_by_their_files(outcomes, lenient, field):
    files = {"good": "a: 2", "bad": "a: 1", "resources": ""}
    found, _ = outcomes(
        "result: fail, resources: [bad.yaml]",
        lenient=lenient,
        policy=JSON_POLICY,
        more=field,
        **files,
    )
    assert found == [("", "bad.yaml", "Pass", "Ok")]


def test_every_payload_is_meant_where_none_is_named(outcomes):
    found, _ = outcomes(
        "result: pass",
        policy=JSON_POLICY,
        more="jsonPayloads: [good.yaml, bad.yaml]",
        good="a: 2",
        bad="a: 1",
        resources="",
    )
    assert [row[1:3] for row in found] == [("good.yaml", "Pass"), ("bad.yaml", "Fail")]


ON_TARGETS = """
apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {name: NAME}
spec:
  evaluation: {mutateExisting: {enabled: true}}
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}
  targetMatchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [secrets]}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{data: {"NAME": "eA=="}}'}
"""


@pytest.mark.parametrize("lenient", [False, True])
def test_rows_on_a_target_are_about_what_all_policies_made_of_it(outcomes, lenient):
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"
    rows = (f"kind: Secret, resources: [s], result: pass, patchedResources: {one}" for one in "ab")
    found, codes = outcomes(
        *(f"{row}.yaml" for row in rows),
        lenient=lenient,
        policy=ON_TARGETS.replace("NAME", "p") + "---" + ON_TARGETS.replace("NAME", "q"),
        more="targetResources: [s.yaml]",
        s=secret,
        a=f"{secret}data: {{p: eA==, q: eA==}}\n",
        b=f"{secret}data: {{p: eA==}}\n",
    )
    each = 2 if lenient else 1  # one for each answer, as upstream counts
    assert [one[2] for one in found] == ["Pass"] * each + ["Fail"] * each
    assert codes == []


@pytest.mark.parametrize("lenient", [False, True])
def test_what_does_not_fit_a_trigger_is_for_targets_of_another_kind(outcomes, lenient):
    only_secrets = ON_TARGETS.replace('data: {"NAME": "eA=="}', 'stringData: {"a": "b"}')
    found, codes = outcomes(
        "kind: Secret, resources: [s], result: pass",
        "kind: ConfigMap, resources: [good], result: pass",
        lenient=lenient,
        policy=only_secrets.replace("NAME", "p"),
        more="targetResources: [s.yaml]",
        resources="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: good}\n",
        s="apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n",
    )
    assert [one[2] for one in found] == ["Pass", "Pass"]
    assert codes == []


ADMISSION = """
apiVersion: admissionregistration.k8s.io/v1alpha1
kind: MutatingAdmissionPolicy
metadata: {name: p}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: 'Object{metadata: Object.metadata{labels: {"team": params.data.team}}}'
"""
BINDING = """
apiVersion: admissionregistration.k8s.io/v1alpha1
kind: MutatingAdmissionPolicyBinding
metadata: {name: b}
spec: {policyName: p, paramRef: {REFERENCE, parameterNotFoundAction: Deny}}
"""
PARAMETER = (
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, labels: {a: b}}, data: {team: x}}"
)
PATCHED = "{apiVersion: v1, kind: Pod, metadata: {name: good, labels: {team: x}}}"


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize("result", ["pass", "skip"])
@pytest.mark.parametrize(
    ("reference", "passes"),
    [
        ("name: c", True),
        # What a selector finds is a list, which has no data: upstream says nothing of the failure.
        ("selector: {matchLabels: {a: b}}", False),
    ],
)
def test_mutating_admission_policies_take_parameters(outcomes, reference, passes, result, lenient):
    patched = ", patchedResources: patched.yaml" if result == "pass" else ""
    (row,), codes = outcomes(
        f"kind: Pod, resources: [good], result: {result}{patched}",
        lenient=lenient,
        policy=f"{ADMISSION}---{BINDING.replace('REFERENCE', reference)}",
        more="paramResources: [params.yaml]",
        params=PARAMETER,
        patched=PATCHED,
    )
    assert codes == []
    assert row[2] == ("Pass" if passes and result == "pass" else "Fail")
    if not passes:
        assert row[3] == ("Not found" if lenient else "Never ran")


ENVOY_POLICY = """
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: p}
spec:
  evaluation: {mode: Envoy}
  validations:
  - expression: "object.attributes.request.http.path == '/' ? envoy.Denied(401).Response() : null"
  - expression: envoy.Allowed().Response()
"""


@pytest.mark.parametrize("lenient", [False, True], ids=["strict", "lenient"])
@pytest.mark.parametrize("name", ["good.json", "./good.json"])
def test_rows_are_about_requests_by_their_paths(tmp_path, outcomes, lenient, name):
    for file, path in (("good.json", "/a"), ("bad.json", "/")):
        request = f'{{"attributes": {{"request": {{"http": {{"path": "{path}"}}}}}}}}'
        (tmp_path / file).write_text(request)
    rows, codes = outcomes(
        f"resources: [{name}], result: pass",
        f"resources: [{tmp_path}/bad.json], result: fail",
        f"resources: [{name}], result: fail",
        lenient=lenient,
        policy=ENVOY_POLICY,
        more="envoyPayloads: [./good.json, bad.json]",
    )
    assert rows == [
        ("p", "good.json", "Pass", "Ok"),
        ("p", "bad.json", "Pass", "Ok"),
        ("p", "good.json", "Fail", "Want fail, got pass"),
    ]
    assert codes == []


def test_a_request_that_cannot_be_used_is_told(tmp_path, outcomes):
    (tmp_path / "bad.json").write_text('{"attributes": {"method": "GET"}}')
    rows, codes = outcomes("result: fail", policy=ENVOY_POLICY, more="envoyPayloads: [bad.json]")
    assert "KV152" in codes
    assert {row[2] for row in rows} == {"Fail"}
