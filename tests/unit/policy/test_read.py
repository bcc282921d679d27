"""Every part of a rule is in its tree, at its path."""

from importlib import import_module
from typing import get_args

import pytest

from kyvsim.kubernetes.wildcard import Comparison
from kyvsim.policy import cel_policy, images, rule, tree
from kyvsim.policy.nodes import Node
from kyvsim.policy.read import pattern_node, read_conditions, read_match
from kyvsim.policy.rule import read_rule
from kyvsim.policy.tree import Condition, Pattern, PatternEntry, PatternLeaf, ResourceFilter
from kyvsim.policy.visit import walk

_RULE = {
    "name": "all-parts",
    "match": {"any": [{"resources": {"kinds": ["Pod"]}, "subjects": [{"kind": "User"}]}]},
    "exclude": {"resources": {"namespaces": ["kube-*"]}},
    "preconditions": {"all": [{"key": "a", "operator": "Equals", "value": 1}]},
    "validate": {
        "foreach": [
            {
                "list": "request.object.spec.containers",
                "foreach": [
                    {
                        "list": "element.ports",
                        "deny": {"conditions": [{"key": "b", "operator": "In", "value": []}]},
                    }
                ],
            },
            {"list": "x", "pattern": {"=(spec)": {"^(containers)": [{"image": "!*:latest"}]}}},
        ]
    },
}


def _paths(kind):
    return [one.path for one in walk(read_rule(_RULE, ("spec", "rules", 0))) if type(one) is kind]


def _at(path):
    found = {"spec": {"rules": [_RULE]}}
    for step in path:
        found = found[step]
    return found


def test_each_node_knows_its_path():
    for one in walk(read_rule(_RULE, ("spec", "rules", 0))):
        assert _at(one.path) is not None


def test_conditions_of_all_blocks():
    deny = ("validate", "foreach", 0, "foreach", 0, "deny", "conditions", 0)
    assert _paths(Condition) == [
        ("spec", "rules", 0, "preconditions", "all", 0),
        ("spec", "rules", 0, *deny),
    ]


def test_filters_and_patterns():
    assert len(_paths(ResourceFilter)) == 3
    assert len(_paths(Pattern)) == 1
    found = walk(read_rule(_RULE, ()))
    anchors = [(one.anchor, one.key) for one in found if isinstance(one, PatternEntry)]
    assert anchors == [("=", "spec"), ("^", "containers"), (None, "image")]


def test_fields_that_autogen_put_there_have_the_path_of_what_is_written():
    written = {"(a)": ["b | >1"]}
    root = pattern_node({"spec": {"template": written}}, ("pattern",), ("spec", "template"))
    places = [(one.key, one.path) for one in walk(root) if isinstance(one, PatternEntry)]
    assert places == [
        ("spec", ("pattern",)),
        ("template", ("pattern",)),
        ("a", ("pattern", "(a)")),
    ]
    (leaf,) = (one for one in walk(root) if isinstance(one, PatternLeaf))
    assert leaf.path == ("pattern", "(a)", 0)
    assert leaf.alternatives == ((Comparison("", "b"),), (Comparison(">", "1"),))


def test_filters_of_a_block_in_their_order():
    one, two, three = ({"resources": {"kinds": [kind]}} for kind in ("Pod", "Job", "Secret"))
    block = read_match({"any": [one, two], "all": [three], "roles": ["a:b"]}, ("match",))
    assert [(one.path, one.kinds, one.names_users) for one in block.filters] == [
        (("match", "any", 0), ("Pod",), False),
        (("match", "any", 1), ("Job",), False),
        (("match", "all", 0), ("Secret",), False),
        (("match",), (), True),
    ]
    assert block.effective == block.any


def test_an_empty_list_differs_from_none():
    empty, none = (read_match({"resources": one}, ()).own for one in ({"names": []}, {"name": ""}))
    assert empty != none
    assert (empty.has_resources, none.has_resources) == (True, False)
    users = read_match({"roles": []}, ())
    assert (users.own.has_users, users.own.names_users, users.is_empty) == (True, False, False)
    assert read_match(None, ()).is_empty
    assert read_rule({}, ()).exclude is None


def test_a_list_of_bare_conditions_is_a_group_for_each():
    read = read_conditions([{"key": 1}, {"key": 2}], ("preconditions",))
    assert [group.conditions[0].key for group in read.groups] == [1, 2]
    assert [group.path for group in read.groups] == [("preconditions", 0), ("preconditions", 1)]


def test_bare_conditions_beside_groups_count_as_nothing():
    read = read_conditions([{"any": [{"key": 1}]}, {"key": 2}], ())
    assert [group.is_bare for group in read.groups] == [False, True]
    assert read.effective == read.groups[:1]


@pytest.mark.parametrize("fields", [{"any": [], "operator": "Equals"}, {"all": [1]}, {"any": "x"}])
def test_a_condition_of_a_list_stays_one_whatever_else_it_has(fields):
    (group,) = read_conditions([{"key": 1, **fields}], ()).effective
    assert group.is_bare
    assert group.conditions[0].key == 1


def test_data_that_cannot_be_conditions():
    assert read_conditions("x", ()).problem.startswith("conditions must be a list")
    assert read_conditions({"any": [1]}, ()).problem == "a condition must be a mapping"
    assert read_conditions([{"operator": 1}], ()).problem.startswith("`operator` of a condition")
    assert read_conditions({"any": []}, ()).never_hold


OF_CEL_POLICIES = {
    *("ResourceRule", "MatchConstraints", "Mutation", "Template", "Generation", "ImageReference"),
    *("AttestorExpression", "CelAttestor", "CelPolicyNode", "BindingNode", "PlacedExpression"),
}
"""Nodes of policies in CEL, which the rules of a ClusterPolicy cannot contain."""


def test_every_class_of_nodes_is_a_node():
    modules = (cel_policy, images, rule, tree)
    known = [one for module in modules for one in vars(module).values() if isinstance(one, type)]
    nodes = {one for one in known if "path" in dir(one)}
    assert {one for one in nodes if one.__name__ not in OF_CEL_POLICIES} == set(get_args(Node))


def test_every_reader_of_a_section_is_there():
    for place in rule.READERS.values():
        module, name = place.split(".")
        assert callable(getattr(import_module(f"kyvsim.policy.{module}"), name))
