"""What a run finds across its objects, and mutations that are not idempotent."""

import pytest

from kyvsim.api.apply import counted_responses
from kyvsim.model.policy import Policy, PolicyFacts, Rule, RuleFacts
from kyvsim.model.result import EngineResponse, Phase, PolicyResponse, RuleResult, RuleStatus
from kyvsim.report.run import ResultCounts
from kyvsim.report.style import painter
from kyvsim.report.text_blocks import Collisions, generation_lines, repeat_blocks, repeat_entries

# Objects that are generated more than once: what reports say of them.

POLICY = Policy("ClusterPolicy", "p", "", {}, {}, (), None, PolicyFacts("kyverno.io/v1"))


def config_map(text, trigger=""):
    labels = {"generate.kyverno.io/trigger-uid": trigger}
    meta = {"name": "cm", "namespace": "shop", "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a": text}}


def response(name, *objects):
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop"}}
    rule = Rule("r", {"generate": {}}, (), RuleFacts())
    result = RuleResult(rule, Phase.GENERATE, RuleStatus.PASS, "", objects)
    return EngineResponse(pod, pod, (PolicyResponse(POLICY, Phase.GENERATE, pod, (result,)),))


def gathered(*responses):
    return Collisions([line for one in responses for line in generation_lines(one)])


def test_one_object_is_no_collision():
    found = gathered(response("a", config_map("x")), response("b"))
    assert list(found.found()) == []
    assert list(found.lines(painter(colours=False))) == []


@pytest.mark.parametrize(("text", "same"), [("x", True), ("y", False)])
def test_labels_of_the_trigger_are_no_difference(text, same):
    found = gathered(response("a", config_map("x", "1")), response("b", config_map(text, "2")))
    (told,) = found.entries()
    assert told["same"] is same
    assert [one["trigger"]["name"] for one in told["by"]] == ["a", "b"]
    assert told["object"]["name"] == "cm"


def test_only_some_of_many_triggers_are_named():
    found = gathered(*(response(name, config_map("x")) for name in "abcde"))
    text = "".join(found.lines(painter(colours=False)))
    assert "ConfigMap shop/cm: the same each time\n" in text
    assert "policy p, rule r for Pod shop/c\n" in text
    assert "and 2 more\n" in text
    assert "Pod shop/d" not in text


# What changes again: counted, told as a block, and as entries of the JSON document.

TWICE = Policy("ClusterPolicy", "p", "", {}, {}, (), None, PolicyFacts("kyverno.io/v1"))


def pod(*arguments):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "args": list(arguments)}


def answer(obj, rule):
    result = RuleResult(Rule(rule, {}, (), RuleFacts()), Phase.MUTATE, RuleStatus.PASS, "")
    return PolicyResponse(TWICE, Phase.MUTATE, obj, (result,), changed=True)


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
    fails = PolicyResponse(TWICE, Phase.MUTATE, pod("x"), (result,))
    response = STABLE._replace(repeated=(fails,))
    (entry,) = repeat_entries(response)
    assert (entry["rules"], entry["error"]) == (["r"], "bad path")
    (told,) = repeat_blocks(response, painter(colours=False))
    assert told.splitlines()[:2] == [
        "  failed the second time: policy p, rule r",
        " " * 9 + "bad path",
    ]
