"""Lists and elements of loops, as every `foreach` has them."""

import pytest

from kyvsim.engine.context import JSONContext
from kyvsim.engine.world import GivenObjects
from kyvsim.jmespath import QueryError
from kyvsim.languages.classic.rules.loops import compile_elements, compile_list
from kyvsim.model.ports import ExternalData
from kyvsim.policy.read import read_context


@pytest.fixture
def scope():
    data = {"many": [1.0, None, "x"], "one": {"a": "b"}, "none": None}
    return JSONContext(data, ExternalData(GivenObjects([])), deleting=False)


@pytest.mark.parametrize(
    ("expression", "values"),
    [
        ("many", [1.0, None, "x"]),
        (" many ", [1.0, None, "x"]),
        ("one", [{"a": "b"}]),
        ("none", [None]),
        ("many[?@ == 'x']", ["x"]),
    ],
)
def test_a_value_that_is_no_list_is_a_list_of_one(system, scope, expression, values):
    assert compile_list(expression, system)(scope) == values


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("nope", 'JMESPath query failed: Unknown key "nope" in path'),
        ("length(many[0])", "JMESPath query failed: "),
        ("many[", "incorrect query many[: "),
    ],
)
def test_a_list_that_cannot_be_had_is_told_when_the_rule_runs(system, scope, expression, message):
    list_of = compile_list(expression, system)
    with pytest.raises(QueryError) as caught:
        list_of(scope)
    assert caught.value.message.startswith(message)


def test_elements_have_names_of_their_level_and_null_is_left_out(system, scope):
    elements_of = compile_elements((), 1, system)
    elements = list(elements_of(scope, enumerate([1.0, None, "x"])))
    assert [(index, value) for index, value, _ in elements] == [(0, 1.0), (2, "x")]
    last = elements[-1][2].root(frozenset())
    assert (last["element"], last["element1"]) == ("x", "x")
    assert (last["elementIndex"], last["elementIndex1"]) == (2, 2)
    assert type(last["elementIndex"]) is int
    assert "element" not in scope.root(frozenset())


def test_entries_of_a_loop_are_computed_for_each_element(system, scope):
    entry = {"name": "twice", "variable": {"jmesPath": "join('', [element, element])"}}
    elements_of = compile_elements(read_context([entry], ()), 0, system)
    names = frozenset({"twice", "element"})
    found = [own.root(names)["twice"] for *_, own in elements_of(scope, enumerate(["a", "b"]))]
    assert found == ["aa", "bb"]
