"""`validate.deny`: conditions that hold are a failure."""

import pytest

from kyvsim.model.request import Operation

PASSED = "validation rule 'r' passed."
NODE = "{{ request.object.spec.nodeName }}"


def on(value, operator="Equals", key=NODE, **more):
    return {"key": key, "operator": operator, "value": value, **more}


LEFT_ALONE = [
    ({"any": [on("n1")]}, {"nodeName": "n2"}),
    ({"all": [on("n1"), on("n?", "NotEquals")]}, {"nodeName": "n1"}),
    ({"any": []}, {}),
    ({"any": [on("n1")], "all": [on("n2", "NotEquals")]}, {"nodeName": "n3"}),
    ({"any": [on("n1")], "all": [on("n2")]}, {"nodeName": "n1"}),
]

FIRES = [
    ({"any": [on("n1"), on("n2")]}, {"nodeName": "n2"}, "no", "no"),
    ({"all": [on("n2")]}, {"nodeName": "n2"}, "no", "no"),
    ({"all": []}, {}, "no", "no"),
    ({"any": [on("n2", message="on n2")]}, {"nodeName": "n2"}, "no", "no; on n2"),
    ({"any": [on("n2", message=f"on {NODE}")]}, {"nodeName": "n2"}, "", "on n2"),
    ({"any": [on("n2")]}, {"nodeName": "n2"}, "", "validation error: rule r failed"),
    ({"any": [on("n2")]}, {"nodeName": "n2"}, f"not {NODE}", "not n2"),
    ({"any": [on("n2")]}, {"nodeName": "n2"}, "{{ request.object.spec.missing }}", ""),
    (
        {"any": [on("n2", message="on n2")]},
        {"nodeName": "n2"},
        "{{ request.object.spec.missing }}",
        "on n2",
    ),
    ([on("n2"), on("n1", "NotEquals")], {"nodeName": "n2"}, "no", "no"),
]


@pytest.mark.parametrize(("conditions", "spec"), LEFT_ALONE)
def test_conditions_that_do_not_hold(run, pod, verdicts, conditions, spec):
    rule = {"validate": {"message": "no", "deny": {"conditions": conditions}}}
    assert verdicts(run(rule, pod(**spec))) == [("r", "pass", PASSED)]


@pytest.mark.parametrize(("conditions", "spec", "text", "message"), FIRES)
def test_conditions_that_hold(run, pod, verdicts, conditions, spec, text, message):
    rule = {"validate": {"message": text, "deny": {"conditions": conditions}}}
    assert verdicts(run(rule, pod(**spec))) == [("r", "fail", message)]


def test_deny_without_conditions_denies_all(run, pod, verdicts):
    assert verdicts(run({"validate": {"message": "no", "deny": {}}}, pod())) == [
        ("r", "fail", "no")
    ]


def test_a_message_with_a_missing_variable_has_a_hint(run, pod):
    conditions = {"any": [{"key": "a", "operator": "Equals", "value": "a"}]}
    rule = {"validate": {"message": "{{ request.object.no }}", "deny": {"conditions": conditions}}}
    (result,) = run(rule, pod()).responses[0].results
    start = "the rule's message (p.yaml:6:1) is not shown, since it cannot be rendered:"
    assert result.note.startswith(f"{start} failed to resolve request.object.no ")


def test_a_message_that_is_no_text_is_told(run, pod, verdicts):
    rule = {"validate": {"message": "{{ request.object.spec }}", "deny": {}}}
    ((_, status, message),) = verdicts(run(rule, pod(a="b")))
    assert status == "fail"
    assert message.startswith("the produced message didn't resolve to a string")


def test_a_condition_without_a_value_is_an_error(run, pod, verdicts):
    rule = {"validate": {"deny": {"conditions": {"any": [on("n1")]}}}}
    ((_, status, message),) = verdicts(run(rule, pod()))
    assert status == "error"
    assert message.startswith("failed to check deny conditions: ")
    assert 'Unknown key "nodeName" in path' in message


def test_a_condition_that_is_not_reached_does_no_harm(run, pod, verdicts):
    conditions = {"any": [on("web", key="{{ request.object.metadata.name }}"), on("n1")]}
    rule = {"validate": {"message": "no", "deny": {"conditions": conditions}}}
    assert verdicts(run(rule, pod())) == [("r", "fail", "no")]


def test_deletions_are_judged_too(run, pod, verdicts):
    gone = {"operation": Operation.DELETE, "old_object": pod(nodeName="n2"), "object": None}
    rule = {"validate": {"message": "no", "deny": {"conditions": {"any": [on("n2")]}}}}
    assert verdicts(run(rule, pod(), **gone)) == [("r", "fail", "no")]
