"""Expressions and assertion trees."""

import pytest

from kyvsim.chainsaw.errors import HardError, UnsupportedError
from kyvsim.chainsaw.expressions import (
    TreeExpression,
    check_tree,
    evaluate_expression,
    fill,
    parse_expression,
)

GRAMMAR = [
    ("name", TreeExpression("name")),
    ("(a.b)", TreeExpression("a.b", "jp")),
    ("(jp;a)", TreeExpression("a", "jp")),
    ("(cel;a)", TreeExpression("a", "cel")),
    ("~.items", TreeExpression("items", foreach=True)),
    ("~i.(items)", TreeExpression("items", "jp", foreach=True, place="i")),
    ("items -> all", TreeExpression("items", binding="all")),
    ("(items) -> all", TreeExpression("items", "jp", binding="all")),
    ("~i.(items)->all", TreeExpression("items", "jp", foreach=True, place="i", binding="all")),
    ("\\(items)\\", TreeExpression("(items)")),
    ("(a\nb)", TreeExpression("(a\nb)")),
    ("()", TreeExpression("()")),
    ("a (b)", TreeExpression("a (b)")),
]


@pytest.mark.parametrize(("text", "expression"), GRAMMAR)
def test_grammar_of_keys(text, expression):
    assert parse_expression(text) == expression


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$error != null", True),
        ("$error == null", False),
        ("a.b.c", None),
        ("items[?x == $wanted].y | [0]", 2.0),
        ("contains($error, 'de')", True),
        ("trim_space('  x\n')", "x"),
        ("json_parse('{\"a\": 1}').a", 1.0),
        ("join('-', ['a', $wanted])", "a-q"),
        ("length(items)", 1.0),
        ("[length(items), $wanted]", [1.0, "q"]),
        ("at(items, `0`).x", "q"),
        ("concat('a', 'b')", "ab"),
        ("wildcard('a*', 'abc')", True),
        ("as_string(`1`)", None),
    ],
)
def test_expressions_know_bindings_and_functions(text, value, ask):
    data = {"items": [{"x": "q", "y": 2}]}
    assert ask(text, data, {"error": "denied", "wanted": "q"}) == value


@pytest.mark.parametrize("text", ["env('HOME')", "k8s_get(@, 'v1', 'Pod', 'a', 'b')"])
def test_functions_that_ask_the_world_are_not_simulated(text, ask):
    with pytest.raises(UnsupportedError):
        ask(text, {}, {})


def test_other_languages_are_not_simulated(ask):
    with pytest.raises(UnsupportedError, match="`cel`"):
        evaluate_expression(parse_expression("(cel;1 + 1)"), {}, {}, ask)


def test_index_outside_of_a_list_is_an_error(ask):
    with pytest.raises(HardError):
        ask("at(@, `3`)", [1], {})


# Assertion trees, as kyverno-json reads them.

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


def test_texts_that_are_expressions_are_filled_in_and_keys_are_not(ask):
    template = {"(image)": "*", "name": "($name)", "count": "(length($name))", "list": ["($name)"]}
    filled = fill(template, {"name": "ab"}, ask)
    assert filled == {"(image)": "*", "name": "ab", "count": 2, "list": ["ab"]}
    assert filled["count"].__class__ is int


@pytest.mark.parametrize("text", ["plain", "a ($name)", "(a\nb)", "($x) -> name", ""])
def test_other_texts_stay(text, ask):
    assert fill(text, {"name": "ab", "x": 1}, ask) == text


def test_name_that_is_not_bound_is_an_error(ask):
    with pytest.raises(HardError, match="variable not defined: name"):
        fill("($name)", {}, ask)
