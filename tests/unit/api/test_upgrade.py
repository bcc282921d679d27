"""What `upgrade` finds between two releases, from paths to changes."""

import pytest

from kyvsim.api.inputs import ApplyInputs
from kyvsim.api.upgrade import UpgradeInputs, preview_upgrade
from kyvsim.model.comparison import Answer, SearchBudget
from kyvsim.model.migration import ConversionOutcome
from kyvsim.model.release import PLANNED, RELEASES
from kyvsim.model.result import RunVerdict
from kyvsim.model.upgrade import Impact
from kyvsim.report.upgrade import upgrade_ending

OLD, NEW = RELEASES["1.19.0"], RELEASES["1.19.1"]
CONFINED = """
apiVersion: kyverno.io/v1
kind: Policy
metadata: {name: regions, namespace: shop}
spec:
  rules:
  - name: known
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    context: [{name: regions, globalReference: {name: regions}}]
    validate: {message: m, deny: {}}
"""
TEAM = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: team}
spec:
  background: false
  rules:
  - name: team
    match: {any: [{resources: {kinds: [ConfigMap], operations: [CREATE, UPDATE]}}]}
    validate: {message: m, pattern: {metadata: {labels: {team: "?*"}}}}
"""
CALLS = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: calls}
spec:
  rules:
  - name: calls
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    context:
    - name: answer
      apiCall: {method: GET, service: {url: "http://127.0.0.1/"}, default: {ok: true}}
    validate: {message: m, deny: {conditions: {all: [
      {key: "{{ answer.ok }}", operator: NotEquals, value: true}]}}}
"""
WORKLOADS = """
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: pinned}
spec:
  autogen: {podControllers: {controllers: [jobs.v1.example.com]}}
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  validations:
  - {expression: "object.spec.containers.all(c, c.image != 'a:latest')", message: latest}
"""
ENCODED = """
apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {name: encoded}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: >-
        Object{metadata: Object.metadata{annotations: {"was": json.marshal({"a": null})}}}
"""
RANDOM = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: random}
spec:
  rules:
  - name: random
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {token: "{{ random('[a-z]{20}') }}"}}}}
"""
EXEMPT = """
apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: spared, namespace: shop}
spec:
  exceptions: [{policyName: team, ruleNames: [team]}]
  match: {any: [{resources: {kinds: [ConfigMap]}}]}
"""
OBJECT = "{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: shop}}"
JOB = """
apiVersion: example.com/v1
kind: Job
metadata: {name: %s, namespace: shop}
spec: {template: {spec: {containers: [{name: c, image: "a:latest"}]}}}
"""
TEST = """
apiVersion: cli.kyverno.io/v1alpha1
kind: Test
metadata: {name: t}
policies: [../policies/%s]
resources: [../resources/0.yaml]
results:
- {policy: %s, rule: %s, kind: %s, resources: [shop/a], result: %s, isValidatingPolicy: %s}
"""


SCENARIO = """
apiVersion: kyvsim/v1
kind: Scenario
name: s
settings: {horizon: 1m}
policies: policies
steps:
%s
"""
NETWORKS = """
apiVersion: policies.kyverno.io/v1
kind: GeneratingPolicy
metadata: {name: closed}
spec:
  evaluation: {synchronize: {enabled: true}}
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [namespaces]}
  generate:
  - template:
      interpolate: cel
      value: |
        {apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {podSelector: {}},
         metadata: {name: closed, namespace: ((object.metadata.name))}}
"""
CREATED = "- create: {apiVersion: v1, kind: Namespace, metadata: {name: shop}}\n- wait: 1s\n"
NETWORK = "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, namespace: shop, name: closed}"
DELETED = f"- delete: {NETWORK}\n- wait: 1s\n"


@pytest.fixture
def preview(tmp_path, monkeypatch):
    """Return what previews an upgrade for the texts of policies and resources."""
    monkeypatch.chdir(tmp_path)

    def run(policies, resources=(), test="", **inputs):
        for folder, texts in (("policies", policies), ("resources", resources)):
            for number, text in enumerate(texts):
                file = tmp_path / folder / f"{number}.yaml"
                file.parent.mkdir(exist_ok=True)
                file.write_text(text)
        if test:
            (tmp_path / "tests").mkdir()
            (tmp_path / "tests/kyverno-test.yaml").write_text(test)
        shared = ApplyInputs(("policies",), ("resources",) if resources else ())
        given = {"shared": shared, "old": OLD, "new": NEW, "tests": ("tests",) if test else ()}
        return preview_upgrade(UpgradeInputs(**{**given, **inputs}))

    return run


@pytest.fixture
def course(preview, tmp_path):
    """Return what previews an upgrade for a policy, and a scenario of some steps."""

    def run(policy, steps):
        (tmp_path / "scenario.yaml").write_text(SCENARIO % steps)
        return preview([policy], scenarios=("scenario.yaml",))

    return run


def test_events_of_a_scenario_that_only_one_release_has(course):
    upgrade = course(NETWORKS, CREATED + DELETED + DELETED)
    (found,) = upgrade.scenarios
    assert [one.partition("s ")[2] for one in found.events] == [
        "background restore NetworkPolicy shop/closed"
    ]
    assert found.events[0].startswith("+ ")
    assert found.ending == ("further: NetworkPolicy shop/closed",)
    assert found.impact is Impact.DIFFERENT
    assert "tracks_restored" in found.cause.facts
    assert not upgrade.diagnostics


def test_a_scenario_without_differences(course):
    upgrade = course(TEAM, CREATED)
    assert upgrade.scenarios == ()
    assert upgrade.scenario_count == 1
    assert upgrade_ending(upgrade).verdict is RunVerdict.SAME


def test_a_hazard_of_only_one_release(course):
    (found,) = course(NETWORKS, CREATED + DELETED).scenarios
    assert found.events == ()
    assert found.ending == ("no hazard: KH032",)
    assert "tracks_restored" in found.cause.facts


def test_an_expectation_that_only_the_older_release_meets(course):
    policy = CONFINED.replace("\n", "\n    ")
    stored = "{apiVersion: kyverno.io/v1, kind: Policy, metadata: {name: regions, namespace: shop}}"
    expected = f"  expect: {{eventually: {stored}, within: 1s}}\n"
    (found,) = course(TEAM, f"{CREATED}- create:{policy}\n{expected}").scenarios
    assert found.impact is Impact.BREAKS
    assert found.cause.facts == ("confines_global_context",)


def test_a_scenario_that_cannot_be_read(preview, tmp_path):
    (tmp_path / "scenario.yaml").write_text("kind: Scenario\napiVersion: kyvsim/v1\nsteps: 3\n")
    upgrade = preview([NETWORKS], scenarios=("scenario.yaml", "missing.yaml"))
    assert upgrade.scenarios == ()
    assert {one.location.file for one in upgrade.diagnostics} == {"scenario.yaml", "missing.yaml"}
    assert upgrade_ending(upgrade).status == 2


def test_a_policy_that_the_newer_release_rejects(preview):
    upgrade = preview([CONFINED, TEAM])
    (found,) = upgrade.rejected
    assert found.subject == "Policy shop/regions"
    assert [one.code for one in found.diagnostics] == ["KV135"]
    assert (found.place.file, found.place.line) == ("policies/0.yaml", 9)
    assert found.cause.facts == ("confines_global_context",)
    assert not upgrade.diagnostics
    facts = {fact for note in upgrade.notes for fact in note.change.facts}
    assert "confines_global_context" not in facts


def test_a_policy_that_both_releases_reject_is_bad_input(preview):
    upgrade = preview([CONFINED], old=NEW)
    assert upgrade.rejected == ()
    assert [one.code for one in upgrade.diagnostics] == ["KV135"]


def test_two_policies_of_one_file_have_their_own_diagnostics(preview):
    second = CONFINED.replace("name: regions, name", "name: others, name")
    upgrade = preview([f"{CONFINED}---\n{TEAM}---\n{second}"])
    subjects = ["Policy shop/regions", "Policy shop/others"]
    assert [one.subject for one in upgrade.rejected] == subjects
    assert [[one.location.line for one in found.diagnostics] for found in upgrade.rejected] == [
        [9],
        [31],
    ]


def test_results_that_change_are_grouped_and_have_a_cause(preview):
    upgrade = preview([WORKLOADS], [JOB % "a", JOB % "b"])
    (group,) = upgrade.results
    assert group.impact is Impact.STRICTER
    assert [one.resource for one in group.results] == ["shop/Job/a", "shop/Job/b"]
    assert group.results[0].verdict.results == ("none", "fail")
    assert group.cause.facts == ("extracts_templates",)
    assert upgrade.affected == 1
    assert not upgrade.notes


def test_a_harmless_difference_does_not_hide_a_note(preview):
    upgrade = preview([CALLS], [OBJECT % "a"])
    assert [one.impact for one in upgrade.results] == [Impact.NONE]
    assert "blocks_service_calls" in upgrade.notes[0].change.facts
    assert [part.subject for part in upgrade.notes[0].parts] == ["ClusterPolicy calls"]


def test_objects_that_differ(preview):
    upgrade = preview([ENCODED], [OBJECT % "a"])
    (found,) = upgrade.objects
    assert found.cause.facts == ("marshals_parts",)
    texts = [
        side.object["metadata"]["annotations"]["was"]
        for side in (found.difference.old, found.difference.new)
    ]
    assert texts == ['{"a":0}', '{"a":null}']


def test_random_values_are_no_difference(preview):
    upgrade = preview([RANDOM], [OBJECT % "a"])
    assert upgrade.objects == ()
    assert upgrade.results == ()


def test_exceptions_beside_the_policies_apply(preview):
    upgrade = preview([TEAM, EXEMPT], [OBJECT % "a"], planned=PLANNED["1.20"])
    assert upgrade.results == ()
    assert [one.kind for one in upgrade.removal.policies] == ["ClusterPolicy", "PolicyException"]


def test_rows_of_tests_with_another_outcome(preview):
    test = TEST % ("0.yaml", "pinned", '""', "Job", "fail", "true")
    upgrade = preview([WORKLOADS], [JOB % "a"], test)
    (row,) = upgrade.rows
    assert (row.policy, row.resource) == ("pinned", "example.com/v1/Job/shop/a")
    assert (row.old, row.new) == ("Fail", "Pass")
    assert upgrade.row_count == 1


def test_rows_of_tests_with_the_same_outcome_are_counted(preview):
    upgrade = preview(
        [TEAM], [OBJECT % "a"], TEST % ("0.yaml", "team", "team", "ConfigMap", "fail", "false")
    )
    assert upgrade.rows == ()
    assert upgrade.row_count == 1


def test_the_inventory_of_removed_policies(preview):
    upgrade = preview([TEAM, CALLS, WORKLOADS], old=NEW, planned=PLANNED["1.20"])
    found = {one.key: one for one in upgrade.removal.policies}
    assert [*found] == ["team", "calls"]
    assert found["team"].conversion.outcome is not ConversionOutcome.REFUSED
    assert found["calls"].conversion.outcome is ConversionOutcome.REFUSED
    assert {one.folder for one in found.values()} == {"policies"}
    assert found["team"].evidence is None
    assert upgrade.affected == 2


def test_a_policy_that_cannot_be_used_is_in_the_inventory_without_conversion(preview):
    upgrade = preview([CONFINED], old=NEW, planned=PLANNED["1.20"])
    assert [one.conversion for one in upgrade.removal.policies] == [None]


def test_nothing_is_removed_from_policies_in_cel(preview):
    upgrade = preview([WORKLOADS], old=NEW, planned=PLANNED["1.20"])
    assert upgrade.removal.policies == ()
    assert not upgrade.diagnostics


def test_folders_below_the_given_one_are_counted_separately(preview, tmp_path):
    for folder in ("policies/a/deep/er", "policies/b"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "p.yaml").write_text(TEAM)
    upgrade = preview([CALLS], planned=PLANNED["1.20"])
    assert sorted(one.folder for one in upgrade.removal.policies) == [
        "policies",
        "policies/a",
        "policies/b",
    ]


@pytest.mark.slow
def test_evidence_of_each_conversion(preview):
    upgrade = preview([TEAM], [OBJECT % "a"], planned=PLANNED["1.20"], budget=SearchBudget())
    (found,) = upgrade.removal.policies
    assert found.evidence.answer is Answer.EQUAL
    assert found.evidence.given
