import math

import pytest

from kyvsim.kubernetes.quantities import parse_float, parse_int, to_int64, wrap_int64


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
