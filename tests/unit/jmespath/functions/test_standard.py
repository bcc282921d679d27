import math

import pytest

from kyvsim.jmespath import QueryError, compile_query
from kyvsim.jmespath.functions import STANDARD


@pytest.mark.parametrize("record", STANDARD, ids=lambda record: record.name)
def test_example(record, env):
    assert record.examples
    assert record.note
    for example in record.examples:
        found = compile_query(example.expression, env).evaluate(example.data)
        assert found == example.output
        assert type(found) is type(example.output)


@pytest.mark.parametrize(
    ("text", "data", "value"),
    [
        ("to_number('0x1p4')", None, 16.0),
        ("to_number('1_000')", None, 1000.0),
        ("to_number('1_0')", None, 10.0),
        ("to_number('1e1_0')", None, 1e10),
        ("to_number('0x_1p3')", None, 8.0),
        ("to_number('1_0.5')", None, 10.5),
        ("to_number('1__0')", None, None),
        ("to_number('_1')", None, None),
        ("to_number('1_')", None, None),
        ("to_number('0x1.8')", None, None),
        ("to_number('-nan')", None, None),
        ("to_number('\u0131nf')", None, None),
        ("to_number(' 1')", None, None),
        ("to_number('1e999')", None, None),
        ("to_string(@)", {"b": 1.0, "a": "<&>"}, '{"a":"\\u003c\\u0026\\u003e","b":1}'),
        ("to_string(@)", 1e21, "1e+21"),
        ("length('日本')", None, 2.0),
        ("contains(@, `1`)", [1, True], False),
        ("contains(@, `true`)", [1.0, True], True),
        ("contains('abc', `1`)", None, False),
        ("max(`[]`)", None, None),
        ("max_by(@, &gone)", [{}], {}),
        ("min(@)", ["b", "a"], "a"),
        ("reverse(@)", [1.0, 2.0], [2.0, 1.0]),
        ('merge(`{"a": 1}`, `{"a": 2}`)', None, {"a": 2.0}),
    ],
)
def test_value(text, data, value, env):
    assert compile_query(text, env).evaluate(data) == value


def test_mean_of_nothing_is_no_number(env):
    assert math.isnan(compile_query("avg(`[]`)", env).evaluate(None))


@pytest.mark.parametrize(
    "text", ["merge(`{}`, `null`)", "contains(`[[1]]`, `[1]`)", "to_string(avg(`[]`))"]
)
def test_where_upstream_dies_there_is_an_error(text, env):
    with pytest.raises(QueryError):
        compile_query(text, env).evaluate(None)
