"""Objects that are generated more than once: what reports say of them."""

import pytest

from kyvsim.model.policy import Policy, PolicyFacts, Rule, RuleFacts
from kyvsim.model.result import EngineResponse, Phase, PolicyResponse, RuleResult, RuleStatus
from kyvsim.report.related_objects import Collisions, collision_entry, collision_lines
from kyvsim.report.style import painter

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
    found = Collisions()
    for one in responses:
        found.add(one)
    return found


def test_one_object_is_no_collision():
    found = gathered(response("a", config_map("x")), response("b"))
    assert list(found.found()) == []
    assert list(collision_lines(found, painter(colours=False))) == []


@pytest.mark.parametrize(("text", "same"), [("x", True), ("y", False)])
def test_labels_of_the_trigger_are_no_difference(text, same):
    found = gathered(response("a", config_map("x", "1")), response("b", config_map(text, "2")))
    (collision,) = found.found()
    told = collision_entry(collision)
    assert told["same"] is same
    assert [one["trigger"]["name"] for one in told["by"]] == ["a", "b"]
    assert told["object"]["name"] == "cm"


def test_only_some_of_many_triggers_are_named():
    found = gathered(*(response(name, config_map("x")) for name in "abcde"))
    text = "".join(collision_lines(found, painter(colours=False)))
    assert "ConfigMap shop/cm: the same each time\n" in text
    assert "policy p, rule r for Pod shop/c\n" in text
    assert "and 2 more\n" in text
    assert "Pod shop/d" not in text
