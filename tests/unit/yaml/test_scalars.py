import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kyvsim.yaml.document import (
    MERGE_KEY,
    ScalarError,
    plain_float_value,
    plain_key,
    plain_value,
    tagged_key,
    tagged_value,
)

CORE = "tag:yaml.org,2002:"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("y", True),
        ("On", True),
        ("YES", True),
        ("yES", "yES"),
        ("n", False),
        ("OFF", False),
        ("", None),
        ("~", None),
        ("NULL", None),
        ("nULL", "nULL"),
        ("0", 0),
        ("-0", 0),
        ("+12", 12),
        ("0755", 493),
        ("-0755", -493),
        ("0o17", 15),
        ("0x_1F", 31),
        ("0b11", 3),
        ("0b-101", -5),
        ("-0b-1", "-0b-1"),
        ("0x", "0x"),
        ("0o8", "0o8"),
        ("08", 8),
        ("1_000", 1000),
        ("1_0.5", 10.5),
        ("1.", 1),
        (".5", 0.5),
        ("._5", "._5"),
        (".5_", ".5_"),
        ("1e3", 1000),
        ("12e03", 12000),
        ("1e-7", 1e-07),
        ("-0.0", 0),
        ("1e400", "1e400"),
        (".1e400", ".1e400"),
        ("1e-400", 0),
        ("1e20", 1e20),
        ("1e22", 1e22),
        ("9007199254740993", 9007199254740993),
        ("9223372036854775807", 9223372036854775807),
        ("9223372036854775808", 9223372036854775808.0),
        ("-9223372036854775808", -9223372036854775808),
        ("+18446744073709551615", 1.8446744073709552e19),
        ("123456789012345678901234567890", 1.2345678901234568e29),
        ("184467440737095515.15", 184467440737095520),
        ("1:30", "1:30"),
        ("190:20:30", "190:20:30"),
        ("2001-01-01", "2001-01-01"),
        ("1.2.3", "1.2.3"),
        ("<<", "<<"),
        ("=", "="),
    ],
)
def test_plain_scalars_have_the_values_of_go(text, value):
    found = plain_value(text)
    assert (found, found.__class__) == (value, value.__class__)


def test_five_thousand_digits_are_a_text_where_they_overflow():
    assert plain_value("9" * 5000) == "9" * 5000
    assert plain_value("0" * 5000 + "17") == 15


@pytest.mark.parametrize("text", [".inf", "-.INF", "+.Inf", ".NaN"])
def test_infinities_have_no_json(text):
    with pytest.raises(ScalarError, match="unsupported value"):
        plain_value(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1.0), ("9007199254740993", 9007199254740992.0), ("-0.0", 0.0), ("0x10", 16.0)],
)
def test_resources_have_floats_only(text, value):
    found = plain_float_value(text)
    assert found.__class__ is float
    assert (found, math.copysign(1, found)) == (value, 1.0)


def test_booleans_are_no_numbers():
    assert plain_float_value("yes") is True


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("a", "a"),
        ("y", "true"),
        ("off", "false"),
        ("0x10", "16"),
        ("1e3", "1000"),
        ("1.5", "1.5"),
        ("1e6", "1e+06"),
        ("123456.0", "123456"),
        ("18446744.7", "1.8446744e+07"),
        ("0.0001", "0.0001"),
        ("0.00001", "1e-05"),
        ("16777217.0", "1.6777216e+07"),
        ("1e300", ".inf"),
        (".nan", ".nan"),
        ("2001-12-14", "2001-12-14"),
    ],
)
def test_keys_are_the_text_of_their_values(text, key):
    assert plain_key(text) == key


@pytest.mark.parametrize("text", ["", "null", "~", "9223372036854775808"])
def test_keys_without_text_are_refused(text):
    with pytest.raises(ScalarError, match="unsupported map key"):
        plain_key(text)


def test_merge_key():
    assert plain_key("<<") is MERGE_KEY
    assert tagged_key(CORE + "merge", "<<") is MERGE_KEY
    assert tagged_key(CORE + "str", "<<") == "<<"


@pytest.mark.parametrize(
    ("tag", "text", "value"),
    [
        ("str", "5", "5"),
        ("int", "5", 5),
        ("float", "5", 5.0),
        ("bool", "on", True),
        ("null", "", None),
        ("timestamp", "2001-1-1", "2001-1-1"),
        ("binary", "aGVs\nbG8=", "hello"),
        ("binary", "4oI=", "\ufffd\ufffd"),
        ("python/object/apply:os.system", "true", "true"),
        ("merge", "x", "x"),
    ],
)
def test_tags(tag, text, value):
    found = tagged_value(CORE + tag, text)
    assert (found, found.__class__) == (value, value.__class__)


@pytest.mark.parametrize(
    ("tag", "text"),
    [
        ("int", "x"),
        ("int", "1.5"),
        ("bool", "1"),
        ("float", "2001-01-01"),
        ("timestamp", "2001-13-01"),
    ]
    + [("binary", text) for text in ("aGVsbG8", "a GVsbG8=", "\u00e9", "aaGVsbG8=")],
)
def test_tags_that_do_not_fit(tag, text):
    with pytest.raises(ScalarError, match=r"cannot decode|invalid base64"):
        tagged_value(CORE + tag, text)


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_64_bit_integer_is_itself(number):
    assert plain_value(str(number)) == number
    assert plain_value(str(number)).__class__ is int


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_keeps_its_value(number):
    assert float(plain_value(repr(number))) == number
