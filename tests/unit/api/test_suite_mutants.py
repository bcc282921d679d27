"""Mutants of the policies of small suites: what rows notice, what means the same, holes."""

import json

import pytest

from kyvsim.api import mutants
from kyvsim.api.mutants import try_mutants
from kyvsim.api.suite import Reading, SuiteRun
from kyvsim.model.comparison import DifferenceKind
from kyvsim.model.release import V_1_19_0
from kyvsim.suite.row_targets import RowSelector

MATCH = {"any": [{"resources": {"kinds": ["Pod"]}}]}
BARE = {"pod-policies.kyverno.io/autogen-controllers": "none"}


def pod(name, **spec):
    containers = [{"name": "a", "image": "nginx"}]
    meta = {"name": name, "namespace": "default"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": {"containers": containers, **spec},
    }


def policy(validate, name="p", **rule):
    return {
        "apiVersion": "kyverno.io/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": name, "annotations": BARE},
        "spec": {"rules": [{"name": "r", "match": MATCH, "validate": validate, **rule}]},
    }


def row(resource, result, name="p"):
    return {
        "policy": name,
        "rule": "r",
        "kind": "Pod",
        "resources": [resource],
        "result": result,
    }


def write(folder, policies, resources, rows):
    folder.mkdir(exist_ok=True)
    for name, some in (("policies.json", policies), ("resources.json", resources)):
        data = {"apiVersion": "v1", "kind": "List", "items": some}
        (folder / name).write_text(json.dumps(data), encoding="utf-8")
    manifest = {
        "apiVersion": "cli.kyverno.io/v1alpha1",
        "kind": "Test",
        "metadata": {"name": "t"},
        "policies": ["policies.json"],
        "resources": ["resources.json"],
        "results": rows,
    }
    (folder / "kyverno-test.yaml").write_text(json.dumps(manifest), encoding="utf-8")
    return str(folder)


def tried(*folders, seconds=600.0, jobs=1, **options):
    return try_mutants(SuiteRun(folders, options=Reading(**options), jobs=jobs), seconds)


HOSTS = policy({"pattern": {"spec": {"=(hostNetwork)": False}}})


def test_rows_notice_mutants(tmp_path):
    """That of the value by the Pod that passes, that without the anchor by the plain Pod."""
    pods = [pod("good", hostNetwork=False), pod("bad", hostNetwork=True), pod("plain")]
    rows = [row("good", "pass"), row("bad", "fail"), row("plain", "pass")]
    found = tried(write(tmp_path, [HOSTS], pods, rows))
    assert (found.noticed, found.holes, found.same, found.untried) == (2, (), 0, 0)
    assert found.score.percent == 100


def test_a_hole_says_what_was_changed_and_shows_what_would_notice(tmp_path):
    pods = [pod("bad", hostNetwork=True)]
    found = tried(write(tmp_path, [HOSTS], pods, [row("bad", "fail")]))
    assert found.noticed == 1
    assert [(one.kind, one.was, one.now) for one in found.holes] == [
        ("anchor", "=(hostNetwork)", "hostNetwork")
    ]
    example = found.holes[0].example
    assert example.difference is DifferenceKind.DENIAL_GAINED
    assert "hostNetwork" not in example.object["spec"]


def test_mutants_are_compared_as_the_release_of_the_run(tmp_path, monkeypatch):
    found, make = [], mutants.still_system

    def still_system(now, release):
        found.append(release)
        return make(now, release)

    monkeypatch.setattr(mutants, "still_system", still_system)
    suite = write(tmp_path, [HOSTS], [pod("plain")], [row("plain", "pass")])
    assert tried(suite, release=V_1_19_0).holes
    assert set(found) == {V_1_19_0}


def test_what_any_test_notices_is_noticed(tmp_path):
    """One manifest has the Pod that fails, the other one that passes."""
    write(tmp_path / "one", [HOSTS], [pod("bad", hostNetwork=True)], [row("bad", "fail")])
    other = tmp_path / "two"
    write(other, [HOSTS], [pod("plain")], [row("plain", "pass")])
    manifest = json.loads((other / "kyverno-test.yaml").read_text(encoding="utf-8"))
    manifest["policies"] = ["../one/policies.json"]
    (other / "kyverno-test.yaml").write_text(json.dumps(manifest), encoding="utf-8")
    found = tried(str(tmp_path))
    assert (found.noticed, found.holes) == (2, ())
    assert tried(str(tmp_path), jobs=2) == found


@pytest.mark.slow
def test_mutants_that_mean_the_same_are_no_holes(tmp_path):
    """Without its second alternative the pattern says what it said."""
    images = {"=(dnsPolicy)": "Default | D*t"}
    pods = [pod("good", dnsPolicy="Default"), pod("bad", dnsPolicy="None"), pod("plain")]
    rows = [row("good", "pass"), row("bad", "fail"), row("plain", "pass")]
    suite = write(tmp_path, [policy({"pattern": {"spec": images}})], pods, rows)
    found = tried(suite)
    same = {"Default", "D*t"}
    assert found.same >= 2
    assert not [one for one in found.holes if one.was in same and not one.now]


def test_rows_that_fail_anyway_notice_nothing(tmp_path):
    pods = [pod("bad", hostNetwork=True)]
    found = tried(write(tmp_path, [HOSTS], pods, [row("bad", "pass")]))
    assert found.noticed == 0
    assert len(found.holes) == 2


def test_mutants_that_are_no_policies_are_none(tmp_path):
    """No request has the operation `CREATEx`: a policy that asks for it is refused."""
    condition = {"key": "{{ request.operation }}", "operator": "Equals", "value": "CREATE"}
    rule = policy({"deny": {"conditions": {"any": [condition]}}})
    suite = write(tmp_path, [rule], [pod("a")], [row("a", "fail")])
    found = tried(suite)
    assert found.noticed + len(found.holes) + found.same == 1


def test_what_there_is_no_time_for_is_counted(tmp_path):
    suite = write(tmp_path, [HOSTS], [pod("plain")], [row("plain", "pass")])
    found = tried(suite, seconds=-1)
    assert (found.noticed, found.holes, found.untried) == (0, (), 2)
    assert found.score.total == 0


IN_CEL = {
    "apiVersion": "policies.kyverno.io/v1",
    "kind": "ValidatingPolicy",
    "metadata": {"name": "p"},
    "spec": {
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "operations": ["CREATE"],
                    "resources": ["pods"],
                }
            ]
        },
        "validations": [
            {"expression": "object.spec.containers.all(c,\n  c.image.startsWith('own/'))"}
        ],
    },
}


def test_expressions_are_changed_where_they_stand(tmp_path):
    pods = [pod("bad"), pod("good", containers=[{"name": "a", "image": "own/nginx"}])]
    rows = [row("bad", "fail"), row("good", "pass")]
    found = tried(write(tmp_path, [IN_CEL], pods, rows))
    assert found.noticed == 1
    assert [(one.was, one.now, one.example.difference) for one in found.holes] == [
        ("all", "exists", DifferenceKind.DENIAL_LOST)
    ]


@pytest.mark.parametrize("lenient", [False, True])
def test_selected_rows_notice_alone(tmp_path, lenient):
    pods = [pod("bad", hostNetwork=True), pod("plain")]
    rows = [row("bad", "fail"), row("plain", "pass")]
    suite = write(tmp_path, [HOSTS], pods, rows)
    chosen = RowSelector(rules=("other",))
    assert tried(suite, lenient=lenient).noticed == 2
    assert tried(suite, lenient=lenient, selector=chosen).score.total == 0
