import pytest

from kyvsim.jmespath import NotFoundError, QueryError, QuerySyntaxError, compile_query

DATA = {
    "shop": {"name": "tea", "nothing": None, "count": 3.0, "whole": 3, "open": True},
    "rows": [{"k": 1.0, "t": "x"}, {"t": "y"}, {"k": None, "t": "z"}, 5.0],
    "low": [{"k": 0.0}, {"k": False}, {"k": ""}, {"k": None}, {"k": []}],
    "nested": [[1.0], 2.0, [[3.0]]],
    "pairs": {"b": {"v": 1.0}, "a": {"v": 2.0}, "c": {}},
}


def answer(text, env):
    return compile_query(text, env).evaluate(DATA)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("shop.gone", "gone"),
        ("gone.shop", "gone"),
        ("shop.gone.deeper", "gone"),
        ("gone[0]", "gone"),
        ("(gone)", "gone"),
        ("shop.open && shop.gone", "gone"),
        ("rows[0].gone", "gone"),
        ("a.b.c.d.e", "a"),
        ("shop.name.x || pairs.z.v", None),
    ],
)
def test_missing_field_travels(text, key, env):
    if key is None:
        assert answer(text, env) is None
        return
    with pytest.raises(NotFoundError, match=f'^Unknown key "{key}" in path$'):
        answer(text, env)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("shop.nothing.x.y", None),
        ("shop.name.x", None),
        ("gone || 'other'", "other"),
        ("gone || other", None),
        ("gone && 'x'", None),
        ("!gone", True),
        ("!gone.x", None),
        ("gone == `null`", True),
        ("gone != 'x'", True),
        ("gone | 'x'", "x"),
        ("shop | gone", None),
        ("[gone, shop.name]", [None, "tea"]),
        ("{x: gone}", {"x": None}),
        ("rows[*].k", [1.0]),
        ("rows[?k].t", ["x"]),
        ("rows[?gone]", []),
        ("gone[*].k", None),
        ("gone[]", None),
        ("gone.*", None),
        ("to_string(gone)", "null"),
    ],
)
def test_missing_field_is_swallowed(text, value, env):
    assert answer(text, env) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("shop.count > `2`", True),
        ("shop.whole > `2`", None),
        ("shop.whole == `3`", False),
        ("shop.count == `3`", True),
        ("shop.open == `1`", False),
        ("'b' > 'a'", None),
        ("[shop.whole] == `[3]`", False),
        ("[shop.count] == `[3]`", True),
        ("`0` && 'zero is true'", "zero is true"),
        ("`[]` || 'empty'", "empty"),
        ("nested[]", [1.0, 2.0, [3.0]]),
        ("low[*].k", [0.0, False, "", []]),
        ("low[].[k][]", [0.0, False, "", []]),
        ("nested[5]", None),
        ("nested[::-1]", [[[3.0]], 2.0, [1.0]]),
        ("nested[:::]", [[1.0], 2.0, [[3.0]]]),
        ("rows[0:3].k", [1.0]),
        ("pairs.*.v", [2.0, 1.0]),
        ("keys(pairs)", ["a", "b", "c"]),
        ("pairs.*.to_string(@)[0]", []),
        ("pairs.*.type(@)", ["null", "null", "null", "object", "object", "object"]),
        ("to_upper(`1`)[]", None),
        ("'length'(nested)", 3.0),
        ("length(shop)(nested)", 3.0),
        ("nested[0][0:1].x", []),
        ("sort_by(rows[:2], &t)[*].t", ["x", "y"]),
        ("map(&k, rows[:3])", [1.0, None, None]),
    ],
)
def test_value(text, value, env):
    found = answer(text, env)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nope(@)", "unknown function: nope"),
        ("length(gone)", 'Invalid type for: <nil>, expected: []jmespath.JpType{"string", "arr'),
        ("abs(shop.whole)", 'Invalid type for: 3, expected: []jmespath.JpType{"number"}'),
        ("abs(`1`, `2`)", "incorrect number of args"),
        ("not_null()", "Invalid arity."),
        ("type(shop.whole)", "unknown type"),
        ("sort_by(rows, &k)", "error in sort_by comparison"),
        ("max_by(rows[1:], &k)", "invalid type, must be number of string"),
        ("nested[::0]", "Invalid slice, step cannot be 0"),
        ("[0", "Unknown AST node: ASTEmpty"),
        ("@(shop)", "invalid node value type"),
        ("pairs.*.length(@)", "Invalid type for: <nil>"),
        ("nope(@) == `1`", "unknown function: nope"),
        ("[nope(@)]", "unknown function: nope"),
        ("rows[*].nope(@)", "unknown function: nope"),
    ],
)
def test_failure(text, message, env):
    with pytest.raises(QueryError) as caught:
        answer(text, env)
    assert caught.value.message.startswith(message)


def test_data_is_left_alone(env):
    data = {"rows": [{"t": "b"}, {"t": "a"}]}
    assert compile_query("sort_by(rows, &t)[0].t", env).evaluate(data) == "a"
    assert data == {"rows": [{"t": "b"}, {"t": "a"}]}


@pytest.mark.parametrize("text", ["(" * 5000 + "a" + ")" * 5000, "a" + "|a" * 5000])
def test_nesting_without_end_is_a_syntax_error(text, env):
    with pytest.raises(QuerySyntaxError, match="nested too deeply"):
        compile_query(text, env)
