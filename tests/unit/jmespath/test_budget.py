"""What an expression makes is counted before it is there."""

import pytest

from kyvsim.jmespath import compile_query, compile_template
from kyvsim.model.ports import Budget, BudgetError, Meter, System

pytestmark = pytest.mark.slow

FORTY = 40
DOUBLED = {
    "texts": "'xxxxxxxxxx'" + " | join('', [@, @])" * FORTY,
    "lists": "[`1`]" + " | [@, @][]" * FORTY,
    "lists that are shown": "[`1`]" + " | [@, @]" * FORTY + " | to_string(@)",
    "lists that are compared": "[`1`]" + " | [@, @]" * FORTY + " | (@ == [@[0], @[1]])",
    "replacements": "'aa'" + " | replace_all(@, 'a', 'aa')" * FORTY,
    "some replacements": "'aa'" + " | replace(@, 'a', 'aa', `-1`)" * FORTY,
    "expressions": "'aa'" + " | regex_replace_all('a', @, 'aa')" * FORTY,
    "groups": "'aa'" + " | regex_replace_all('(.*)', @, '$1$1')" * FORTY,
    "literal expressions": "'aa'" + " | regex_replace_all_literal('a', @, 'aa')" * FORTY,
    "random texts": "random('((()*)*)*')",
    "many random texts": "random('" + ".*" * 5000 + "')",
    "keys": "{a: `1`}" + " | {a: @, b: @}" * FORTY + " | to_string(@)",
}


class Scope:
    deleting = False

    def root(self, _):
        return self.data

    def __init__(self, data):
        self.data = data


class Half:
    def below(self, bound):
        return bound // 2


def system(**limits):
    return System(None, Half(), Meter(Budget(**limits)))


@pytest.mark.parametrize("name", DOUBLED)
def test_what_doubles_ends_in_an_error_that_names_the_budget(name):
    with pytest.raises(BudgetError, match="the budget of 1,000,000 steps for a rule is spent"):
        compile_query(DOUBLED[name], system()).evaluate({})


@pytest.mark.parametrize("form", ["{{ v }}", "x{{ v }}"])
def test_a_value_is_counted_where_it_is_filled_in(form):
    value = ["x"]
    for _ in range(FORTY):
        value = [value, value]
    with pytest.raises(BudgetError):
        compile_template({"a": form}, system()).render(Scope({"v": value}))


@pytest.mark.parametrize(
    ("expression", "steps"),
    [
        ("x[*].a", 0),
        ("y[]", 20),
        ("y[*].[@]", 20),
        ("y[?@ == `1`]", 20),
        ("y", 0),
        ("sort(y)", 20),
        ("length(x)", 0),
        ("to_string(y)", 41),
        ("join('', z)", 40 + 1000),
    ],
)
def test_steps(expression, steps):
    data = {"x": [{"a": 1.0}] * 3, "y": [1.0] * 20, "z": ["x" * 200] * 40}
    given = system(rule=5000)
    compile_query(expression, given).evaluate(data)
    assert 5000 - given.meter.left == steps
