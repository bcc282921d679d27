"""Criteria of `resources`: each alone, on objects that have what it asks for and that have not."""

import pytest
from match_blocks import criteria, exception_match, rule_match

from kyvsim.model.ports import Budget, BudgetError, Meter
from kyvsim.model.request import Operation


def holds(block, facts):
    return all(criterion(facts) for criterion in criteria({"resources": block}))


@pytest.mark.parametrize(
    ("block", "matched"),
    [
        ({"name": "web"}, True),
        ({"name": "w*"}, True),
        ({"name": "w"}, False),
        ({"names": ["a", "w??"]}, True),
        ({"names": ["a", "b"]}, False),
        ({"namespaces": ["shop"]}, True),
        ({"namespaces": ["a", "s*p"]}, True),
        ({"namespaces": ["other"]}, False),
        ({"operations": ["CREATE", "UPDATE"]}, True),
        ({"operations": ["DELETE"]}, False),
        ({"annotations": {"team": "a"}}, True),
        ({"annotations": {"te*": "?"}}, True),
        ({"annotations": {"team": "a", "x": "*"}}, False),
        ({"annotations": {"team": "b"}}, False),
        ({"selector": {"matchLabels": {"app": "web"}}}, True),
        ({"selector": {"matchLabels": {"app": "w*"}}}, True),
        ({"selector": {"matchLabels": {"app": "db"}}}, False),
        ({"selector": {}}, True),
        (
            {
                "selector": {
                    "matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]
                }
            },
            True,
        ),
        ({"selector": {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}}, False),
        ({"selector": {"matchExpressions": [{"key": "app", "operator": "Like"}]}}, False),
        ({"namespaceSelector": {"matchLabels": {"env": "prod"}}}, True),
        ({"namespaceSelector": {"matchLabels": {"env": "dev"}}}, False),
        ({"kinds": ["Pod"], "names": ["web"], "namespaces": ["shop"]}, True),
        ({"kinds": ["Pod"], "names": ["web"], "namespaces": ["other"]}, False),
    ],
)
def test_a_criterion_and_a_pod(facts, block, matched):
    pod = facts(
        labels={"app": "web"}, metadata={"annotations": {"team": "a"}}, given={"env": "prod"}
    )
    assert holds(block, pod) is matched


@pytest.mark.parametrize("block", [{}, {"names": []}, {"kinds": None}, {"selector": None}])
def test_empty_criteria_are_none(block):
    assert criteria({"resources": block}) == []


@pytest.mark.parametrize(
    ("block", "matched"),
    [
        ({"namespaces": ["shop"]}, True),
        ({"namespaces": ["other"]}, False),
        ({"namespaceSelector": {}}, False),
        ({"namespaceSelector": {"matchLabels": {"env": "prod"}}}, False),
    ],
)
def test_a_namespace_lies_in_itself_but_no_namespace_selector_finds_it(facts, block, matched):
    assert holds(block, facts("Namespace", "shop", "", given={"env": "prod"})) is matched


@pytest.mark.parametrize(
    ("block", "matched"),
    [
        ({"namespaces": ["*"]}, True),
        ({"namespaces": ["?*"]}, False),
        (
            {"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}},
            True,
        ),
        ({"namespaceSelector": {"matchLabels": {"env": "prod"}}}, False),
    ],
)
def test_cluster_scoped_objects_have_an_empty_namespace_without_labels(facts, block, matched):
    assert holds(block, facts("ClusterRole", "admin", "")) is matched


def test_an_object_without_a_name_goes_by_the_one_it_will_get(facts):
    made = facts(name="", metadata={"generateName": "job-"})
    assert holds({"names": ["job-*"]}, made)
    assert not holds({"names": ["web"]}, made)


def test_an_object_without_a_kind_passes_namespace_selectors(facts):
    assert holds({"namespaceSelector": {"matchLabels": {"env": "prod"}}}, facts(""))


def test_operations_are_those_of_the_request(facts):
    assert holds({"operations": ["DELETE"]}, facts(operation=Operation.DELETE))
    assert not holds({"operations": ["CREATE"]}, facts(operation=Operation.DELETE))


_MANY = {f"*{n}*": "?*" for n in range(50)}
_FILTERS = [{"resources": {"annotations": {f"*z{n}": "?*"}}} for n in range(50)]


@pytest.mark.parametrize(
    "block",
    [
        {"resources": {"annotations": _MANY}},
        {"resources": {"selector": {"matchLabels": _MANY}}},
        {"resources": {"kinds": ["Pod"], "namespaceSelector": {"matchLabels": _MANY}}},
        {"any": _FILTERS},
        {"all": [{"resources": {"kinds": ["Pod"]}}, {"resources": {"annotations": _MANY}}]},
    ],
)
@pytest.mark.parametrize("role", ["match", "exclude", "exception"])
def test_wildcard_keys_count_their_comparisons(facts, block, role):
    held = {f"label-{n}": "v" for n in range(40)}
    pod = facts(labels=held, metadata={"annotations": held}, given=held)
    meter = Meter(Budget(rule=1000))
    everything = {"resources": {"kinds": ["*"]}}
    applies = {
        "match": lambda: rule_match(block, None, "", meter=meter),
        "exclude": lambda: rule_match(everything, block, "", meter=meter),
        "exception": lambda: exception_match(block, meter=meter),
    }[role]()
    with pytest.raises(BudgetError):
        applies(pod)


def test_few_wildcard_keys_and_plain_keys_cost_nothing(facts):
    meter = Meter(Budget(rule=10))
    block = {"resources": {"annotations": {"te*": "?", **{f"key-{n}": "v" for n in range(99)}}}}
    rule_match(block, None, "", meter=meter)(facts(metadata={"annotations": {"team": "a"}}))
    assert meter.left == 10
