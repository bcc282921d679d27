import copy
import re
from typing import get_args

import pytest

from kyvsim.engine.conditions.operators import OPERATORS
from kyvsim.kubernetes import wildcard
from kyvsim.mutation import mutants_of
from kyvsim.mutation.changes import KINDS
from kyvsim.mutation.mutants import POINTS
from kyvsim.policy.anchors import ANCHORS
from kyvsim.policy.nodes import Node
from kyvsim.policy.rule import read_rule
from kyvsim.policy.tree import ResourceFilter


def mutants(spec):
    rules = enumerate(spec.get("rules", ()))
    trees = [read_rule(one, ("spec", "rules", index)) for index, one in rules]
    return mutants_of({"spec": spec}, trees)


def told(spec):
    """Return kind, what was and what is then, of all mutants of a policy."""
    return [(kind.name, one.was, one.now) for kind, one in mutants(spec)]


def rule(**parts):
    return {
        "rules": [{"name": "r", "match": {"any": [{"resources": {"kinds": ["Pod"]}}]}, **parts}]
    }


def deny(*conditions, word="any"):
    return rule(validate={"deny": {"conditions": {word: [*conditions]}}})


def pattern(node):
    return rule(validate={"pattern": node})


def condition(operator, value, key="{{ request.operation }}"):
    return {"key": key, "operator": operator, "value": value}


ONE = condition("Equals", "a")
TWO = condition("NotEquals", "b")
LEFT_OUT = "left out"
OPERATOR = "operator of a condition"

CASES = {
    "operator of a condition": (
        deny(condition("GreaterThan", "{{ x }}")),
        [
            (OPERATOR, "GreaterThan", "GreaterThanOrEquals"),
            (OPERATOR, "GreaterThan", "LessThanOrEquals"),
        ],
    ),
    "operator of durations": (
        deny(condition("DurationLessThan", "{{ x }}")),
        [
            (OPERATOR, "DurationLessThan", "DurationLessThanOrEquals"),
            (OPERATOR, "DurationLessThan", "DurationGreaterThanOrEquals"),
        ],
    ),
    "value of a condition": (
        deny(condition("Equals", "1Gi")),
        [(OPERATOR, "Equals", "NotEquals"), ("value", '"1Gi"', '"2Gi"')],
    ),
    "one of several values": (
        deny(condition("NotIn", ["a", "b"])),
        [(OPERATOR, "NotIn", "In"), (LEFT_OUT, '"a"', ""), (LEFT_OUT, '"b"', "")],
    ),
    "any or all, and one of several conditions": (
        deny(ONE, TWO),
        [
            ("any or all", "any", "all"),
            (LEFT_OUT, "condition", ""),
            (OPERATOR, "Equals", "NotEquals"),
            ("value", '"a"', '"ax"'),
            (LEFT_OUT, "condition", ""),
            (OPERATOR, "NotEquals", "Equals"),
            ("value", '"b"', '"bx"'),
        ],
    ),
    "preconditions": (
        rule(preconditions={"all": [condition("Equals", "{{ x }}")]}),
        [(LEFT_OUT, "preconditions", ""), (OPERATOR, "Equals", "NotEquals")],
    ),
    "exclude and its filters": (
        rule(exclude={"any": [{"subjects": []}, {"roles": ["a", "b"], "clusterRoles": ["c"]}]}),
        [
            (LEFT_OUT, "exclude", ""),
            ("any or all", "any", "all"),
            (LEFT_OUT, "filter", ""),
            (LEFT_OUT, "filter", ""),
            (LEFT_OUT, "roles", ""),
            (LEFT_OUT, '"a"', ""),
            (LEFT_OUT, '"b"', ""),
            (LEFT_OUT, "clusterRoles", ""),
        ],
    ),
    "what limits a match block, but not its kinds": (
        {"rules": [{"match": {"resources": {"kinds": ["Pod"], "namespaces": ["a", "b"]}}}]},
        [(LEFT_OUT, "namespaces", ""), (LEFT_OUT, '"a"', ""), (LEFT_OUT, '"b"', "")],
    ),
    "values of context entries, and not what others load": (
        rule(
            context=[
                {"name": "x", "variable": {"value": 3}},
                {"name": "y", "configMap": {"name": "z"}},
            ]
        ),
        [("value", "3", "4")],
    ),
    "anchors": (
        pattern({"(a)": {"=(b)": {"X(c)": {"^(d)": {"<(e)": "{{ x }}"}}}}}),
        [
            ("anchor", "(a)", "a"),
            ("anchor", "(a)", "=(a)"),
            ("anchor", "=(b)", "b"),
            ("anchor", "X(c)", "c"),
            ("anchor", "^(d)", "d"),
            ("anchor", "<(e)", "e"),
            ("anchor", "<(e)", "(e)"),
        ],
    ),
    "fields and elements of a pattern": (
        pattern({"a": "?*", "b": [{"c": False}, "{{ x }}"]}),
        [
            (LEFT_OUT, "a", ""),
            ("value of a pattern", "?*", "*"),
            (LEFT_OUT, "b", ""),
            (LEFT_OUT, "element", ""),
            ("value of a pattern", "false", "true"),
            (LEFT_OUT, "element", ""),
        ],
    ),
    "operators and alternatives of a value": (
        pattern({"a": ">=1 & <5 | !none"}),
        [
            ("operator of a pattern", ">=1", ">1"),
            ("operator of a pattern", "<5", "<=5"),
            ("operator of a pattern", "!none", "none"),
            ("value of a pattern", ">=1", ""),
            ("value of a pattern", ">=1", ">=2"),
            ("value of a pattern", "<5", ""),
            ("value of a pattern", "<5", "<6"),
            ("value of a pattern", "!none", ""),
            ("value of a pattern", "!none", "!nonex"),
        ],
    ),
    "ranges and wildcards": (
        pattern({"a": "1-5", "b": "*:latest"}),
        [
            (LEFT_OUT, "a", ""),
            ("value of a pattern", "1-5", "1-6"),
            (LEFT_OUT, "b", ""),
            ("value of a pattern", "*:latest", "*:latestx"),
        ],
    ),
    "one of several patterns": (
        rule(validate={"anyPattern": [{"a": "{{ x }}"}, {"b": "{{ x }}"}]}),
        [(LEFT_OUT, "pattern", ""), (LEFT_OUT, "pattern", "")],
    ),
    "patches and generated data": (
        {
            "rules": [
                {"mutate": {"patchStrategicMerge": {"+(a)": 1}}, "generate": {"data": {"b": "x"}}}
            ]
        },
        [("anchor", "+(a)", "a"), ("value", "1", "2"), ("value", '"x"', '"xx"')],
    ),
    "level": (
        rule(validate={"podSecurity": {"level": "baseline"}}),
        [("level", "baseline", "restricted")],
    ),
    "operators and constants of CEL": (
        {"validations": [{"expression": "!a.all(x, x < 1 && x != 'b')", "message": "m"}]},
        [
            ("operator in CEL", "!", ""),
            ("operator in CEL", "all", "exists"),
            ("operator in CEL", "<", "<="),
            ("operator in CEL", "&&", "||"),
            ("operator in CEL", "!=", "=="),
            ("constant in CEL", "1", "2"),
            ("constant in CEL", "'b'", "'bx'"),
        ],
    ),
    "conditions of a policy in CEL": (
        {
            "matchConditions": [
                {"name": "n", "expression": "true"},
                {"name": "m", "expression": "x"},
            ],
            "matchConstraints": {
                "resourceRules": [{"operations": ["CREATE", "UPDATE"], "resources": ["pods"]}],
                "objectSelector": {"matchLabels": {"a": "b"}},
            },
        },
        [
            (LEFT_OUT, "matchConditions", ""),
            (LEFT_OUT, "match condition", ""),
            ("constant in CEL", "true", "false"),
            (LEFT_OUT, "match condition", ""),
            (LEFT_OUT, '"CREATE"', ""),
            (LEFT_OUT, '"UPDATE"', ""),
            (LEFT_OUT, "objectSelector", ""),
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_policies_are_changed_at_every_place(name):
    spec, expected = CASES[name]
    assert told(spec) == expected


def test_every_kind_of_change_is_made():
    assert {kind for spec, _ in CASES.values() for kind, _, _ in told(spec)} == {
        one.name for one in KINDS
    }


def test_a_mutant_is_the_policy_with_one_place_changed():
    policy = {"spec": deny(ONE, TWO)}
    before = copy.deepcopy(policy)
    found = [one.data for _, one in mutants(policy["spec"])]
    assert policy == before
    assert all(one != policy for one in found)
    assert all(found.count(one) == 1 for one in found)
    assert found[2]["spec"] == deny({**ONE, "operator": "NotEquals"}, TWO)


@pytest.mark.parametrize(
    ("text", "was", "rest"),
    [
        ("a | b | c", "a", "b | c"),
        ("a | b | c", "b", "a | c"),
        ("a & b", "b", "a"),
        ("a|b", "a", "b"),
    ],
)
def test_an_alternative_goes_with_what_joins_it(text, was, rest):
    found = [one for _, one in mutants(pattern({"x": text})) if not one.now]
    chosen = next(one for one in found if one.was == was)
    assert chosen.data["spec"] == pattern({"x": rest})
    assert text[chosen.offset :].startswith(was)


def test_every_class_of_nodes_has_its_points():
    assert POINTS.keys() == set(get_args(Node))


CRITERIA = {
    "operations": ["CREATE"],
    "name": "a",
    "names": ["a"],
    "namespaces": ["a"],
    "annotations": {"a": "b"},
    "selector": {"matchLabels": {"a": "b"}},
    "namespaceSelector": {"matchLabels": {"a": "b"}},
}
OF_USERS = {
    "roles": ["a"],
    "clusterRoles": ["a"],
    "subjects": [{"kind": "User", "name": "a"}],
}


@pytest.mark.parametrize("block", ["match", "exclude"])
def test_every_criterion_of_a_filter_can_be_left_out(block):
    whole = {"resources": {"kinds": ["Pod"], **CRITERIA}, **OF_USERS}
    found = told({"rules": [{block: {"any": [whole]}}]})
    left_out = [was for kind, was, _ in found if kind == LEFT_OUT and was != block]
    fields = [re.sub("_(.)", lambda one: one[1].upper(), name) for name in ResourceFilter._fields]
    assert {*left_out, "path", "resourceFields", "kinds"} == {*fields}


@pytest.mark.parametrize("operator", [one.name for one in OPERATORS])
def test_every_operator_becomes_another(operator):
    known = {one.name for one in OPERATORS}
    found = [
        now for kind, was, now in told(deny(condition(operator, "{{ x }}"))) if was == operator
    ]
    assert found
    assert known.issuperset(found)


@pytest.mark.parametrize("sign", ANCHORS)
def test_every_anchor_can_be_left_off(sign):
    assert ("anchor", f"{sign}(a)", "a") in told(pattern({f"{sign}(a)": "x"}))


@pytest.mark.parametrize("sign", [sign for sign in wildcard.OPERATORS if sign])
def test_every_operator_of_patterns_becomes_another(sign):
    assert "operator of a pattern" in {kind for kind, _, _ in told(pattern({"a": f"{sign}5"}))}
