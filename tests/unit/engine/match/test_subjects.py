import pytest
from match_blocks import criteria

from kyvsim.model.request import UserInfo


def holds(block, facts):
    return all(criterion(facts) for criterion in criteria(block))


def subjects(kind, name, **more):
    return {"subjects": [{"kind": kind, "name": name, **more}]}


@pytest.mark.parametrize(
    ("block", "matched"),
    [
        ({"roles": ["x", "shop:edit"]}, True),
        ({"roles": ["edit"]}, False),
        ({"roles": ["shop:*"]}, False),
        ({"clusterRoles": ["view", "x"]}, True),
        ({"clusterRoles": ["v*"]}, False),
        (subjects("User", "alice"), True),
        (subjects("User", "a*"), True),
        (subjects("User", "bob"), False),
        (subjects("Group", "ops"), True),
        (subjects("Group", "o??"), True),
        (subjects("Group", "alice"), False),
        (subjects("Robot", "alice"), False),
        (subjects("ServiceAccount", "alice", namespace="shop"), False),
        ({"subjects": [{"kind": "User", "name": "bob"}, {"kind": "Group", "name": "dev"}]}, True),
        ({"roles": ["shop:edit"], "clusterRoles": ["view"], **subjects("User", "alice")}, True),
        ({"roles": ["shop:edit"], "clusterRoles": ["edit"]}, False),
        ({"clusterRoles": ["view"], **subjects("User", "bob")}, False),
    ],
)
def test_criteria_and_alice(facts, alice, block, matched):
    assert holds(block, facts(user=alice)) is matched


@pytest.mark.parametrize(
    ("namespace", "name", "matched"),
    [
        ("shop", "robot", True),
        ("shop", "*", True),
        ("*", "robot", True),
        ("other", "robot", False),
        ("", "robot", False),
    ],
)
def test_a_service_account_is_named_by_namespace_and_name(facts, namespace, name, matched):
    robot = facts(user=UserInfo("system:serviceaccount:shop:robot"))
    assert holds(subjects("ServiceAccount", name, namespace=namespace), robot) is matched


@pytest.mark.parametrize(
    ("block", "matched"),
    [
        (subjects("User", "*"), True),
        (subjects("User", "?*"), False),
        (subjects("Group", "*"), False),
        ({"roles": ["a"]}, False),
        ({"clusterRoles": ["a"]}, False),
    ],
)
def test_nobody_has_an_empty_name_and_nothing_else(facts, block, matched):
    assert holds(block, facts()) is matched


@pytest.mark.parametrize("block", [{}, {"roles": []}, {"subjects": None}])
def test_empty_criteria_are_none(block):
    assert criteria(block) == []
