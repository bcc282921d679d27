"""`validate.anyPattern`: one alternative that fits is enough."""

import pytest

from kyvsim.model.request import Operation

FIRST = {"spec": {"a": "1"}}
SECOND = {"spec": {"b": "2"}}
ONLY_IF_C = {"spec": {"(c)": "3", "a": "1"}}
ONLY_IF_D = {"spec": {"<(d)": "4"}}

LEFT_ALONE = [
    ([FIRST, SECOND], {"a": "1", "b": "2"}, "pass", "validation rule 'r' anyPattern[0] passed."),
    ([FIRST, SECOND], {"b": "2"}, "pass", "validation rule 'r' anyPattern[1] passed."),
    (
        [ONLY_IF_C, SECOND],
        {"c": "4", "b": "2"},
        "pass",
        "validation rule 'r' anyPattern[1] passed.",
    ),
    (
        [ONLY_IF_C],
        {"c": "4"},
        "skip",
        (
            "rule r[0] skipped: conditional anchor mismatch: resource value '4' does not match '3' "
            "at path /spec/c/"
        ),
    ),
]

FIRES = [
    (
        [FIRST, SECOND],
        {},
        "no",
        "no. rule r[0] failed at path /spec/a/ rule r[1] failed at path /spec/b/",
    ),
    (
        [FIRST, SECOND],
        {},
        "",
        "rule r[0] failed at path /spec/a/ rule r[1] failed at path /spec/b/",
    ),
    ([ONLY_IF_C, SECOND], {"c": "4"}, "no.", "no. rule r[1] failed at path /spec/b/"),
    (
        [FIRST],
        {},
        "{{ request.object.spec.missing }}",
        "variables substitution error in rule r execution error: rule r[0] failed at path /spec/a/",
    ),
]


@pytest.mark.parametrize(("patterns", "spec", "status", "message"), LEFT_ALONE)
def test_one_pattern_fits_or_none_applies(run, pod, verdicts, patterns, spec, status, message):
    found = run({"validate": {"message": "no", "anyPattern": patterns}}, pod(**spec))
    assert verdicts(found) == [("r", status, message)]


@pytest.mark.parametrize(("patterns", "spec", "text", "message"), FIRES)
def test_no_pattern_fits(run, pod, verdicts, patterns, spec, text, message):
    found = run({"validate": {"message": text, "anyPattern": patterns}}, pod(**spec))
    assert verdicts(found) == [("r", "fail", f"validation error: {message}")]


def test_two_patterns_that_do_not_apply_are_both_told(run, pod, verdicts):
    patterns = [ONLY_IF_C, ONLY_IF_D]
    ((_, status, message),) = verdicts(
        run({"validate": {"anyPattern": patterns}}, pod(c="0", d="0"))
    )
    assert status == "skip"
    assert "rule r[0] skipped: conditional" in message
    assert " rule r[1] skipped: global" in message


def test_a_fault_without_a_place_is_a_failure_here(run, pod, verdicts):
    broken = {"spec": {"^(volumes)": [{"name": "v"}], "nodeName": "n1"}}
    ((_, status, message),) = verdicts(run({"validate": {"anyPattern": [broken]}}, pod()))
    assert status == "fail"
    assert message.startswith("validation error: rule r[0] failed: resource value '<nil>'")


def test_a_pattern_whose_variable_has_no_value_is_an_error(run, pod, verdicts):
    patterns = [FIRST, {"spec": {"a": "{{ request.object.spec.missing }}"}}]
    ((_, status, message),) = verdicts(run({"validate": {"anyPattern": patterns}}, pod(a="1")))
    assert (status, message.partition(":")[0]) == ("error", "variable substitution failed")


def test_deletions_have_nothing_to_look_at(run, pod):
    gone = {"operation": Operation.DELETE, "old_object": pod(), "object": None}
    assert run({"validate": {"anyPattern": [FIRST]}}, pod(), **gone).responses == ()


NOT_LISTS = [(5, "number"), (True, "bool"), ("ab", "string"), ({"a": "b"}, "object")]


@pytest.mark.parametrize(("written", "kind"), NOT_LISTS)
def test_patterns_of_a_loop_that_are_not_a_list_are_an_error(run, pod, verdicts, written, kind):
    loop = {"list": "request.object.spec.ports", "anyPattern": written}
    found = run({"validate": {"message": "no", "foreach": [loop]}}, pod(ports=[{"port": 1}]))
    assert verdicts(found) == [
        (
            "r",
            "error",
            (
                "validation failure: failed to deserialize anyPattern, expected type array: "
                f"json: cannot unmarshal {kind} into Go value of type []interface {{}}"
            ),
        )
    ]
