import math

import pytest

from kyvsim.kubernetes.go_text import format_float, quote, sprint, sprint_e, sprint_text, to_json


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
def test_sprint_e(number, text):
    assert sprint_e(number) == text


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
