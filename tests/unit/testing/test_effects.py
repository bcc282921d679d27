"""Inputs and effects of the testing package."""

import json
from datetime import UTC, datetime

import pytest

import kyvsim.testing
from kyvsim.testing import Effect, UnusableInputError, Verdict, apply_policies, verdicts

POLICY = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: careful
  annotations: {pod-policies.kyverno.io/autogen-controllers: none}
spec:
  rules:
  - name: owner
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate:
      message: Name an owner.
      pattern: {metadata: {labels: {owner: "?*"}}}
  - name: mark
    match: {any: [{resources: {kinds: [Pod], names: [odd]}}]}
    mutate:
      patchStrategicMerge: {metadata: {labels: {marked: "yes"}}}
  - name: note
    match: {any: [{resources: {kinds: [Pod], names: [odd]}}]}
    generate:
      apiVersion: v1
      kind: ConfigMap
      name: note
      namespace: default
      data: {data: {about: "{{ request.object.metadata.name }}"}}
"""


def pod(name, **labels):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}]},
    }


def test_verdicts_name_policy_rule_resource_and_result():
    assert verdicts(POLICY, pod("plain")) == (
        Verdict(
            policy="careful",
            rule="owner",
            resource="default/Pod/plain",
            result="fail",
            message="validation error: Name an owner. "
            "rule owner failed at path /metadata/labels/owner/",
        ),
    )


def test_verdicts_come_in_the_order_of_manifests():
    found = verdicts(POLICY, [pod("b", owner="x"), pod("a")])
    assert [(one.resource, one.result) for one in found] == [
        ("default/Pod/b", "pass"),
        ("default/Pod/a", "fail"),
    ]


def test_effects_hold_what_was_changed_and_generated():
    (effect,) = apply_policies(POLICY, pod("odd", owner="x"))
    assert isinstance(effect, Effect)
    assert effect.resource["metadata"]["labels"] == {"owner": "x"}
    assert effect.mutated["metadata"]["labels"] == {"owner": "x", "marked": "yes"}
    (note,) = effect.generated
    assert note["data"] == {"about": "odd"}
    assert [one.rule for one in effect.verdicts] == ["mark", "owner", "note"]


def test_what_no_rule_changes_is_not_mutated():
    (effect,) = apply_policies(POLICY, pod("plain", owner="x"))
    assert effect.mutated is None
    assert effect.generated == ()
    assert effect.patched == ()


TARGET_POLICY = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: touch}
spec:
  rules:
  - name: touch-map
    match: {any: [{resources: {kinds: [Pod]}}]}
    mutate:
      targets: [{apiVersion: v1, kind: ConfigMap, name: shared, namespace: default}]
      patchStrategicMerge: {data: {seen: "{{ request.object.metadata.name }}"}}
"""


def test_patched_targets_are_told():
    shared = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shared"}}
    (effect,) = apply_policies(TARGET_POLICY, pod("plain"), targets=shared)
    assert [one["data"] for one in effect.patched] == [{"seen": "plain"}]


def forms(tmp_path):
    """Return the same manifest in every form in which it can be given."""
    file = tmp_path / "pods/pod.json"
    file.parent.mkdir()
    file.write_text(json.dumps(pod("plain")))
    text = json.dumps(pod("plain"), indent=1)
    return [file, str(file), file.parent, text, pod("plain"), [pod("plain")], (f"{file}",)]


def test_manifests_can_be_paths_texts_and_objects(tmp_path):
    answers = {verdicts(POLICY, form) for form in forms(tmp_path)}
    assert len(answers) == 1
    assert [one.result for one in answers.pop()] == ["fail"]


def test_numbers_of_objects_are_read_as_those_of_files(tmp_path):
    file, *_, listed = forms(tmp_path)
    by_file, by_object = (apply_policies(POLICY, form) for form in (file, [pod("plain")]))
    assert listed
    port = by_object[0].resource["spec"]["containers"][0]["ports"][0]["containerPort"]
    assert type(port) is float
    assert by_file == by_object


@pytest.mark.parametrize(
    ("policies", "manifests", "said"),
    [
        (POLICY.replace("pattern:", "patern:"), pod("a"), "<policy 1>:13:7: error KV012"),
        (POLICY, "kind: Pod\nmetadata: {name: a}\n", "<resource 1>:1:1: error KV021"),
        (POLICY, [], "no resource given"),
        ([], pod("a"), "no policy given"),
        ("nowhere.yaml", pod("a"), "nowhere.yaml: error KV001"),
        (POLICY, "# nothing\n", "this file contains no document"),
    ],
)
def test_input_that_cannot_be_used_is_an_error(policies, manifests, said):
    with pytest.raises(UnusableInputError) as raised:
        verdicts(policies, manifests)
    assert said in str(raised.value)


def test_values_that_are_no_input_are_refused():
    with pytest.raises(TypeError):
        verdicts(POLICY, 5)


EXCEPTION = """
apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: except, namespace: default}
spec:
  exceptions: [{policyName: careful, ruleNames: [owner]}]
  match: {any: [{resources: {kinds: [Pod]}}]}
"""


def test_further_inputs_are_options(tmp_path):
    assert [one.result for one in verdicts(POLICY, pod("a"), exceptions=EXCEPTION)] == ["skip"]
    file = tmp_path / "exception.yaml"
    file.write_text(EXCEPTION)
    assert [one.result for one in verdicts(POLICY, pod("a"), exceptions=file)] == ["skip"]
    with pytest.raises(TypeError):
        verdicts(POLICY, pod("a"), exeptions=file)


TIMED = POLICY.replace("Name an owner.", "It is {{ time_now_utc() }}.")


def test_the_time_can_be_set():
    (found,) = verdicts(TIMED, pod("a"), now=datetime(2026, 1, 31, 8, tzinfo=UTC))
    assert "It is 2026-01-31T08:00:00Z." in found.message


NAMED = POLICY.replace("Name an owner.", "Ask {{ request.someone }}.")


def test_values_can_be_set():
    for given in ("request.someone=ann", ["request.someone=ann"]):
        (found,) = verdicts(NAMED, pod("a"), set_values=given)
        assert "Ask ann." in found.message


def test_public_names_are_there():
    for name in kyvsim.testing.__all__:
        assert callable(getattr(kyvsim.testing, name))
    with pytest.raises(AttributeError):
        _ = kyvsim.testing.assert_silver
