"""Rows, statuses and counts."""

import pytest

from kyvsim.api.apply import counted_responses
from kyvsim.model.result import (
    EngineResponse,
    PassingPolicies,
    Phase,
    PolicyPasses,
    PolicyResponse,
    RuleStatus,
)
from kyvsim.report.results import Summary, compile_rows, is_audit, summary_of
from kyvsim.report.run import ResultCounts

POD = {"kind": "Pod", "metadata": {"name": "p", "namespace": "shop-eu"}}


def answer(make, **fields):
    policy = make.policy("p", "r", **fields)
    failed = make.result(policy, Phase.VALIDATE, RuleStatus.FAIL)
    return PolicyResponse(policy, Phase.VALIDATE, POD, (failed,))


def statuses(found, *, audit_warn):
    response = EngineResponse(POD, POD, (found,))
    return [row.status for row in compile_rows(audit_warn=audit_warn)(response)]


def test_the_summary_line():
    found = summary_of(("pass", "fail", "fail", "skip"))
    assert str(found) == "pass: 1, fail: 2, warn: 0, error: 0, skip: 1"
    assert found == Summary(1, 2, 0, 0, 1)


def test_failures_of_policies_that_are_not_scored_are_warnings(make):
    unscored = answer(make, annotations={"policies.kyverno.io/scored": "false"})
    assert statuses(unscored, audit_warn=False) == ["warn"]
    assert statuses(answer(make), audit_warn=False) == ["fail"]


def test_audit_warn_turns_failures_of_audit_policies_into_warnings(make):
    assert statuses(answer(make), audit_warn=True) == ["warn"]
    assert statuses(answer(make, validationFailureAction="enforce"), audit_warn=True) == ["fail"]


def rule(action, **fields):
    return {"validate": {"failureAction": action, **fields}}


def override(action, **fields):
    return {"action": action, **fields}


@pytest.mark.parametrize(
    ("spec", "audit"),
    [
        ({}, True),
        ({"validationFailureAction": "Enforce"}, False),
        ({"validationFailureAction": "Enforce", "rules": [{"validate": {}}, rule("Audit")]}, True),
        ({"rules": [rule("Enforce"), rule("Audit")]}, False),
        (
            {
                "rules": [
                    rule(
                        "Audit", failureActionOverrides=[override("Enforce", namespaces=["shop-*"])]
                    )
                ]
            },
            False,
        ),
        (
            {
                "rules": [
                    rule("Audit", failureActionOverrides=[override("Enforce", namespaces=["bank"])])
                ]
            },
            True,
        ),
        ({"validationFailureActionOverrides": [override("Enforce")]}, False),
        ({"validationFailureActionOverrides": [override("what"), override("enforce")]}, False),
        (
            {
                "validationFailureActionOverrides": [
                    override("Enforce", namespaceSelector={"matchLabels": {"a": "b"}})
                ]
            },
            False,
        ),
        (
            {
                "validationFailureActionOverrides": [
                    override("Enforce", namespaceSelector={"matchLabels": {"a": "c"}})
                ]
            },
            True,
        ),
        (
            {
                "rules": [
                    {"verifyImages": [{"failureAction": "Audit"}, {"failureAction": "Enforce"}]}
                ]
            },
            False,
        ),
    ],
)
def test_the_action_for_an_object(make, spec, audit):
    assert is_audit(answer(make, **spec), {"a": "b"}) is audit


def test_a_mutate_row_names_the_object_as_it_was_before(make):
    policy = make.policy("p", "r")
    renamed = {"kind": "Pod", "metadata": {"name": "q"}}
    passed = make.result(policy, Phase.MUTATE, RuleStatus.PASS)
    checked = make.result(policy, Phase.VALIDATE, RuleStatus.PASS)
    response = EngineResponse(
        POD,
        renamed,
        (
            PolicyResponse(policy, Phase.MUTATE, renamed, (passed,), changed=True),
            PolicyResponse(policy, Phase.VALIDATE, renamed, (checked,)),
        ),
    )
    rows = compile_rows(audit_warn=False)(response)
    assert [row.resource["metadata"]["name"] for row in rows] == ["p", "q"]


def test_rows_of_mutating_policies_name_the_object_that_was_given_to_the_first(make):
    classic = make.policy("p", "r")
    together = [
        classic._replace(kind=kind) for kind in ("MutatingPolicy", "NamespacedMutatingPolicy")
    ]
    judging = classic._replace(kind="ValidatingPolicy")
    names = iter("qrst")
    answers = []
    for policy in (classic, together[0], together[1], classic):
        changed = {"kind": "Pod", "metadata": {"name": next(names)}}
        passed = make.result(policy, Phase.MUTATE, RuleStatus.PASS)
        answers.append(PolicyResponse(policy, Phase.MUTATE, changed, (passed,), changed=True))
    checked = make.result(judging, Phase.VALIDATE, RuleStatus.PASS)
    answers.append(PolicyResponse(judging, Phase.VALIDATE, changed, (checked,)))
    rows = compile_rows(audit_warn=False)(EngineResponse(POD, changed, tuple(answers)))
    assert "".join(row.resource["metadata"]["name"] for row in rows) == "pqqst"


def test_untold_results_are_left_out(make):
    rows_of = compile_rows(audit_warn=False, hidden=frozenset({"fail"}))
    assert list(rows_of(EngineResponse(POD, POD, (answer(make),)))) == []


@pytest.mark.parametrize(("hidden", "shown"), [(frozenset(), 2), (frozenset({"pass"}), 0)])
def test_passes_that_objects_share_count_and_show_as_others_do(make, hidden, shown):
    policy = make.policy("p", "r")
    results = (make.result(policy, Phase.VALIDATE, RuleStatus.PASS),)
    passing = PassingPolicies((PolicyPasses(policy, results),) * 2, Phase.VALIDATE, POD)
    response = EngineResponse(POD, POD, (passing,))
    result_counts = ResultCounts()
    assert list(counted_responses([response], result_counts)) == [response]
    assert (result_counts.summary(), result_counts.unmatched) == (Summary(2, 0, 0, 0, 0), 0)
    assert len(list(compile_rows(audit_warn=True, hidden=hidden)(response))) == shown


@pytest.mark.parametrize("audit_warn", [True, False])
def test_a_run_counts_what_rows_show(make, audit_warn):
    """Whatever shows a run, and if it shows nothing: its results count."""
    unscored = answer(make, annotations={"policies.kyverno.io/scored": "false"})
    enforced = answer(make, validationFailureAction="Enforce")
    responses = [EngineResponse(POD, POD, (one,)) for one in (unscored, enforced, answer(make))]
    rows_of, result_counts = (
        compile_rows(audit_warn=audit_warn),
        ResultCounts(audit_warn=audit_warn),
    )
    counted = counted_responses(responses, result_counts)
    shown = [row.status for one in counted for row in rows_of(one)]
    assert result_counts.summary() == summary_of(shown)
    assert result_counts.summary().warned == (2 if audit_warn else 1)


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"failMessage": "own", "passMessage": "other"}, "own"),
        ({"failMessage": "own", "message": "general"}, "general"),
        ({"failMessage": "", "passMessage": "other"}, "said"),
    ],
)
def test_properties_may_give_the_message_of_a_result(make, properties, message):
    policy = make.policy("p", "r")
    failed = make.result(policy, Phase.VALIDATE, RuleStatus.FAIL)
    failed = failed._replace(message="said", properties=properties)
    found = PolicyResponse(policy, Phase.VALIDATE, POD, (failed,))
    rows = compile_rows(audit_warn=False)(EngineResponse(POD, POD, (found,)))
    assert [row.result.message for row in rows] == [message]
