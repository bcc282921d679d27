"""Expressions that would eat time or memory end, whatever they grow."""

import pytest

from kyvsim.cel import CelBudgetError, CelError, CompileError, compile_expression

pytestmark = pytest.mark.slow

OBJ = {"s": "a" * 100_000, "l": list(range(2000)), "few": list(range(50))}


def doubled(start, times):
    """Return an expression that doubles a value again and again."""
    text = start
    for depth in range(times):
        text = f"[{text}].map(a{depth}, a{depth} + a{depth})[0]"
    return text


@pytest.mark.parametrize(
    "text",
    [
        doubled("object.s", 30),
        doubled("[1]", 40),
        "object.s.replace('a', object.s)",
        "object.l.map(x, object.s).join(object.s)",
        "'%s'.format([object.l.map(x, object.s)])",
        "lists.range(1000000).map(x, lists.range(1000000))",
        "object.l.all(a, object.l.all(b, object.l.all(c, a + b + c >= 0)))",
        "object.l.all(x, object.l.all(y, y in object.l))",
        "object.l.map(x, object.s.split('')).size() > 0",
        "object.l.all(x, object.s.matches('(a*)*b') || true)",
        "object.l.all(x, object.s.contains(object.s))",
        "object.l.map(x, [x]).map(x, object.l.map(y, [y])).flatten().distinct().size() > 0",
    ],
)
def test_the_steps_run_out(value_of, text):
    assert value_of(text, OBJ) == "error: operation cancelled: actual cost limit exceeded"


@pytest.mark.parametrize(
    "text",
    ["lists.range(1000000000)", "lists.range(9223372036854775807)", "'%.999999999f'.format([1.0])"],
)
def test_what_nobody_can_make_is_refused(environment, text):
    with pytest.raises((CelError, CelBudgetError, CompileError)):
        compile_expression(text, environment).evaluate([OBJ, None, None, None, None, None, None])


@pytest.mark.parametrize(
    "text",
    [
        "object.few.all(a, object.few.all(b, a + b >= 0))",
        "object.s.contains('b') || object.s.startsWith('a')",
        "object.s.replace('b', 'c').size() == 100000",
        "lists.range(700).distinct().size() == 700",
        "object.few.map(x, string(x)).join(',').split(',').size() == 50",
    ],
)
def test_what_people_write_stays_within_them(value_of, text):
    assert value_of(text, OBJ) is True


@pytest.mark.parametrize("text", ["(" * 10_000 + "1" + ")" * 10_000, "[" * 5000 + "]" * 5000])
def test_deep_nesting_is_refused(environment, text):
    with pytest.raises(CompileError):
        compile_expression(text, environment)


@pytest.mark.parametrize(("rounds", "over"), [(1230, False), (1240, True)])
def test_the_limit_falls_where_upstreams_does(value_of, rounds, over):
    text = f"lists.range({rounds}).all(x, object.l.all(e, e.name != '' && e.v >= 0.0))"
    answer = value_of(text, {"l": [{"name": f"n{v}", "v": float(v)} for v in range(100)]})
    assert (answer is True) is not over
    assert ("cost limit" in str(answer)) is over


def test_distinct_tells_truth_values_from_numbers(value_of):
    assert value_of("[dyn(1), dyn(true), dyn(1), dyn(true)].distinct().size()") == 2
    assert value_of("[dyn(1), dyn(1.0), dyn(2)].distinct()") == [1, 2]
