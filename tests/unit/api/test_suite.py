import json
import shutil
from pathlib import Path

import pytest

from kyvsim.api import suite
from kyvsim.model.result import ReportedReason
from kyvsim.model.source import Location
from kyvsim.report import suite_formats
from kyvsim.report.suite_text import SuiteOptions
from kyvsim.suite.row_targets import parse_selector

FIXTURES = Path(__file__).parents[3] / "fixtures/tests"
GOOD = ("answers", "cluster", "existing", "generate", "mutate", "operations", "team")


@pytest.fixture
def copied(tmp_path, monkeypatch):
    shutil.copytree(FIXTURES, tmp_path / "tests")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "tests"


def failed(outcome):
    return [
        (row.policy, row.resource, row.reason)
        for one in outcome.manifests
        for row in one.rows
        if row.failed
    ]


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("lenient", [True, False])
def test_the_fixtures_pass_in_both_readings(copied, name, lenient):
    run = suite.SuiteRun((str(copied / name),), options=suite.Reading(lenient=lenient))
    outcome = suite.run_tests(run)
    assert failed(outcome) == []
    assert outcome.total
    assert [str(one) for one in api_diagnostics(outcome)] == []


def api_diagnostics(outcome):
    return [
        *outcome.diagnostics,
        *(one for found in outcome.manifests for one in found.diagnostics),
    ]


@pytest.mark.parametrize("name", GOOD)
def test_an_expectation_turned_round_fails(copied, name):
    file = copied / name / "kyverno-test.yaml"
    text = file.read_text()
    turned = text.replace("result: pass", "result: x").replace("result: fail", "result: pass")
    file.write_text(turned.replace("result: x", "result: fail"))
    for lenient in (True, False):
        run = suite.SuiteRun((str(copied / name),), options=suite.Reading(lenient=lenient))
        assert failed(suite.run_tests(run))


def test_failed_rows_tell_how_the_rule_came_to_its_result(copied):
    file = copied / "team/kyverno-test.yaml"
    file.write_text(file.read_text().replace("result: skip", "result: fail"))
    rows = suite.run_tests(suite.SuiteRun((str(copied / "team"),))).manifests[0].rows
    told = {row.resource: row.reasons for row in rows if row.failed}
    (unmet,) = told["v1/Pod/default/exempt"]
    assert unmet.text == 'all[0]: "exempt" NotEquals "exempt"'
    assert (str(unmet.place), str(unmet.seen_at)) == (
        f"{copied}/team/policy.yaml:18:22",
        f"{copied}/team/resources.yaml:26:5",
    )
    assert unmet.excerpt.meant == "team: exempt"
    (excluded,) = told["v1/Pod/kube-system/system"]
    assert excluded.text.startswith("exclude / any[0] / namespaces expected")
    assert str(excluded.place) == f"{copied}/team/policy.yaml:15:15"
    assert not any(row.reasons for row in rows if not row.failed)


def test_a_failed_row_of_a_rule_that_passed_tells_where_the_rule_stands(copied):
    file = copied / "team/kyverno-test.yaml"
    file.write_text(file.read_text().replace("result: pass", "result: fail"))
    rows = suite.run_tests(suite.SuiteRun((str(copied / "team"),))).manifests[0].rows
    (reason,) = next(row.reasons for row in rows if row.failed)
    assert reason == ReportedReason("", Location(f"{copied}/team/policy.yaml", 7, 7))


def text_of(outcome):
    return "".join(suite_formats.render_json(outcome, SuiteOptions()))


@pytest.mark.parametrize("jobs", [2, 3])
def test_the_number_of_processes_changes_nothing(copied, jobs):
    alone = suite.run_tests(suite.SuiteRun((str(copied),), jobs=1))
    several = suite.run_tests(suite.SuiteRun((str(copied),), jobs=jobs))
    assert text_of(several) == text_of(alone)
    assert json.loads(text_of(alone))["summary"]["manifests"] == 9


def test_a_manifest_named_twice_runs_once(copied):
    outcome = suite.run_tests(suite.SuiteRun((str(copied / "team"), str(copied / "team"))))
    assert len(outcome.manifests) == 1


def test_the_selector_leaves_out_whole_manifests(copied):
    options = suite.Reading(parse_selector("policy=require-*,resource=nam*"))
    outcome = suite.run_tests(suite.SuiteRun((str(copied),), options=options))
    ran = [Path(one.file).parent.name for one in outcome.manifests if one.rows]
    assert ran == ["holes", "team"]


def labelled_namespace(folder, **fields):
    policy = {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "relabel"},
        "spec": {
            "rules": [
                {
                    "name": "fix",
                    "match": {
                        "resources": {
                            "kinds": ["ConfigMap"],
                            "namespaceSelector": {"matchLabels": {"team": "a"}},
                        }
                    },
                    "validate": {"pattern": {"data": {"a": "?*"}}},
                }
            ]
        },
    }
    namespace = {"apiVersion": "v1", "kind": "Namespace"}
    namespace["metadata"] = {"name": "shop", "labels": {"team": "a"}}
    resource = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}}
    resource["metadata"] = {"name": "c", "namespace": "shop"}
    row = {"policy": "relabel", "rule": "fix", "kind": "ConfigMap", "resources": ["c"]}
    manifest = {
        "apiVersion": "cli.kyverno.io/v1alpha1",
        "kind": "Test",
        "metadata": {"name": "t"},
        "policies": ["policy.yaml"],
        "resources": ["resource.yaml", "namespace.yaml"],
        "results": [{**row, "result": "pass"}],
        **fields,
    }
    cluster = {"apiVersion": "cli.kyverno.io/v1alpha1", "kind": "ClusterResource"}
    cluster |= {"metadata": {"name": "c"}, "spec": {"resources": [namespace]}}
    for name, data in (
        ("kyverno-test", manifest),
        ("policy", policy),
        ("resource", resource),
        ("namespace", namespace),
        ("cluster", cluster),
    ):
        (folder / f"{name}.yaml").write_text(json.dumps(data))
    return suite.run_tests(suite.SuiteRun((str(folder),)))


def test_labels_of_namespaces_among_the_resources_are_asked_for(tmp_path):
    (row,) = labelled_namespace(tmp_path).manifests[0].rows
    (reason,) = row.reasons
    assert reason.text.startswith("match / namespaceSelector expected")
    assert "`namespaceSelector`, or add the Namespace to a ClusterResource" in reason.text


def test_a_namespace_in_the_cluster_of_a_test_has_its_labels(tmp_path):
    (row,) = labelled_namespace(tmp_path, clusterResources=["cluster.yaml"]).manifests[0].rows
    assert not row.failed


def test_a_file_of_another_kind_is_no_cluster(tmp_path):
    outcome = labelled_namespace(tmp_path, clusterResources=["namespace.yaml"])
    assert [one.code for one in api_diagnostics(outcome)] == ["KV079"]


def test_without_cluster_resources_nobody_answers(copied):
    file = copied / "cluster/kyverno-test.yaml"
    file.write_text(file.read_text().replace("clusterResources", "targetResources"))
    outcome = suite.run_tests(suite.SuiteRun((str(copied / "cluster"),)))
    reasons = {reason for _, _, reason in failed(outcome)}
    assert reasons == {"Never ran", "Want fail, got error"}


def test_a_namespace_that_the_cluster_lacks_is_an_error(copied):
    file = copied / "cluster/cluster.yaml"
    file.write_text(
        file.read_text().replace("name: shop\n        labels", "name: mall\n        labels")
    )
    outcome = suite.run_tests(suite.SuiteRun((str(copied / "cluster"),)))
    assert outcome.total == 0
    assert [one.code for one in outcome.manifests[0].diagnostics] == ["KV046", "KV046"]


def test_the_first_of_two_equal_resources_counts(copied):
    file = copied / "team/kyverno-test.yaml"
    file.write_text(
        file.read_text().replace(
            "resources: [resources.yaml]", "resources: [a.yaml, resources.yaml]"
        )
    )
    first = "apiVersion: v1\nkind: Pod\nmetadata: {name: nameless, labels: {team: red}}\n"
    (copied / "team/a.yaml").write_text(first)
    outcome = suite.run_tests(suite.SuiteRun((str(copied / "team"),)))
    assert [str(one.code) for one in outcome.manifests[0].diagnostics] == ["KV043"]
    assert failed(outcome) == [("require-team", "v1/Pod/default/nameless", "Want fail, got pass")]


def test_values_of_a_file_give_way_to_inline_ones(copied):
    file = copied / "team/kyverno-test.yaml"
    text = file.read_text()
    file.write_text(text.replace("values:\n", "variables: absent.yaml\nvalues:\n"))
    assert failed(suite.run_tests(suite.SuiteRun((str(copied / "team"),)))) == []
    inline = text[text.index("  namespaceSelector") : text.index("results:")]
    head = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Values\n"
    (copied / "team/values.yaml").write_text(head + inline.replace("\n  ", "\n").removeprefix("  "))
    file.write_text(text.replace(f"values:\n{inline}", "variables: values.yaml\n"))
    outcome = suite.run_tests(suite.SuiteRun((str(copied / "team"),)))
    assert (failed(outcome), outcome.total) == ([], 9)


def test_a_row_on_a_policy_of_another_kind_says_so(copied):
    file = copied / "mutate/policy.yaml"
    file.write_text(file.read_text().replace("kyverno.io/v1", "example.com/v1"))
    (found,) = suite.run_file(str(copied / "mutate/kyverno-test.yaml"), suite.Reading())
    assert {row.reason for row in found.rows} == {"Invalid policy"}
    assert found.rows[0].message.startswith("policy type not supported: ClusterPolicy")


MUTATING = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: defaults}
spec:
  rules:
  - name: team
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {+(team): none}}, data: {a: x}}}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: require}
spec:
  rules:
  - name: team
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate: {message: team, pattern: {metadata: {labels: {team: "?*"}}}}
  - name: no-none
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate: {message: none, pattern: {metadata: {labels: {team: "!none"}}}}
"""


def test_a_failing_row_shows_which_earlier_mutation_changed_its_object(tmp_path):
    obj = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: x}, data: {a: b}}\n"
    rows = [
        "{policy: require, rule: team, kind: ConfigMap, resources: [a], result: fail}",
        "{policy: require, rule: no-none, kind: ConfigMap, resources: [a], result: pass}",
        "{policy: defaults, rule: team, kind: ConfigMap, resources: [a], result: fail}",
    ]
    (tmp_path / "p.yaml").write_text(MUTATING)
    (tmp_path / "r.yaml").write_text(obj)
    test = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: t}\n"
    test += "policies: [p.yaml]\nresources: [r.yaml]\nresults:\n"
    file = tmp_path / "kyverno-test.yaml"
    file.write_text(test + "".join(f"- {row}\n" for row in rows))
    (found,) = suite.run_tests(suite.SuiteRun((str(file),))).manifests
    texts = [[one.text for one in row.reasons] for row in found.rows]
    changed = "changed before by `defaults / team`: `metadata.labels`, `data.a`"
    assert texts[0] == ["", changed]
    assert texts[1][-1] == changed
    assert found.rows[0].reasons[1].place.line == 6
    assert all(not text.startswith("changed before") for text in texts[2])
