"""Text forms of Go."""

import math

import pytest

from kyvsim.kubernetes.go_text import format_float, quote, sprint, sprint_text, to_json
from kyvsim.kubernetes.quantities import parse_float, parse_int, to_int64, wrap_int64


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (999999.0, "999999"),
        (1e6, "1e+06"),
        (123456789012.0, "1.23456789012e+11"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (-0.0, "-0"),
        (1000000, "1000000"),
        (True, "true"),
        (None, "<nil>"),
        ("a b", "a b"),
        ([1.0, "x", None], "[1 x <nil>]"),
        ({"b": 1.5, "a": [True]}, "map[a:[true] b:1.5]"),
    ],
)
def test_sprint(value, text):
    assert sprint(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a b", "a b"),
        (1e6, "%!s(float64=1e+06)"),
        (3, "%!s(int64=3)"),
        (None, "%!s(<nil>)"),
        ({"b": [True, "x", None], "a": {}}, "map[a:map[] b:[%!s(bool=true) x <nil>]]"),
    ],
)
def test_sprint_text(value, text):
    assert sprint_text(value) == text


@pytest.mark.parametrize(("number", "text"), [(8080.0, "8.08E+03"), (0.0, "0E+00"), (0.5, "5E-01")])
def test_scientific_form(number, text):
    assert format_float(number, "E") == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1e7, "10000000"),
        (0.1, "0.1"),
        (1e-9, "0.000000001"),
        (16777217.0, "16777216"),
        (1e39, "+Inf"),
    ],
)
def test_plain_form_with_the_digits_of_a_float32(number, text):
    assert format_float(number, "f", bits=32) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [1.0, 2.5, None, False]}, '{"a":[1,2.5,null,false],"b":1}'),
        ("<a&b>\u2028", r'"\u003ca\u0026b\u003e\u2028"'),
        ('"\\\n\x01\x7fé', '"\\"\\\\\\n\\u0001\x7fé"'),
        ([1e20, 1e21, 1e-6, 1e-7, -0.0], "[100000000000000000000,1e+21,0.000001,1e-7,-0]"),
        ("\ud800", '"\ufffd"'),
    ],
)
def test_to_json(value, text):
    assert to_json(value) == text


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_no_json(number):
    with pytest.raises(ValueError, match="unsupported value"):
        to_json([number])


def test_quote():
    assert quote('a"\\\n\x01é\u2028') == r'"a\"\\\n\x01é\u2028"'


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12.0),
        ("-1.5e3", -1500.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("1_000", 1000.0),
        ("0x1p4", 16.0),
        ("0x_1.8p1", 3.0),
        ("Inf", math.inf),
        ("-infinity", -math.inf),
        ("1e400", None),
        ("0x10", None),
        ("1__0", None),
        ("_1", None),
        (" 1", None),
        ("", None),
        (".", None),
        ("0x1p9999", None),
        ("\u0661", None),
        ("\u0131nf", None),
        ("\u0130NF", None),
        ("0x_1_0p1_0", 16384.0),
        ("0x__1p3", None),
        ("0x1_.8p1", None),
        ("0x1p-99999", 0.0),
        ("0_1", 1.0),
        ("1._0", None),
        ("1e_1", None),
        ("1e1__0", None),
    ],
)
def test_parse_float(text, number):
    assert parse_float(text) == number


def test_parse_float_reads_nan_without_sign_only():
    assert math.isnan(parse_float("NaN"))
    assert parse_float("+NaN") is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("007", 7),
        ("+5", 5),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775808", None),
        ("1.0", None),
        ("1_0", None),
        ("", None),
        ("9" * 5000, None),
    ],
)
def test_parse_int(text, number):
    assert parse_int(text) == number


@pytest.mark.parametrize(
    ("number", "whole"),
    [(1.9, 1), (-1.9, -1), (1e19, -(2**63)), (math.nan, -(2**63)), (-math.inf, -(2**63))],
)
def test_to_int64(number, whole):
    assert to_int64(number) == whole


@pytest.mark.parametrize(
    ("number", "wrapped"), [(2**63, -(2**63)), (-(2**63) - 1, 2**63 - 1), (5, 5), (2**64 + 1, 1)]
)
def test_wrap_int64(number, wrapped):
    assert wrap_int64(number) == wrapped
