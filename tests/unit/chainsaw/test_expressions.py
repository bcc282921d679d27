import pytest

from kyvsim.chainsaw.errors import HardError, UnsupportedError
from kyvsim.chainsaw.expressions import Expression, ask_expression, parse_expression

GRAMMAR = [
    ("name", Expression("name")),
    ("(a.b)", Expression("a.b", "jp")),
    ("(jp;a)", Expression("a", "jp")),
    ("(cel;a)", Expression("a", "cel")),
    ("~.items", Expression("items", foreach=True)),
    ("~i.(items)", Expression("items", "jp", foreach=True, place="i")),
    ("items -> all", Expression("items", binding="all")),
    ("(items) -> all", Expression("items", "jp", binding="all")),
    ("~i.(items)->all", Expression("items", "jp", foreach=True, place="i", binding="all")),
    ("\\(items)\\", Expression("(items)")),
    ("(a\nb)", Expression("(a\nb)")),
    ("()", Expression("()")),
    ("a (b)", Expression("a (b)")),
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
        ask_expression(parse_expression("(cel;1 + 1)"), {}, {}, ask)


def test_index_outside_of_a_list_is_an_error(ask):
    with pytest.raises(HardError):
        ask("at(@, `3`)", [1], {})
