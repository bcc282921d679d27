"""The strict reading of rows."""

import pytest

OWNER = "policy: tidy, rule: owner, kind: ConfigMap"


def brief(rows):
    return [(row.resource, row.result, row.reason, row.skip) for row in rows]


def test_rows_that_ran_are_compared_with_their_results(outcomes_of):
    rows = outcomes_of(
        f"{OWNER}, resources: [owned], result: pass",
        f"{OWNER}, resources: [stray], result: pass",
    )
    assert brief(rows) == [
        ("v1/ConfigMap/default/owned", "Pass", "Ok", ""),
        ("v1/ConfigMap/default/stray", "Fail", "Want pass, got fail", ""),
    ]
    assert rows[0].location is None
    assert str(rows[1].location) == "kyverno-test.yaml:8:5"


@pytest.mark.parametrize(
    ("row", "reason", "message"),
    [
        (
            "policy: tidi, rule: owner, resources: [owned], result: pass",
            "Policy not found",
            "no policy is named `tidi`: did you mean `tidy`?",
        ),
        (
            "policy: other/tidy, rule: owner, resources: [owned], result: pass",
            "Policy not found",
            "no policy is named `other/tidy`: did you mean `tidy`?",
        ),
        (
            "policy: tidy, rule: owners, resources: [owned], result: pass",
            "Rule not found",
            "policy `tidy` has no rule `owners`: did you mean `owner`?",
        ),
        (
            "policy: tidy, rule: owner, resources: [ownd], result: pass",
            "Resource not found",
            "no resource is named `ownd`: did you mean `owned`?",
        ),
        (
            "policy: tidy, rule: owner, resources: [vault/owned], result: skip",
            "Resource not found",
            "no resource is named `vault/owned`: did you mean `default/owned`?",
        ),
        (
            "policy: tidy, rule: mark, resources: [lab/certificate], kind: Secret, result: pass",
            "Resource not found",
            (
                "no resource is named `lab/certificate`: there are `default/stray`, `vault/key` "
                "of kind Secret"
            ),
        ),
        (
            "policy: tidy, rule: owner, resources: [free-one], result: fail",
            "Never ran",
            "the rule's exclude block excludes this resource",
        ),
        (
            "policy: tidy, rule: owner, resources: [shop], result: pass",
            "Never ran",
            "the rule does not match this resource",
        ),
        (
            (
                "policy: tidy, rule: mark, resources: [vault/key], patchedResources: secret.yaml, "
                "result: pass"
            ),
            "Resource error",
            "resource with name key not found in manifest",
        ),
    ],
)
def test_rows_that_never_ran_fail(outcomes_of, row, reason, message):
    (found,) = outcomes_of(row)
    assert (found.result, found.reason, found.message) == ("Fail", reason, message)
    assert found.location.line == 7


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        ("policy: tidy, rule: owner, resources: [free-one], result: skip", "excluded"),
        ("policy: tidy, rule: owner, resources: [shop], result: skip", "no match"),
        ("policy: tidy, rule: owner, resources: [exempt], result: skip", "precondition"),
        ("policy: tidy, rule: items, resources: [owned], result: skip", "nothing to check"),
    ],
)
def test_a_skip_says_its_kind(outcomes_of, row, kind):
    (found,) = outcomes_of(row)
    assert (found.result, found.skip) == ("Pass", kind)


def test_an_expected_skip_fails_where_the_rule_ran(outcomes_of):
    (found,) = outcomes_of(f"{OWNER}, resources: [owned], result: skip")
    assert (found.result, found.reason) == ("Fail", "Want skip, got pass")


def test_an_expected_skip_that_fails_says_that_nothing_skips_it(outcomes_of):
    (found,) = outcomes_of(f"{OWNER}, resources: [stray], result: skip")
    assert found.reason == "Want skip, got fail"
    assert "no exception of the files under `exceptions` in the manifest applies" in found.message


def test_an_exception_is_a_kind_of_skip(outcomes_of):
    exception = """
apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: let, namespace: default}
spec:
  exceptions: [{policyName: tidy, ruleNames: [owner]}]
  match: {any: [{resources: {kinds: [ConfigMap], names: [stray]}}]}
"""
    (found,) = outcomes_of(
        f"{OWNER}, resources: [stray], result: skip",
        extra="exceptions: [let.yaml]\n",
        let__yaml=exception,
    )
    assert (found.result, found.skip) == ("Pass", "exception")


def test_of_several_resources_with_one_name_those_of_the_kind_are_meant(outcomes_of):
    rows = outcomes_of(f"{OWNER}, resources: [stray], result: fail")
    assert brief(rows) == [("v1/ConfigMap/default/stray", "Pass", "Ok", "")]


def test_a_row_without_resources_means_those_that_the_rule_has_results_for(outcomes_of):
    rows = outcomes_of("policy: tidy, rule: mark, result: pass")
    assert [row.resource for row in rows] == ["v1/Secret/default/stray", "v1/Secret/vault/key"]
    (never,) = outcomes_of(
        "policy: tidy, rule: beside, result: pass",
        resources__yaml="apiVersion: v1\nkind: Secret\nmetadata: {name: one}\n",
    )
    assert (never.result, never.reason) == ("Fail", "Never ran")


@pytest.mark.parametrize(
    ("file", "result", "reason"),
    [
        ("secret.yaml", "Pass", "Ok"),
        ("other.yaml", "Fail", "Resource diff"),
        ("absent.yaml", "Fail", "Resource error"),
        (".", "Fail", "Resource error"),
        ("sec*.yaml", "Fail", "Resource error"),
    ],
)
def test_patched_resources_are_compared(outcomes_of, file, result, reason):
    other = "apiVersion: v1\nkind: Secret\nmetadata: {name: stray, labels: {marked: no}}\n"
    (found,) = outcomes_of(
        f"policy: tidy, rule: mark, kind: Secret, resources: [stray], patchedResources: {file}, "
        "result: pass",
        other__yaml=other,
    )
    assert (found.result, found.reason) == (result, reason)
    assert (found.difference is not None) == (reason == "Resource diff")


def test_generated_resources_are_compared_and_each_file_is_asked_for(outcomes_of):
    row = "policy: tidy, rule: beside, resources: [shop], result: pass, "
    assert brief(outcomes_of(row + "generatedResource: beside.yaml")) == [
        ("/beside", "Pass", "Ok", "")
    ]
    assert brief(outcomes_of(row + "generatedResources: [secret.yaml, beside.yaml]")) == [
        ("/beside", "Pass", "Ok", ""),
        ("", "Fail", "Nothing generated", ""),
    ]


def test_a_rule_that_generates_nothing_does_not_pass_for_an_expected_object(outcomes_of):
    policy = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: copy}
spec:
  rules:
    - name: copy
      match: {any: [{resources: {kinds: [Namespace]}}]}
      generate:
        apiVersion: v1
        kind: Secret
        name: copy
        namespace: "{{ request.object.metadata.name }}"
        clone: {namespace: default, name: source}
"""
    row = "policy: copy, rule: copy, resources: [shop], result: pass"
    (without,) = outcomes_of(row, policy__yaml=policy)
    assert (without.result, without.reason) == ("Pass", "Ok")
    (expected,) = outcomes_of(row + ", generatedResource: beside.yaml", policy__yaml=policy)
    assert (expected.result, expected.reason) == ("Fail", "Nothing generated")
    source = "apiVersion: v1\nkind: Secret\nmetadata: {name: source}\n"
    copy = "apiVersion: v1\nkind: Secret\nmetadata: {name: copy, namespace: shop}\n"
    (cloned,) = outcomes_of(
        row + ", cloneSourceResource: source.yaml, generatedResource: copy.yaml",
        policy__yaml=policy,
        source__yaml=source,
        copy__yaml=copy,
    )
    assert (cloned.resource, cloned.result) == ("/copy", "Pass")


TARGETING = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: reach}
spec:
  rules:
    - name: out
      match: {any: [{resources: {kinds: [ConfigMap], names: [owned]}}]}
      mutate:
        targets: [{apiVersion: v1, kind: Secret, namespace: default}]
        patchStrategicMerge: {metadata: {labels: {marked: "yes"}}}
"""


@pytest.mark.parametrize(
    ("row", "resource", "result", "reason"),
    [
        ("resources: [aim]", "v1/Secret/default/aim", "Pass", "Ok"),
        ("resources: [owned]", "v1/ConfigMap/default/owned", "Pass", "Ok"),
        ("resources: [away]", "v1/Secret/vault/away", "Fail", "Never ran"),
        ("resources: [stray], kind: ConfigMap", "v1/ConfigMap/default/stray", "Fail", "Never ran"),
    ],
)
def test_targets_are_resources_of_rows_too(outcomes_of, row, resource, result, reason):
    targets = """
apiVersion: v1
kind: Secret
metadata: {name: aim}
---
apiVersion: v1
kind: Secret
metadata: {name: away, namespace: vault}
"""
    patched = "apiVersion: v1\nkind: Secret\nmetadata: {name: aim, labels: {marked: 'yes'}}\n"
    (found,) = outcomes_of(
        f"policy: reach, rule: out, {row}, patchedResources: aim.yaml, result: pass",
        extra="targetResources: [targets.yaml]\n",
        policy__yaml=TARGETING,
        targets__yaml=targets,
        aim__yaml=patched,
        resources__yaml="""
apiVersion: v1
kind: ConfigMap
metadata: {name: owned}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: stray}
""",
    )
    assert (found.resource, found.result, found.reason) == (resource, result, reason)


def test_resource_specs_name_resources_by_their_parts(outcomes_of):
    spec = "resourceSpecs: [{version: v1, kind: Secret, name: stray}]"
    rows = outcomes_of(f"policy: tidy, rule: mark, {spec}, result: pass")
    assert [row.resource for row in rows] == ["v1/Secret/default/stray"]
    (absent,) = outcomes_of(
        "policy: tidy, rule: mark, resourceSpecs: [{kind: Secret, name: x}], result: pass"
    )
    assert (absent.reason, absent.message) == (
        "Resource not found",
        "no resource matches `Secret/x`",
    )


def test_a_difference_has_the_note_of_the_result(outcomes_of):
    removing = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: tidy}
spec:
  rules:
  - name: mark
    match: {any: [{resources: {kinds: [Secret]}}]}
    mutate:
      patchesJson6902: |-
        - {op: remove, path: /metadata/finalizers/0}
        - {op: remove, path: /metadata/finalizers/1}
"""
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: one, finalizers: [%s]}\n"
    (found,) = outcomes_of(
        "policy: tidy, rule: mark, kind: Secret, resources: [one], patchedResources: other.yaml, "
        "result: pass",
        policy__yaml=removing,
        resources__yaml=secret % "a/a, b/b, c/c",
        other__yaml=secret % "c/c",
    )
    assert found.reason == "Resource diff"
    assert "`/metadata/finalizers/1` removes `c/c` instead of `b/b`" in found.message
