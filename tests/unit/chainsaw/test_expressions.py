import pytest

from kyvsim.chainsaw.errors import HardError, UnsupportedError
from kyvsim.chainsaw.expressions import TreeExpression, evaluate_expression, parse_expression

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
