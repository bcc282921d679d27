"""`validate.pattern`: what it leaves alone, what it objects to, and in which words."""

import pytest

from kyvsim.model.request import Operation

PASSED = "validation rule 'r' passed."
OFF = {"spec": {"hostNetwork": False}}

LEFT_ALONE = [
    (OFF, {"hostNetwork": False}, "pass", PASSED),
    ({"spec": {"=(hostNetwork)": False}}, {}, "pass", PASSED),
    ({"metadata": {"name": "w?b"}}, {}, "pass", PASSED),
    (
        {"metadata": {"name": "{{ request.object.spec.nodeName }}"}},
        {"nodeName": "web"},
        "pass",
        PASSED,
    ),
    ({"spec": {"priority": ">=10 & <20"}}, {"priority": 15}, "pass", PASSED),
    (
        {"spec": {"containers": [{"(name)": "a*", "image": "?*"}]}},
        {"containers": [{"name": "a1", "image": "x"}, {"name": "b"}]},
        "pass",
        PASSED,
    ),
    (
        {"spec": {"(nodeName)": "n1", "hostNetwork": False}},
        {"nodeName": "n2", "hostNetwork": True},
        "skip",
        (
            "conditional anchor mismatch: resource value 'n2' does not match 'n1' at path "
            "/spec/nodeName/"
        ),
    ),
    (
        {"spec": {"<(nodeName)": "n1", "hostNetwork": False}},
        {"nodeName": "n2", "hostNetwork": True},
        "skip",
        "global anchor mismatch: resource value 'n2' does not match 'n1' at path /spec/nodeName/",
    ),
]

FIRES = [
    (OFF, {"hostNetwork": True}, "", "fail", "rule r failed at path /spec/hostNetwork/"),
    (OFF, {}, "", "fail", "rule r failed at path /spec/hostNetwork/"),
    (
        OFF,
        {},
        "no host network",
        "fail",
        "no host network. rule r failed at path /spec/hostNetwork/",
    ),
    (OFF, {}, "Off.", "fail", "Off. rule r failed at path /spec/hostNetwork/"),
    (
        OFF,
        {},
        "{{ request.object.metadata.name }} is on",
        "fail",
        "web is on. rule r failed at path /spec/hostNetwork/",
    ),
    (
        OFF,
        {},
        "{{ request.object.spec.missing }}",
        "fail",
        (
            "variables substitution error in rule r execution error: resource value '<nil>' "
            "does not match 'false' at path /spec/hostNetwork/"
        ),
    ),
    (
        {"spec": {"X(hostPID)": "null"}},
        {"hostPID": False},
        "",
        "fail",
        "rule r failed at path /spec/hostPID/",
    ),
    (
        {"spec": {"containers": [{"image": "*:*"}]}},
        {"containers": [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b"}]},
        "",
        "fail",
        "rule r failed at path /spec/containers/1/image/",
    ),
    (
        {"spec": {"^(volumes)": [{"name": "v"}], "nodeName": "n1"}},
        {},
        "",
        "error",
        (
            "rule r execution error: resource value '<nil>' does not match 'n1' at path "
            "/spec/nodeName/"
        ),
    ),
]


@pytest.mark.parametrize(("pattern", "spec", "status", "message"), LEFT_ALONE)
def test_an_object_that_fits_or_is_none_of_its_business(
    run, pod, verdicts, pattern, spec, status, message
):
    found = run({"validate": {"message": "no", "pattern": pattern}}, pod(**spec))
    assert verdicts(found) == [("r", status, message)]


@pytest.mark.parametrize(("pattern", "spec", "text", "status", "message"), FIRES)
def test_an_object_that_does_not_fit(run, pod, verdicts, pattern, spec, text, status, message):
    found = run({"validate": {"message": text, "pattern": pattern}}, pod(**spec))
    assert verdicts(found) == [("r", status, f"validation error: {message}")]


def test_a_message_with_a_missing_variable_has_a_hint(run, pod):
    rule = {"validate": {"message": "{{ request.object.no }}", "pattern": {"kind": "Service"}}}
    (result,) = run(rule, pod()).responses[0].results
    assert "cannot be rendered: failed to resolve request.object.no " in result.note


def test_the_path_of_a_failure_stands_beside_its_message(run, pod):
    ((result,),) = [one.results for one in run({"validate": {"pattern": OFF}}, pod()).responses]
    assert result.path == "/spec/hostNetwork/"


def test_a_pattern_whose_variable_has_no_value_is_an_error(run, pod, verdicts):
    pattern = {"spec": {"nodeName": "{{ request.object.spec.missing }}"}}
    ((_, status, message),) = verdicts(run({"validate": {"pattern": pattern}}, pod()))
    assert status == "error"
    assert message.startswith("variable substitution failed: ")
    assert message.endswith('Unknown key "missing" in path')


def test_deletions_have_nothing_to_look_at(run, pod):
    gone = {"operation": Operation.DELETE, "old_object": pod(hostNetwork=True), "object": None}
    assert run({"validate": {"pattern": OFF}}, pod(), **gone).responses == ()


def test_variables_of_a_pattern_are_filled_anew_for_each_object(policy, run, pod):
    rules = [policy({"validate": {"pattern": {"spec": {"a": "{{ request.object.spec.b }}"}}}})]
    statuses = [
        run(rules, pod(a=a, b=b)).responses[0].results[0].status.value
        for a, b in (("x", "x"), ("x", "y"), ("y", "y"))
    ]
    assert statuses == ["pass", "fail", "pass"]
