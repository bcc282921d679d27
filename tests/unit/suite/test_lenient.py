"""The reference program's reading of rows."""

import pytest

OWNER = "policy: tidy, rule: owner, kind: ConfigMap"


def brief(rows):
    return [(row.rule, row.resource, row.result, row.reason) for row in rows]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        # A policy with a mutate rule answers first, and with nothing: the row has passed by then.
        (
            f"{OWNER}, resources: [default/owned], result: pass",
            [
                ("owner", "v1/ConfigMap/default/owned", "Pass", "Excluded"),
                ("owner", "v1/ConfigMap/default/owned", "Pass", "Ok"),
            ],
        ),
        (
            "policy: tidy, rule: nothing, resources: [owned], result: fail",
            [("nothing", "v1/ConfigMap/default/owned", "Pass", "Excluded")],
        ),
        (
            "policy: nobody, rule: owner, resources: [owned], result: pass",
            [("owner", "v1/ConfigMap/default/owned", "Fail", "Not found")],
        ),
        (
            "policy: anywhere/tidy, rule: mark, resources: [vault/key], result: pass",
            [("mark", "v1/Secret/vault/key", "Pass", "Ok")],
        ),
        (
            (
                "policy: tidy, rule: mark, resources: [vault/key], patchedResources: secret.yaml, "
                "result: fail"
            ),
            [],
        ),
        (
            (
                "policy: tidy, rule: mark, resources: [vault/key], patchedResources: secret.yaml, "
                "failOnMissingResources: true, result: fail"
            ),
            [("mark", "v1/Secret/vault/key", "Fail", "Resource error")],
        ),
        (
            (
                "policy: tidy, rule: mark, resources: [], result: pass, "
                "resourceSpecs: [{version: v1, namespace: vault, name: key}]"
            ),
            [("mark", "v1/Secret/vault/key", "Pass", "Ok")],
        ),
    ],
)
def test_rows_are_read_as_the_reference_reads_them(outcomes_of, row, expected):
    assert brief(outcomes_of(row, lenient=True)) == expected


def test_names_that_nobody_bears_stand_for_all_resources(outcomes_of):
    rows = outcomes_of("policy: tidy, rule: mark, resources: [nobody], result: pass", lenient=True)
    assert len({row.resource for row in rows}) == 7
    assert {row.reason for row in rows} == {"Ok", "Excluded"}


def test_a_name_means_every_kind_and_namespace(outcomes_of):
    rows = outcomes_of(f"{OWNER}, resources: [stray, nobody, a/b/c], result: fail", lenient=True)
    assert {row.resource for row in rows} == {
        "v1/ConfigMap/default/stray",
        "v1/Secret/default/stray",
    }


def test_an_operation_of_a_row_has_a_run_of_its_own(outcomes_of):
    policy = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: stay}
spec:
  background: false
  rules:
    - name: stay
      match: {any: [{resources: {kinds: [Secret], operations: [DELETE]}}]}
      validate: {failureAction: Audit, message: stay, deny: {}}
"""
    row = "policy: stay, rule: stay, resources: [key], result: fail"
    rows = outcomes_of(row, row + ", operation: DELETE", lenient=True, policy__yaml=policy)
    assert [row.reason for row in rows] == ["Excluded", "Ok"]


EXISTING = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: tidy}
spec:
  background: false
  rules:
    - name: mark
      match: {any: [{resources: {kinds: [Secret], names: [key]}}]}
      mutate:
        targets: [{apiVersion: v1, kind: ConfigMap, namespace: vault, name: nobody}]
        patchStrategicMerge: {metadata: {labels: {marked: "yes"}}}
"""
IN_CEL = """
apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {name: tidy}
spec:
  matchConstraints:
    resourceRules:
      - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [secrets]}
  matchConditions: [{name: key, expression: object.metadata.name == 'key'}]
  mutations:
    - patchType: JSONPatch
      jsonPatch: {expression: "[JSONPatch{op: 'remove', path: '/nothing'}]"}
"""
LABELLED_KEY = """
apiVersion: v1
kind: Secret
metadata: {name: key, namespace: vault, labels: {a: b}}
"""
KEY = "policy: tidy, rule: mark, resources: [vault/key], patchedResources"


@pytest.mark.parametrize("policy", [EXISTING, IN_CEL], ids=["existing objects", "in CEL"])
def test_an_error_leaves_the_object_to_compare_with_a_file(outcomes_of, policy):
    rows = outcomes_of(
        f"{KEY}: resources.yaml, result: error",
        f"{KEY}: resources.yaml, result: skip",
        f"{KEY}: key.yaml, result: error",
        lenient=True,
        policy__yaml=policy,
        key__yaml=LABELLED_KEY,
    )
    assert [row.reason for row in rows] == ["Ok", "Want skip, got error", "Resource diff"]


def test_rows_of_an_invalid_policy_are_skipped(manifest_of):
    from kyvsim.api import suite  # noqa: PLC0415 — beside its only use

    bodyless = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: tidy}
spec:
  rules:
    - name: none
      match: {any: [{resources: {kinds: [Secret]}}]}
"""
    file = manifest_of(
        ["policy: tidy, rule: none, resources: [key], result: pass"], policy__yaml=bodyless
    )
    (lenient,) = suite.run_file(file, suite.Reading(lenient=True))
    assert [(row.result, row.reason) for row in lenient.rows] == [("Skip", "Invalid Policy")]
    assert "No operation defined" in lenient.rows[0].message
    (strict,) = suite.run_file(file, suite.Reading())
    assert [(row.result, row.reason) for row in strict.rows] == [("Fail", "Invalid policy")]
