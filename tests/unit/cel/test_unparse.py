"""Nodes as source text."""

import pytest

from kyvsim.cel.parser import parse
from kyvsim.cel.unparse import object_path, written

# Trees of expressions as texts again.

TEXTS = [
    "a + b * c",
    "(a + b) * c",
    "a - (b - c)",
    "a && (b || !c)",
    "x in [1, 2]",
    'has(object.spec.a) ? object.spec.a : "none"',
    'object.spec.containers.all(c, c.image.startsWith("x"))',
    'object.metadata.labels["app"] == "y"',
    "object.?spec.?a",
    '{"a": 1, "b": [true, null]}',
    "-x < 3",
    "a && b || c",
    "a && (b ? c : d)",
    '"é"',
    "Object{spec: a}",
    "size(object.spec.containers) >= 2",
]
PATHS = {
    "object.spec.a": ("spec", "a"),
    "object.spec.containers[0].image": ("spec", "containers", 0, "image"),
    "object.metadata.labels['app']": ("metadata", "labels", "app"),
    "object.?spec.?a": ("spec", "a"),
    "oldObject.spec": None,
    "size(object.spec)": None,
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_tree_is_written_as_its_text(text):
    assert written(tree(text)) == text


@pytest.mark.parametrize(("text", "path"), PATHS.items(), ids=PATHS)
def test_an_expression_that_only_leads_somewhere_has_a_path(text, path):
    assert object_path(tree(text)) == path


def tree(text):
    return parse(text, frozenset({"optional", "two_variables"}))
