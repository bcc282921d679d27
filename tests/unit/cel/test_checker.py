"""Types of nodes, and constants that can only be wrong."""

import pytest

from kyvsim.cel import compile_expression

# Types of expressions, and faults that show without evaluating them.

NO_RANGE = "cannot be range of a comprehension (must be list, map, or dynamic)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", "int"),
        ("1u", "uint"),
        ("null", "null_type"),
        ("[1, 2]", "list(int)"),
        ("[]", "list(dyn)"),
        ("{'a': 1.5}", "map(string, double)"),
        ("object.a.b", "dyn"),
        ("[1].map(x, string(x))", "list(string)"),
        ("[1].filter(x, x > 0)", "list(int)"),
        ("{'a': 1}.transformMap(k, v, v > 0)", "map(string, bool)"),
        ("[[1]].flatten()", "list(int)"),
        ("optional.of('a')", "optional_type(string)"),
        ("object.?a", "optional_type(dyn)"),
        ("[1][?0]", "optional_type(int)"),
        ("[1].first().value()", "int"),
        ("true ? 1 : 2", "int"),
        ("type(1)", "type(int)"),
        ("timestamp('2020-01-01T00:00:00Z') - duration('1h')", "google.protobuf.Timestamp"),
        ("quantity('1').add(1)", "kubernetes.Quantity"),
        ("request.userInfo.groups", "list(string)"),
        ("[1, 2].sum()", "int"),
        ("[duration('1s')].max()", "google.protobuf.Duration"),
    ],
)
def test_type(environment, text, expected):
    assert str(compile_expression(text, environment).type) == expected


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("foo", "1:1: undeclared reference to 'foo' (in container '')"),
        ("object.foo()", "1:11: undeclared reference to 'foo' (in container '')"),
        ("Foo{a: 1}", "1:4: undeclared reference to 'Foo' (in container '')"),
        ("1 + 'a'", "1:3: found no matching overload for '_+_' applied to '(int, string)'"),
        ("1 == 'a'", "1:3: found no matching overload for '_==_' applied to '(int, string)'"),
        (
            "{'a': 1} == null",
            "1:10: found no matching overload for '_==_' applied to '(map(string, int), null)'",
        ),
        (
            "object.name.contains(3)",
            "1:21: found no matching overload for 'contains' applied to 'dyn.(int)'",
        ),
        ("true && 1", "1:9: expected type 'bool' but found 'int'"),
        ("[1].all(x, x)", "1:12: expected type 'bool' but found 'int'"),
        (
            "[1].filter(x, x)",
            "1:11: found no matching overload for '_?_:_' applied to '(int, list(int), list(int))'",
        ),
        (
            "1.all(x, true)",
            f"1:1: expression of type 'int' {NO_RANGE}",
        ),
        ("'a'.b", "1:4: type 'string' does not support field selection"),
        ("request.foo", "1:8: undefined field 'foo'"),
        ("variables.x", "1:10: undefined field 'x'"),
        ("quantity('1').x", "1:14: unexpected failed resolution of 'kubernetes.Quantity'"),
        ("[?1]", "1:3: expected type 'optional_type(int)' but found 'int'"),
    ],
)
def test_refused(value_of, text, refused):
    assert value_of(text) == f"refused: {refused}"


def test_loop_names_hide_variables_and_end_with_the_loop(value_of):
    assert value_of("[1].all(object, object == 1)", {"a": 1}) is True
    assert value_of("[1].all(x, true) && x").startswith("refused: 1:21: undeclared reference")


# Constants that can only be wrong.


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("duration('3x')", "1:10: invalid duration argument"),
        ("timestamp('soon')", "1:11: invalid timestamp argument"),
        ("object.matches('[')", "1:16: invalid matches argument"),
        ("[1, 'a']", "1:5: expected type 'int' but found 'string'"),
        ("[dyn(1), 1]", "1:10: expected type 'dyn' but found 'int'"),
        ("{'a': 1, 'b': 'c'}", "1:15: expected type 'int' but found 'string'"),
        ("[[1], ['a']]", "1:7: expected type 'list(int)' but found 'list(string)'"),
    ],
)
def test_refused_of_literal_checks(value_of, text, refused):
    assert value_of(text) == f"refused: {refused}"


@pytest.mark.parametrize("text", ["size('%s %s'.format([1, 'a'])) == 3", "[1, 2] == [1, 2]"])
def test_accepted(value_of, text):
    assert value_of(text) is True


def test_patterns_that_are_computed_fail_when_they_are_used(value_of):
    assert value_of("'a'.matches('[' + 'a')") == (
        "error: error parsing regexp: missing closing ]: `[a`"
    )
