"""What changes again: counted, told as a block, and as entries of the JSON document."""

from kyvsim.api.apply import counted_responses
from kyvsim.model.policy import Policy, PolicyFacts, Rule, RuleFacts
from kyvsim.model.result import EngineResponse, Phase, PolicyResponse, RuleResult, RuleStatus
from kyvsim.report.run import ResultCounts
from kyvsim.report.style import painter
from kyvsim.report.text_blocks import repeat_blocks, repeat_entries

POLICY = Policy("ClusterPolicy", "p", "", {}, {}, (), None, PolicyFacts("kyverno.io/v1"))


def pod(*arguments):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "args": list(arguments)}


def answer(obj, rule):
    result = RuleResult(Rule(rule, {}, (), RuleFacts()), Phase.MUTATE, RuleStatus.PASS, "")
    return PolicyResponse(POLICY, Phase.MUTATE, obj, (result,), changed=True)


STABLE = EngineResponse(pod(), pod("x"), ())
GROWS = STABLE._replace(
    repeated=(answer(pod("x", "b"), "first"), answer(pod("x", "b", "c"), "second"))
)


def test_a_stable_object_is_not_told():
    assert list(repeat_entries(STABLE)) == []
    assert list(repeat_blocks(STABLE, painter(colours=False))) == []


def test_each_policy_is_told_with_its_own_change():
    told = list(repeat_entries(GROWS))
    assert [(one["rules"], one["diff"]) for one in told] == [
        (["first"], ["+- b"]),
        (["second"], ["+- c"]),
    ]
    first, second = repeat_blocks(GROWS, painter(colours=False))
    assert "changed again by policy p, rule first\n" in first
    assert "+ - b\n" in first
    assert "+ - c\n" in second


def test_changes_are_counted_while_responses_pass_by():
    result_counts = ResultCounts()
    assert list(counted_responses([STABLE, GROWS], result_counts)) == [STABLE, GROWS]
    assert result_counts.unstable == 2


def test_a_rule_that_fails_the_second_time_is_told_with_its_message():
    result = RuleResult(Rule("r", {}, (), RuleFacts()), Phase.MUTATE, RuleStatus.ERROR, "bad path")
    fails = PolicyResponse(POLICY, Phase.MUTATE, pod("x"), (result,))
    response = STABLE._replace(repeated=(fails,))
    (entry,) = repeat_entries(response)
    assert (entry["rules"], entry["error"]) == (["r"], "bad path")
    (told,) = repeat_blocks(response, painter(colours=False))
    assert told.splitlines()[:2] == [
        "  failed the second time: policy p, rule r",
        " " * 9 + "bad path",
    ]
