import jmespath.parser
import pytest

from kyvsim.jmespath import QuerySyntaxError
from kyvsim.jmespath.parse import parse


@pytest.mark.parametrize(
    ("text", "message", "offset"),
    [
        ("a.", "Expected identifier, lbracket, or lbrace", 2),
        ("a b", "Unexpected token at the end of the expression: tUnquotedIdentifier", 2),
        ("", "Incomplete expression", 0),
        ("a[", "Expected tStar, received: tEOF", 2),
        ("a['k']", "Expected tStar, received: tStringLiteral", 2),
        ("(a", "Expected tRparen, received: tEOF", 2),
        ("{a: b", "Expected tQuotedIdentifier or tUnquotedIdentifier", 5),
        ("{a}", "Expected tColon, received: tRbrace", 2),
        ("a - b", "Unexpected token at the end of the expression: tNumber", 2),
        ("a = b", "Unexpected token at the end of the expression: tUnknown", 2),
        ("a * b", "Unexpected token: tStar", 2),
        ("a %", "Unknown char: '%'", 2),
        ("é", r"Unknown char: '\xe9'", 0),
        ("'it\\'", "Unclosed delimiter: '", 5),
        ("'\\\\'", "Unclosed delimiter: '", 4),
        ('"a', 'Unclosed delimiter: "', 2),
        ('"f"(a)', "Can't have quoted identifier as function Name.", 0),
        ("f(a", "Incomplete expression", 3),
    ],
)
def test_syntax_error_has_words_and_place(text, message, offset):
    with pytest.raises(QuerySyntaxError) as caught:
        parse(text)
    assert caught.value.message == f"SyntaxError: {message}"
    assert (caught.value.expression, caught.value.offset) == (text, offset)


@pytest.mark.parametrize(
    "literal", ["foo", "", " ", "01", "NaN", "Infinity", "1e999", "{a: 1}", "'x'"]
)
def test_literal_must_be_json(literal):
    with pytest.raises(QuerySyntaxError):
        parse(f"`{literal}`")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("`1`", 1.0),
        ('`[1, {"a": true}]`', [1.0, {"a": True}]),
        ('`"\\ud83d\\ude00"`', "\U0001f600"),
        ('`"\\ud83d"`', "\ufffd"),
        ('`"a\\`b"`', "a`b"),
        ("'a\\'b'", "a'b"),
        ("'a\\nb'", "a\\nb"),
        ("'\\\\x'", "\\\\x"),
    ],
)
def test_literal_value(text, value):
    found = parse(text)["value"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("text", ["a[99999999999999999999]", "a[1:-99999999999999999999]", "a[-]"])
def test_index_must_be_an_int64(text):
    with pytest.raises(QuerySyntaxError):
        parse(text)


@pytest.mark.parametrize(
    "text", ["f(a b)", "f(a,)", "{a: b c: d}", "[:::]", "[0", "a [ 0 ]", "@(a)"]
)
def test_lenient_as_upstream(text):
    assert parse(text)


PLAIN = (
    "a.b.c",
    "a[0].b",
    "a[*].b[?c == 'x' && !d].e | [0]",
    "a[].b[]",
    "*.a || b",
    "{x: a.b, y: [c, d]}.x",
    "f(a, &b.c) >= g(@)",
    "a.[b, c].{d: e}",
    "a[?b > `1`][]",
    "a[1:3:-1].b",
    "(a | b) != c",
    "[a, *][*].b",
)


@pytest.mark.parametrize("text", PLAIN)
def test_plain_expressions_have_the_tree_that_the_jmespath_package_gives_them(text):
    found = jmespath.parser.Parser().parse(text).parsed
    assert parse(text) == found
