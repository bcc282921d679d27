"""Tokens, literals and trees."""

import pytest

from kyvsim.cel.nodes import Bind, Call, Ident, ListLiteral, Literal, Loop, MapLiteral, Select
from kyvsim.cel.parser import (
    ExpressionSyntaxError,
    parse,
    read_bytes,
    read_double,
    read_int,
    read_string,
    read_uint,
)

# What the texts of tokens stand for, up to the last and from the first that they cannot be.

LARGEST = 1 << 63


@pytest.mark.parametrize(
    ("token", "value"),
    [
        ("0", 0),
        ("-0", 0),
        ("007", 7),
        ("0x1F", 31),
        ("-0x1f", -31),
        (f"{LARGEST - 1}", LARGEST - 1),
        (f"-{LARGEST}", -LARGEST),
        (f"{'0' * 399}1", 1),
        (f"-{'0' * 399}1", -1),
    ],
)
def test_whole_numbers(token, value):
    assert read_int(token) == value


@pytest.mark.parametrize("token", [f"{LARGEST}", f"-{LARGEST + 1}", "0" * 401, f"-{'9' * 5000}"])
def test_whole_numbers_of_64_bits_only(token):
    with pytest.raises(ValueError, match=r"^invalid int literal$"):
        read_int(token)


def test_whole_numbers_without_a_sign():
    assert [read_uint(f"{number}u") for number in (0, 7, 2 * LARGEST - 1)] == [
        0,
        7,
        2 * LARGEST - 1,
    ]
    assert read_uint("0xffU") == 255
    for token in (f"{2 * LARGEST}u", f"{'0' * 401}u"):
        with pytest.raises(ValueError, match=r"^invalid uint literal$"):
            read_uint(token)


def test_doubles():
    assert [read_double(token) for token in ("1.5", "-2e3", "1e308")] == [1.5, -2000.0, 1e308]
    for token in ("1e309", "-1e309"):
        with pytest.raises(ValueError, match=r"^invalid double literal$"):
            read_double(token)


@pytest.mark.parametrize(
    ("token", "text"),
    [
        ('""', ""),
        ("'a'", "a"),
        ('"""a"b"""', 'a"b'),
        ("'''\r\na\rb'''", "\na\nb"),
        (r"r'\x41'", r"\x41"),
        (r"R'\n'", r"\n"),
        (r"'\a\b\f\n\r\t\v\\\'\"\`\?'", "\a\b\f\n\r\t\v\\'\"`?"),
        (r"'a\x41b\X42c\101d'", "aAbBcAd"),
        (r"'\377'", "\xff"),
        (r"'\u0041\ud7ff\ue000'", "A\ud7ff\ue000"),
        (r"'\U00000041\U0010ffff'", "A\U0010ffff"),
    ],
)
def test_texts(token, text):
    assert read_string(token) == text


@pytest.mark.parametrize("code", ["ud800", "udfff", "U00110000", "U0000dabc"])
def test_texts_have_code_points_only(code):
    with pytest.raises(ValueError, match=r"^invalid unicode code point$"):
        read_string(rf"'\{code}'")


@pytest.mark.parametrize(
    ("token", "data"),
    [
        ("b''", b""),
        ("b'é'", "é".encode()),
        (r"br'\x41'", rb"\x41"),
        (
            r"b'é\x41é\xffé\101\377\né'",
            "é".encode() + b"A" + "é".encode() + b"\xff" + "é".encode() + b"A\xff\n" + "é".encode(),
        ),
        (r"B'''\''''", b"'"),
    ],
)
def test_bytes(token, data):
    assert read_bytes(token) == data


@pytest.mark.parametrize("code", ["u0041", "U00000041"])
def test_bytes_have_no_code_points(code):
    with pytest.raises(ValueError, match=r"^unable to unescape string$"):
        read_bytes(rf"b'\{code}'")


# Texts that are expressions, and what is said of those that are none.

MACROS = frozenset({"optional", "two_variables", "sort_by", "lenient_or_value"})


def shape(node):
    """Write a tree in prefix form."""
    if isinstance(node, Literal):
        return repr(node.value)
    if isinstance(node, Ident):
        return node.name
    if isinstance(node, Select):
        mark = "has " if node.test else "?" if node.optional else ""
        return f"{shape(node.operand)}.{mark}{node.field}"
    if isinstance(node, Call):
        target = [] if node.target is None else [node.target]
        return f"{node.function}({', '.join(map(shape, (*target, *node.arguments)))})"
    if isinstance(node, ListLiteral):
        return f"[{', '.join(map(shape, node.elements))}]"
    if isinstance(node, MapLiteral):
        return f"{{{', '.join(f'{shape(e.key)}: {shape(e.value)}' for e in node.entries)}}}"
    if isinstance(node, Bind):
        return f"let {node.variable} = {shape(node.value)} in {shape(node.body)}"
    assert isinstance(node, Loop)
    parts = [shape(one) for one in (node.test, node.result) if one is not None]
    return f"{node.kind}({shape(node.source)}, {', '.join([*node.variables, *parts])})"


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("1 + 2 * 3 - 4", "_-_(_+_(1, _*_(2, 3)), 4)"),
        ("a || b && c || d", "_||_(a, _&&_(b, c), d)"),
        ("a ? b : c ? d : e", "_?_:_(a, b, _?_:_(c, d, e))"),
        ("a < b == c", "_==_(_<_(a, b), c)"),
        ("a in b", "@in(a, b)"),
        ("!!!a", "!_(a)"),
        ("!!a", "a"),
        ("-1", "-1"),
        ("- -1", "-_(-1)"),
        ("-a", "-_(a)"),
        ("1-1", "_-_(1, 1)"),
        ("a.b['c'].?d[?0]", "_[?_](_[_](a.b, 'c').?d, 0)"),
        ("a.f(1, [2]).g()", "g(f(a, 1, [2]))"),
        ("{'a': 1, 2: b,}", "{'a': 1, 2: b}"),
        ("[1, 2,]", "[1, 2]"),
        ("[,]", "[]"),
        ("has(a.b)", "a.has b"),
        ("a.all(x, x > 1)", "all(a, x, _>_(x, 1))"),
        ("a.map(x, x > 1, x)", "map(a, x, _>_(x, 1), x)"),
        ("a.exists(i, x, x > i)", "exists(a, i, x, _>_(x, i))"),
        ("a.orValue(b)", "__orValueCompat__(a, b)"),
        (
            "a.optMap(x, x)",
            "_?_:_(hasValue(a), optional.of(let x = value(a) in x), optional.none())",
        ),
        ("1 // comment\n + 2", "_+_(1, 2)"),
        ("0x1F + 5u + 1.5e3 + .5", "_+_(_+_(_+_(31, 5), 1500.0), 0.5)"),
        (r"'a\tb\u00fc\x41\101\''", repr("a\tbüAA'")),
        (r"r'a\b'", repr(r"a\b")),
        ("'''a\nb'''", repr("a\nb")),
        (r"b'\xffü'", repr(b"\xff\xc3\xbc")),
    ],
)
def test_tree(text, tree):
    assert shape(parse(text, MACROS)) == tree


@pytest.mark.parametrize(
    ("text", "issues"),
    [
        (r"b'\u0041'", [(0, "unable to unescape string")]),
        (r"b'\U00000041'", [(0, "unable to unescape string")]),
        ("a b", [(2, "Syntax error: extraneous input 'b' expecting <EOF>")]),
        ("a b c", [(2, "Syntax error: mismatched input 'b' expecting <EOF>")]),
        ("f(1", [(3, "Syntax error: missing ')' at '<EOF>'")]),
        ("[1, 2", [(5, "Syntax error: mismatched input '<EOF>' expecting {']', ','}")]),
        ("{1 2}", [(3, "Syntax error: missing ':' at '2'")]),
        ("a..b", [(2, "Syntax error: no viable alternative at input '..'")]),
        ("a ? b", [(5, "Syntax error: mismatched input '<EOF>' expecting ':'")]),
        ("if == 1", [(0, "reserved identifier: if")]),
        ("99999999999999999999", [(0, "invalid int literal")]),
        (r"'\ud800'", [(0, "invalid unicode code point")]),
        ("has(a)", [(4, "invalid argument to has() macro")]),
        ("a.all(b.c, d)", [(7, "argument must be a simple name")]),
        ("a.map(1, d)", [(6, "argument is not an identifier")]),
        ("a.all(x, x, d)", [(9, "duplicate variable name: x")]),
        (
            "a = 1",
            [
                (2, "Syntax error: token recognition error at: '= '"),
                (4, "Syntax error: extraneous input '1' expecting <EOF>"),
            ],
        ),
    ],
)
def test_issues(text, issues):
    with pytest.raises(ExpressionSyntaxError) as caught:
        parse(text, MACROS)
    assert [(issue.at, issue.message) for issue in caught.value.issues] == issues


def test_an_operand_that_is_missing_says_what_may_stand_there():
    with pytest.raises(ExpressionSyntaxError) as caught:
        parse("1 +", MACROS)
    (issue,) = caught.value.issues
    assert issue.at == 3
    assert issue.message.startswith("Syntax error: mismatched input '<EOF>' expecting {'[', '{'")
    assert issue.message.endswith("STRING, BYTES, IDENTIFIER}")


def test_macros_of_absent_libraries_stay_calls():
    assert shape(parse("a.orValue(b)", frozenset())) == "orValue(a, b)"
