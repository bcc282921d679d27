"""Loop macros."""

import pytest

# The loop macros.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[1, 2].all(x, x > 0)", True),
        ("[].all(x, 1 / 0 > 0)", True),
        ("[0, 1].all(x, 1 / x > 5)", False),
        ("[0, 1].all(x, 1 / x > 0)", "error: division by zero"),
        ("[0, 1].exists(x, 1 / x > 0)", True),
        ("[0, 1].exists(x, 1 / x > 5)", "error: division by zero"),
        ("[1, 2].all(x, dyn(x))", "error: no such overload"),
        ("[1, 2, 3].exists_one(x, x > 2)", True),
        ("[1, 2, 3].exists_one(x, x > 1)", False),
        ("[0, 1].exists_one(x, 1 / x > 0)", "error: division by zero"),
        ("[1, 2, 3].filter(x, x % 2 == 1)", [1, 3]),
        ("[0, 1].filter(x, 1 / x > 0)", "error: division by zero"),
        ("[1, 2].map(x, [3].map(y, x * y))", [[3], [6]]),
        ("[1, 2].map(x, x > 1, x * 10)", [20]),
        ("{'a': 1, 'b': 2}.map(k, k)", ["a", "b"]),
        ("{'a': 1}.all(k, v, k == 'a' && v == 1)", True),
        ("['a', 'b'].exists(i, v, i == 1 && v == 'b')", True),
        ("['a', 'b'].existsOne(i, v, i == 1)", True),
        ("['a', 'b'].transformList(i, v, i > 0, v)", ["b"]),
        ("{'a': 1}.transformMap(k, v, v + 1)", {"a": 2}),
        ("['a', 'b'].transformMap(i, v, v)", {0: "a", 1: "b"}),
        ("{'a': 'b'}.transformMapEntry(k, v, {v: k})", {"b": "a"}),
        (
            "['a', 'b'].transformMapEntry(i, v, {'x': v})",
            "error: insert failed: key x already exists",
        ),
        (
            "['a'].transformMapEntry(i, v, dyn(v))",
            "error: no such overload: cel.@mapInsert(map, string)",
        ),
        ("dyn(int).map(x, x)", "error: got '*types.Type', expected iterable type"),
        ("dyn('a').all(x, true)", "error: got 'types.String', expected iterable type"),
        ("dyn(1.5).map(x, x)", "error: got 'types.Double', expected iterable type"),
        ("dyn('a').all(i, v, true)", "error: unsupported comprehension range type: types.String"),
        ("optional.of(2).optMap(x, x * 2).value()", 4),
        ("optional.none().optMap(x, 1).hasValue()", False),
        ("optional.of([7]).optFlatMap(l, l[?0]).value()", 7),
        ("[3, 1, 2].sortBy(x, -x)", [3, 2, 1]),
    ],
)
def test_loop(value_of, text, expected):
    assert value_of(text) == expected
