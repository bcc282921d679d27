"""What is supposed of requests, from paths to results."""

import pytest

from kyvsim.api import ApplyInputs, open_application
from kyvsim.api.inputs import AS_GIVEN
from kyvsim.load.values import named_user
from kyvsim.model.request import Operation

POLICY = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  background: false
  rules:
  - name: deletion
    match: {any: [{resources: {kinds: [Pod], operations: [DELETE]}}]}
    validate: {message: "{{ request.namespace }} {{ request.operation }}", deny: {}}
  - name: change
    match: {any: [{resources: {kinds: [Pod], operations: [UPDATE]}}]}
    validate:
      message: "from {{ request.oldObject.spec.nodeName }} to {{ request.object.spec.nodeName }}"
      deny: {conditions: {any: [{key: "{{ request.oldObject.spec.nodeName }}",
        operator: NotEquals, value: "{{ request.object.spec.nodeName }}"}]}}
  - name: person
    match: {any: [{resources: {kinds: [Pod], names: [web]}}]}
    validate:
      message: "by {{ request.userInfo.username || 'nobody' }}"
      deny: {conditions: {any: [{key: "{{ request.userInfo.groups || [''] }}",
        operator: AnyIn, value: [devs]}]}}
  - name: space
    match:
      any: [{resources: {kinds: [Pod], namespaceSelector: {matchLabels: {env: prod}}}}]
    validate: {message: in prod, deny: {}}
  - name: stamp
    match: {any: [{resources: {kinds: [Pod]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {stamped: "yes"}}}}
  - name: companion
    match: {any: [{resources: {kinds: [Pod]}}]}
    generate: {apiVersion: v1, kind: ConfigMap, name: c, namespace: shop, data: {data: {a: b}}}
"""
POD = "{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: shop}, spec: {nodeName: %s}}"
VALUES = """
apiVersion: cli.kyverno.io/v1alpha1
kind: Values
metadata: {name: v}
globalValues: {request.operation: %s}
namespaceSelector: [{name: shop, labels: {env: test}}]
"""
NOBODY = "validation rule 'person' passed."
EXCEPTION = """
apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: pardon, namespace: ex}
spec:
  exceptions: [{policyName: p, ruleNames: [deletion]}]
  match: {any: [{resources: {kinds: [Pod]}}]}
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.yaml").write_text(POLICY)
    (tmp_path / "r.yaml").write_text(f"{POD % ('web', 'new')}\n---\n{POD % ('fresh', 'new')}")
    (tmp_path / "old.yaml").write_text(POD % ("web", "old"))
    (tmp_path / "e.yaml").write_text(EXCEPTION)
    return tmp_path


def told(what_if=AS_GIVEN, **more):
    """Return what is said of each Pod as `rule: status: message`, and the codes of remarks."""
    run = open_application(ApplyInputs(("p.yaml",), ("r.yaml",), what_if=what_if, **more))
    said = {
        response.trigger["metadata"]["name"]: [
            f"{one.rule.name}: {one.status}: {one.message}"
            for answer in response.responses
            for one in answer.results
            if one.rule.name not in {"stamp", "companion"} and one.message != NOBODY
        ]
        for response in run.responses
    }
    return said, [one.code for one in run.diagnostics]


def rules(what_if, **more):
    run = open_application(ApplyInputs(("p.yaml",), ("r.yaml",), what_if=what_if, **more))
    return {
        one.rule.name
        for response in run.responses
        for answer in response.responses
        for one in answer.results
    }


pytestmark = pytest.mark.usefixtures("files")


def test_without_suppositions_objects_are_created():
    assert told() == ({"web": [], "fresh": []}, [])
    assert rules(AS_GIVEN) == {"stamp", "companion", "person"}


def test_an_old_object_is_updated_and_the_others_are_created():
    said, codes = told(AS_GIVEN._replace(old_resources=("old.yaml",)))
    assert said == {"web": ["change: fail: from old to new"], "fresh": []}
    assert codes == []


def test_what_has_no_old_object_is_updated_from_itself_and_told():
    what_if = AS_GIVEN._replace(old_resources=("old.yaml",), operation=Operation.UPDATE)
    said, codes = told(what_if)
    assert said["web"] == ["change: fail: from old to new"]
    assert said["fresh"] == ["change: pass: validation rule 'change' passed."]
    assert codes == ["KV038"]


def test_an_old_object_in_another_version_is_the_same_one(files):
    old = "{apiVersion: apps/%s, kind: Deployment, metadata: {name: d, namespace: x}}"
    (files / "old.yaml").write_text(old % "v1beta1")
    (files / "r.yaml").write_text(old % "v1")
    assert told(AS_GIVEN._replace(old_resources=("old.yaml",)))[1] == []


def test_an_old_object_that_nothing_updates_is_told(files):
    (files / "old.yaml").write_text(POD % ("gone", "old"))
    said, codes = told(AS_GIVEN._replace(old_resources=("old.yaml",)))
    assert said["web"] == []
    assert codes == ["KV037"]


def test_a_deletion_has_its_namespace_and_neither_changes_nor_generates():
    what_if = AS_GIVEN._replace(operation=Operation.DELETE)
    assert told(what_if)[0]["web"] == ["deletion: fail: shop DELETE"]
    assert rules(what_if) == {"deletion", "person"}


@pytest.mark.parametrize("operation", ["CREATE", "UPDATE", "DELETE"])
def test_an_operation_wins_over_that_of_a_values_file(files, operation):
    for other in ("CREATE", "UPDATE", "DELETE"):
        (files / "v.yaml").write_text(VALUES % other)
        what_if = AS_GIVEN._replace(operation=Operation(operation))
        assert told(what_if, values_file="v.yaml") == told(what_if)


def test_an_old_object_wins_over_the_operation_of_a_values_file(files):
    (files / "v.yaml").write_text(VALUES % "DELETE")
    said, _ = told(AS_GIVEN._replace(old_resources=("old.yaml",)), values_file="v.yaml")
    assert said["web"] == ["change: fail: from old to new"]
    assert said["fresh"] == ["deletion: fail:  DELETE"]  # as the reference does with values


def test_a_user_stands_in_place_of_that_of_a_file(files):
    head = "{apiVersion: cli.kyverno.io/v1alpha1, kind: UserInfo, metadata: {name: u}"
    (files / "u.yaml").write_text(f"{head}, userInfo: {{username: root}}}}")
    said, _ = told(AS_GIVEN._replace(user=named_user("jane", ("devs",))), userinfo="u.yaml")
    assert said["web"] == ["person: fail: by jane"]


def test_labels_of_a_namespace_stand_in_place_of_all_others(files):
    (files / "v.yaml").write_text(VALUES % "CREATE")
    space = "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {env: dev}}}"
    with (files / "r.yaml").open("a") as file:
        file.write(f"\n---\n{space}")
    what_if = AS_GIVEN._replace(namespace_labels=(("shop", "env", "prod"),))
    assert told(what_if)[0]["web"] == ["space: fail: in prod"]
    assert told(what_if, values_file="v.yaml")[0]["web"] == ["space: fail: in prod"]


@pytest.mark.parametrize("pattern", ["pardon", "ex/pardon", "*"])
def test_an_exception_can_be_left_out(pattern):
    what_if = AS_GIVEN._replace(operation=Operation.DELETE)
    skipped = "deletion: skip: rule is skipped due to policy exceptionsex/pardon"
    assert told(what_if, exceptions=("e.yaml",))[0]["web"] == [skipped]
    without = what_if._replace(without_exceptions=(pattern,))
    assert told(without, exceptions=("e.yaml",))[0]["web"] == ["deletion: fail: shop DELETE"]


def test_an_exception_to_leave_out_that_is_not_there_ends_the_run():
    run = open_application(
        ApplyInputs(
            ("p.yaml",),
            ("r.yaml",),
            exceptions=("e.yaml",),
            what_if=AS_GIVEN._replace(without_exceptions=("pardn",)),
        )
    )
    assert not run.applied
    assert "did you mean `pardon`?" in str(run.diagnostics[0])


def test_labels_of_a_namespace_in_which_nothing_lies_are_told():
    what_if = AS_GIVEN._replace(namespace_labels=(("shp", "env", "prod"), ("shop", "a", "b")))
    run = open_application(ApplyInputs(("p.yaml",), ("r.yaml",), what_if=what_if))
    (said,) = run.diagnostics
    assert str(said).startswith("warning KV037: `--namespace-labels shp:…`: no resource is in")
    assert str(said).endswith("did you mean `shop`?")


def test_an_old_object_that_another_one_follows_is_told(files):
    (files / "old.yaml").write_text(f"{POD % ('web', 'older')}\n---\n{POD % ('web', 'old')}")
    said, codes = told(AS_GIVEN._replace(old_resources=("old.yaml",)))
    assert said["web"] == ["change: fail: from old to new"]
    assert codes == ["KV037"]
