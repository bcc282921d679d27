"""Assertion trees, as kyverno-json reads them."""

import pytest

from kyvsim.chainsaw.errors import HardError
from kyvsim.chainsaw.expressions import check_tree

POD = {
    "metadata": {"name": "a", "labels": {"app": "web"}},
    "spec": {
        "replicas": 2,
        "weight": 0.5,
        "on": True,
        "containers": [{"name": "x"}, {"name": "y"}],
    },
    "status": None,
}

MATCHES = [
    {},
    {"metadata": {}},
    {"metadata": {"name": "a"}},
    {"metadata": {"labels": {"app": "web"}}},
    {"spec": {"containers": [{"name": "x"}, {"name": "y"}]}},
    {"spec": {"replicas": 2.0}},
    {"spec": {"on": True}},
    {"status": None},
    {"(metadata.name)": "a"},
    {"(metadata.name == 'a')": True},
    {"(missing == null)": True},
    {"(missing.further)": None},
    {"spec": {"(length(containers))": 2}},
    {"spec": {"(containers[?name == 'y'])": [{"name": "y"}]}},
    {"metadata": {"name": "($wanted)"}},
    {"metadata": {"name": "(@)"}},
    {"spec": {"~.containers": {"(length(name))": 1}}},
    {"spec": {"~place.containers": {"name": "($place == `0` && 'x' || 'y')"}}},
    {"metadata": {"~.labels": "web"}},
    {"metadata": {"~key.labels": {"($key)": "app"}}},
    {"spec": {"(containers[0]) -> first": {"(name == $first.name)": True}}},
    {"spec": {"replicas -> count": "($count)"}},
    {"(jp;metadata.name)": "a"},
]
MISMATCHES = [
    {"missing": None},
    {"missing": {}},
    {"metadata": {"name": "b"}},
    {"metadata": {"labels": {"tier": "web"}}},
    {"spec": {"containers": [{"name": "x"}]}},
    {"spec": {"containers": [{"name": "y"}, {"name": "x"}]}},
    {"spec": {"replicas": 3}},
    {"status": {}},
    {"status": {"phase": "Running"}},
    {"status": []},
    {"(missing)": [{"name": "x"}]},
    {"spec": {"(containers[?name == 'z'])": [{"name": "z"}]}},
    {"spec": {"~.containers": {"name": "x"}}},
    {"spec": {"~.replicas": 2}},
    {"metadata": {"name": "($other)"}},
    {"metadata": {"name": None}},
    {"metadata": {"name": {"first": "a"}}},
]
HARD = [
    {"metadata": {"name": 1}},
    {"metadata": {"name": True}},
    {"spec": {"replicas": "2"}},
    {"spec": {"on": 1}},
    {"metadata": [{}]},
    {"spec": {"containers": "x"}},
    {"(length(missing))": 0},
    {"(no_function(@))": True},
    {"(metadata.)": True},
    {"($unbound)": True},
]
BOUND = {"wanted": "a", "other": "b"}


@pytest.mark.parametrize("tree", MATCHES, ids=str)
def test_value_is_as_tree_says(tree, ask):
    assert check_tree(tree, POD, BOUND, ask) == ()


@pytest.mark.parametrize("tree", MISMATCHES, ids=str)
def test_value_is_not_as_tree_says(tree, ask):
    assert check_tree(tree, POD, BOUND, ask)


@pytest.mark.parametrize("tree", HARD, ids=str)
def test_what_cannot_be_compared_is_no_mismatch(tree, ask):
    with pytest.raises(HardError):
        check_tree(tree, POD, BOUND, ask)


def test_escaped_keys_and_texts_stand_for_themselves(ask):
    value = {"(image)": "*", "key": "(text)"}
    assert check_tree({"\\(image)\\": "*", "key": "\\(text)\\"}, value, {}, ask) == ()
    assert check_tree({"\\(picture)\\": "*"}, value, {}, ask)


def test_text_of_several_lines_is_no_expression(ask):
    text = "(object.spec.x &&\n object.spec.y)"
    assert check_tree({"expression": text}, {"expression": text}, {}, ask) == ()


def test_every_mismatch_is_told_with_its_path(ask):
    tree = {"metadata": {"name": "b"}, "spec": {"containers": [{"name": "x"}, {"name": "z"}]}}
    assert [str(one) for one in check_tree(tree, POD, {}, ask)] == [
        "metadata.name: is `a`, but should be `b`",
        "spec.containers[1].name: is `y`, but should be `z`",
    ]


def test_nothing_is_checked_where_there_is_no_object(ask):
    assert check_tree({"($error == null)": True}, None, {"error": None}, ask) == ()
    assert check_tree({"metadata": {}}, None, {}, ask)
