"""From paths to responses: what is counted, what is told, what is evaluated all the same."""

import pytest

from kyvsim.api import ApplyInputs, open_application

POLICY = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: %s}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate:
      message: "{{ request.namespace }}"
      deny: {conditions: {any: [{key: "{{ request.name || 'x' }}", operator: Equals, value: x}]}}
"""
POD = "{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: shop}}"
EXCEPTION = """
apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: x, namespace: ex}
spec:
  exceptions: [{policyName: p, ruleNames: [r]}]
  match: {any: [{resources: {kinds: [Pod]}}]}
"""
VALUES = """
apiVersion: cli.kyverno.io/v1alpha1
kind: Values
metadata: {name: v}
globalValues: {request.name: web}
"""
SCALED = """
apiVersion: cli.kyverno.io/v1alpha1
kind: Values
metadata: {name: v}
subresources:
- subresource: {name: pods/resize, kind: Resize, group: example.com, version: v1}
  parentResource: {name: pods, kind: Pod, group: "", version: v1}
"""


@pytest.fixture
def write(tmp_path):
    def one(name, *documents):
        path = tmp_path / name
        path.write_text("\n---\n".join(documents))
        return str(path)

    return one


@pytest.fixture
def inputs(write):
    return ApplyInputs((write("p.yaml", POLICY % "p"),), (write("r.yaml", POD % "web"),))


def heard(application):
    return [
        (response.trigger["metadata"]["name"], result.status.value, result.message)
        for response in application.responses
        for one in response.responses
        for result in one.results
    ]


def codes(application):
    return [remark.code for remark in application.diagnostics]


def test_every_resource_gets_a_response_in_input_order(write, inputs):
    resources = (write("r.yaml", POD % "b", POD % "a"), write("s.yaml", POD % "c"))
    found = open_application(inputs._replace(resources=resources))
    assert (found.resource_count, found.rule_count, found.exception_count) == (3, 3, 0)
    assert [name for name, *_ in heard(found)] == ["b", "a", "c"]


def test_a_response_knows_its_document(inputs):
    (response,) = open_application(inputs).responses
    assert response.document.file == inputs.resources[0]


def test_what_comes_by_standard_input(inputs):
    found = open_application(inputs._replace(resources=("-",)), (POD % "piped").encode())
    assert heard(found) == [("piped", "fail", "shop")]


def test_a_bad_policy_is_told_and_the_good_ones_go_on(write, inputs):
    bad = write("bad.yaml", (POLICY % "bad").replace("||", "|||"))
    found = open_application(inputs._replace(policies=(*inputs.policies, bad)))
    assert [policy.name for policy in found.policies] == ["p"]
    assert len(codes(found)) == 1
    assert len(heard(found)) == 1


UNIQUE = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: unique}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [HorizontalPodAutoscaler]}}]}
    context:
    - name: others
      apiCall:
        urlPath: /apis/autoscaling/v1/namespaces/{{ request.namespace }}/horizontalpodautoscalers
        jmesPath: items[].spec.scaleTargetRef.name
    validate:
      message: taken
      deny:
        conditions:
          any: [{key: "{{ request.object.spec.scaleTargetRef.name }}", operator: AnyIn,
                 value: "{{ others }}"}]
"""
SCALER = """{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler,
metadata: {name: %s, namespace: shop}, spec: {scaleTargetRef: {name: %s}}}"""


def test_a_policy_against_duplicates_denies_duplicates_and_nothing_else(write):
    resources = write("r.yaml", SCALER % ("a", "web"), SCALER % ("b", "web"), SCALER % ("c", "x"))
    found = heard(open_application(ApplyInputs((write("p.yaml", UNIQUE),), (resources,))))
    assert [(name, status) for name, status, _ in found] == [
        ("a", "fail"),
        ("b", "fail"),
        ("c", "pass"),
    ]


def test_values_and_settings_reach_the_rules(write, inputs):
    by_file = inputs._replace(values_file=write("v.yaml", VALUES))
    assert [status for _, status, _ in heard(open_application(by_file))] == ["pass"]
    by_setting = inputs._replace(set_values=("request.name=web",))
    assert [status for _, status, _ in heard(open_application(by_setting))] == ["pass"]


def test_exceptions_come_from_their_own_files_or_from_among_the_others(write, inputs):
    skipped = [("web", "skip", "rule is skipped due to policy exceptionsex/x")]
    own = inputs._replace(exceptions=(write("x.yaml", EXCEPTION),))
    found = open_application(own)
    assert (found.exception_count, heard(found)) == (1, skipped)
    with_policies = write("both.yaml", POLICY % "p", EXCEPTION)
    beside = inputs._replace(policies=(with_policies,))
    assert heard(open_application(beside)) == [("web", "fail", "shop")]
    assert heard(open_application(beside._replace(exceptions_within_policies=True))) == skipped
    with_resources = inputs._replace(resources=(write("r.yaml", POD % "web", EXCEPTION),))
    assert heard(open_application(with_resources)) == [("web", "fail", "shop")]
    assert (
        heard(open_application(with_resources._replace(exceptions_with_resources=True))) == skipped
    )


def test_a_mapped_subresource_is_sent_to_its_parent(write, inputs):
    resize = "{apiVersion: example.com/v1, kind: Resize, metadata: {name: web, namespace: shop}}"
    policy = (POLICY % "p").replace("kinds: [Pod]", "kinds: [Pod/resize]")
    mapped = inputs._replace(
        policies=(write("p.yaml", policy),),
        resources=(write("r.yaml", resize),),
        values_file=write("v.yaml", SCALED),
    )
    assert heard(open_application(mapped)) == [("web", "fail", "shop")]
    assert heard(open_application(mapped._replace(values_file=""))) == []


@pytest.mark.parametrize("field", ["values_file", "userinfo"])
@pytest.mark.parametrize("documents", [(), (VALUES, VALUES), ("{kind: Odd}",)])
def test_nothing_is_evaluated_with_a_file_that_every_verdict_depends_on(
    write, inputs, field, documents
):
    found = open_application(inputs._replace(**{field: write("f.yaml", *documents)}))
    assert codes(found)
    assert not found.applied
    assert list(found.responses) == []


def test_a_refused_exception_leaves_no_verdict_that_it_could_have_lifted(write, inputs):
    bad = write("e.yaml", "{apiVersion: kyverno.io/v2, kind: PolicyException, metadata: {name: e}}")
    found = open_application(inputs._replace(exceptions=(bad,)))
    assert "KV015" in codes(found)
    assert not found.applied
    assert list(found.responses) == []


def test_data_for_policies_that_are_not_evaluated_is_told(write, inputs):
    context = write("c.yaml", "{apiVersion: cli.kyverno.io/v1alpha1, kind: Context}")
    found = open_application(inputs._replace(context_file=context))
    assert [(one.code, one.severity.value) for one in found.diagnostics] == [("KV035", "warning")]
    assert len(heard(found)) == 1


DROPS = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: drops}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [Pod]}}]}
    mutate:
      patchesJson6902: |-
        - {op: test, path: /metadata/labels/a, value: b}
        - {op: %s, path: /metadata/labels/a}
"""


def test_an_error_of_the_second_run_is_a_finding(write):
    labelled = "{apiVersion: v1, kind: Pod, metadata: {name: web, labels: {a: b}}}"
    inputs = ApplyInputs(
        (write("p.yaml", DROPS % "remove"),), (write("r.yaml", labelled),), check_idempotent=True
    )
    (response,) = open_application(inputs).responses
    assert [one.status.value for one in response.responses[0].results] == ["pass"]
    (again,) = response.repeated
    assert [one.status.value for one in again.results] == ["error"]
    # What failed the first time is no news.
    (bare,) = open_application(inputs._replace(resources=(write("s.yaml", POD % "web"),))).responses
    assert bare.responses[0].results[0].status.value == "error"
    assert bare.repeated == ()
