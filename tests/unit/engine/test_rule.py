"""One rule: match, context, preconditions, exceptions, body, in this order."""

from dataclasses import replace

import pytest

from kyvsim.engine.cluster_views import GivenObjects
from kyvsim.engine.policy import evaluate_rule, open_request
from kyvsim.engine.world import World
from kyvsim.model.request import Operation

DENY = {"validate": {"message": "no", "deny": {}}}
DELETED = {"match": {"any": [{"resources": {"kinds": ["Pod"], "operations": ["DELETE"]}}]}}
MISSING = "{{ request.object.spec.missing }}"
EXCEPTED = "rule is skipped due to policy exceptionsex/x"


def when(key, value):
    return {"all": [{"key": key, "operator": "Equals", "value": value}]}


CASES = [
    ({**DENY}, "fail", "no"),
    ({**DENY, "preconditions": when("a", "a")}, "fail", "no"),
    ({**DENY, "preconditions": when("a", "b")}, "skip", "preconditions not met"),
    ({**DENY, "preconditions": {"any": []}}, "skip", "preconditions not met"),
    ({**DENY, "preconditions": {"all": []}}, "fail", "no"),
    (
        {
            **DENY,
            "preconditions": {"any": [{**when("a", "b")["all"][0], "message": "a is not b"}]},
        },
        "skip",
        "preconditions not met; a is not b",
    ),
    ({**DENY, "context": [{"name": "c", "variable": {"value": MISSING}}]}, "fail", "no"),
    (
        {
            **DENY,
            "context": [{"name": "c", "variable": {"jmesPath": "request.object.metadata.name"}}],
            "preconditions": when("{{ c }}", "web"),
        },
        "fail",
        "no",
    ),
]


@pytest.mark.parametrize(("rule", "status", "message"), CASES)
def test_a_rule_runs_if_its_preconditions_are_met(run, pod, verdicts, rule, status, message):
    assert verdicts(run(rule, pod())) == [("r", status, message)]


def test_a_rule_that_does_not_match_says_nothing(run, thing, verdicts):
    assert verdicts(run({**DENY, "preconditions": when(MISSING, "a")}, thing("Service"))) == []


def test_preconditions_without_a_value_are_an_error(run, pod, verdicts):
    ((_, status, message),) = verdicts(run({**DENY, "preconditions": when(MISSING, "a")}, pod()))
    assert status == "error"
    assert message.startswith("failed to evaluate preconditions: ")


def test_an_entry_without_a_value_is_an_error_where_it_is_used(run, pod, verdicts):
    entry = {"name": "c", "variable": {"jmesPath": "request.object.spec.missing"}}
    rule = {**DENY, "context": [entry], "preconditions": when("{{ c }}", "a")}
    ((_, status, message),) = verdicts(run(rule, pod()))
    assert status == "error"
    assert "failed to apply jmespath request.object.spec.missing" in message


@pytest.mark.parametrize(
    ("spec", "status", "message"),
    [
        ({}, "skip", EXCEPTED),
        ({"conditions": when("{{ request.object.metadata.name }}", "web")}, "skip", EXCEPTED),
        ({"conditions": when("{{ request.object.metadata.name }}", "db")}, "fail", "no"),
        ({"conditions": when(MISSING, "a")}, "fail", "no"),
        ({"match": {"any": [{"resources": {"kinds": ["Service"]}}]}}, "fail", "no"),
        (
            {"match": {"any": [{"resources": {"kinds": ["Pod"], "names": ["w*"]}}]}},
            "skip",
            EXCEPTED,
        ),
    ],
)
def test_an_exception_that_covers_the_object_skips_the_rule(
    run, pod, exception, verdicts, spec, status, message
):
    found = run(DENY, pod(), exceptions=[exception("p", "r", **spec)])
    assert verdicts(found) == [("r", status, message)]


def test_several_exceptions_are_all_named(run, pod, exception, verdicts):
    given = [exception("p", "r"), exception("p", "*", name="y")]
    assert verdicts(run(DENY, pod(), exceptions=given)) == [("r", "skip", f"{EXCEPTED}, ex/y")]


def test_preconditions_are_asked_before_exceptions(run, pod, exception, verdicts):
    rule = {**DENY, "preconditions": when("a", "b")}
    found = run(rule, pod(), exceptions=[exception("p", "r")])
    assert verdicts(found) == [("r", "skip", "preconditions not met")]


GENERATE = {
    "generate": {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "n",
        "namespace": "ns",
        "data": {},
    }
}


def test_generate_rules_ask_for_exceptions_first(run, pod, exception, verdicts):
    rule = {**GENERATE, "preconditions": when(MISSING, "a")}
    found = run(rule, pod(), exceptions=[exception("p", "r")])
    assert verdicts(found) == [("r", "skip", "rule is skipped due to policy exception ex/x")]


def test_a_skipped_generate_rule_has_no_message_and_says_why_beside_it(run, pod, verdicts):
    found = run({**GENERATE, "preconditions": when("a", "b")}, pod())
    assert verdicts(found) == [("r", "skip", "")]
    ((result,),) = (one.results for one in found.responses)
    assert result.own == "preconditions not met"


def test_an_exception_without_a_namespace_is_named_without_a_slash(run, pod, exception, verdicts):
    given = replace(exception("p", "r"), namespace="")
    (message,) = (text for *_, text in verdicts(run(DENY, pod(), exceptions=[given])))
    assert message == "rule is skipped due to policy exceptionsx"


def test_generate_rules_word_the_error_of_preconditions_in_their_own_way(run, pod, verdicts):
    ((_, status, message),) = verdicts(
        run({**GENERATE, "preconditions": when(MISSING, "a")}, pod())
    )
    assert status == "error"
    assert message.startswith("failed to evaluate conditions: ")


def test_a_deletion_is_matched_by_the_object_that_goes(run, pod, verdicts):
    rule = {**DENY, "match": {"any": [{"resources": {"kinds": ["Pod"], "operations": ["DELETE"]}}]}}
    assert verdicts(run(rule, pod())) == []
    gone = {"operation": Operation.DELETE, "old_object": pod(), "object": None}
    assert verdicts(run(rule, pod(), **gone)) == [("r", "fail", "no")]


@pytest.mark.parametrize(
    "check",
    [
        {"podSecurity": {"level": "baseline"}},
        {"manifests": {"attestors": [{"entries": [{"keys": {"publicKeys": "k"}}]}]}},
    ],
)
def test_where_nothing_is_said_of_deletions_no_exception_is_asked(
    run, pod, exception, verdicts, check
):
    given = [exception("p", "r")]
    gone = {"operation": Operation.DELETE, "old_object": pod(), "object": None}
    assert [one[1] for one in verdicts(run({"validate": check}, pod(), exceptions=given))] == [
        "skip"
    ]
    assert verdicts(run({**DELETED, "validate": check}, pod(), exceptions=given, **gone)) == []


def raising(error):
    def body(_evaluation):
        raise error

    return body


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            KeyError("oops"),
            "internal error in kyvsim, please report it: KeyError: 'oops'",
        ),
        (RecursionError(), "it is nested too deeply (more than 200 deep is not read)"),
        (MemoryError(), "it takes more memory than there is"),
    ],
)
def test_a_fault_of_evaluation_is_an_error_of_the_rule(
    compiled, policy, pod, request_for, error, message
):
    (compiled_policy,) = compiled(policy(DENY)).policies
    rule = compiled_policy.rules[0]._replace(body=raising(error))
    given = open_request(request_for(pod()), World(GivenObjects([])), "p")
    outcome = evaluate_rule(rule, given)
    assert (outcome.status.value, outcome.message) == ("error", message)


@pytest.mark.parametrize("concerned", [False, True])
def test_a_rule_that_an_object_does_not_concern_says_nothing(
    compiled, policy, pod, request_for, concerned
):
    (compiled_policy,) = compiled(policy(DENY)).policies
    rule = compiled_policy.rules[0]._replace(concerns=lambda _: concerned)
    given = open_request(request_for(pod()), World(GivenObjects([])), "p")
    assert (evaluate_rule(rule, given) is not None) is concerned
