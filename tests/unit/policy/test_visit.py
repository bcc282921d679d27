"""The texts of a rule: where they are, and what they are."""

from typing import get_args

import pytest

from kyvsim.policy.nodes import Node
from kyvsim.policy.read import CONTEXT_SOURCES
from kyvsim.policy.rule import read_cleanup_rule, read_rule
from kyvsim.policy.visit import PARTS, TextKind, texts

PATH = ("spec", "rules", 0)
ENTRY = {"name": "a", "variable": {"jmesPath": "x", "default": {"jmesPath": "d"}, "value": "v"}}
CALL = {"name": "b", "apiCall": {"urlPath": "/u", "data": [{"value": "p"}], "jmesPath": "y"}}
LOOP = {"list": "z", "context": [ENTRY], "pattern": {"foreach": [{"list": "k"}]}}
VALIDATE = {"message": "m", "foreach": [{"list": "o", "foreach": [LOOP]}]}
CEL = {"validate": {"cel": {"expressions": [{"expression": "e"}]}}}
CONDITION = {"key": "l", "operator": "Equals", "value": {"jmesPath": "r"}}


def texts_of(rule, kind):
    return [one.text for one in texts(read_rule(rule, PATH)) if one.kind is kind]


@pytest.mark.parametrize(
    ("rule", "queries"),
    [
        ({"context": [ENTRY, CALL]}, ["x", "y"]),
        ({"context": [{"name": "a", "globalReference": {"name": "g", "jmesPath": "x"}}]}, ["x"]),
        ({"validate": VALIDATE}, ["o", "z", "x"]),
        ({"mutate": {"foreach": [{**LOOP, "patchesJson6902": "list: x"}]}}, ["z", "x"]),
        ({"mutate": {"targets": [{"kind": "A", "context": [CALL]}]}}, ["y"]),
        ({"generate": {"foreach": [{"list": "z", "data": {"list": "x"}}]}}, ["z"]),
        ({"generate": {"list": "x"}}, []),
        ({"imageExtractors": {"Task": [{"path": "/spec", "jmesPath": "x"}]}}, ["x"]),
        ({"preconditions": {"all": [CONDITION]}}, []),
        ({"mutate": {"patchStrategicMerge": {"context": [ENTRY]}}}, []),
    ],
)
def test_expressions_are_those_of_context_entries_loops_and_extractors(rule, queries):
    assert texts_of(rule, TextKind.QUERY) == queries


def test_data_of_the_user_and_cel_are_told_apart_from_what_the_rule_says():
    assert texts_of({"context": [CALL]}, TextKind.DATA) == ["value", "p"]
    assert texts_of({"preconditions": [CONDITION]}, TextKind.DATA) == ["jmesPath", "r"]
    assert texts_of({"generate": {"kind": "A", "data": {"b": "c"}}}, TextKind.DATA) == ["b", "c"]
    assert texts_of({"validate": {"message": "m", "pattern": {"b": ["c"]}}}, TextKind.DATA) == [
        "b",
        "c",
    ]
    assert texts_of(CEL, TextKind.CEL) == ["expressions", "expression", "e"]


def test_texts_come_as_they_are_written_with_their_paths_in_the_document():
    rule = {"name": "r", "validate": {"message": "m", "unknown": ["u", 1]}}
    assert [(one.path, one.text) for one in texts(read_rule(rule, PATH))] == [
        (PATH, "name"),
        (PATH, "validate"),
        ((*PATH, "name"), "r"),
        ((*PATH, "validate"), "message"),
        ((*PATH, "validate"), "unknown"),
        ((*PATH, "validate", "message"), "m"),
        ((*PATH, "validate", "unknown", 0), "u"),
    ]


def test_a_cleanup_policy_has_texts_too():
    found = texts(read_cleanup_rule({"schedule": "s", "context": [ENTRY]}, ("spec",)))
    assert [one.path for one in found if one.kind is TextKind.QUERY] == [
        ("spec", "context", 0, "variable", "jmesPath")
    ]


@pytest.mark.parametrize("source", CONTEXT_SOURCES)
def test_every_source_of_context_entries_may_have_a_query(source):
    rule = {"context": [{"name": "a", source: {"jmesPath": "x", "default": {"jmesPath": "d"}}}]}
    assert texts_of(rule, TextKind.QUERY) == ["x"]


@pytest.mark.parametrize("node", get_args(Node), ids=lambda node: node.__name__)
def test_every_node_with_a_query_has_its_place(node):
    if not {"list", "jmes_path"}.isdisjoint(node._fields):
        assert TextKind.QUERY in {kind for kind, _ in PARTS[node.__name__]}


def test_parts_are_of_nodes():
    assert PARTS.keys() <= {node.__name__ for node in get_args(Node)}
