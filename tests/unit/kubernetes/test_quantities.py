"""Numbers, quantities and durations."""

import pytest

from kyvsim.kubernetes.quantities import (
    HOUR,
    MINUTE,
    SECOND,
    deep_equal,
    explain_duration,
    format_duration,
    parse_quantity,
    quantity_problem,
    with_floats,
    with_whole_numbers,
)
from kyvsim.kubernetes.quantities import parse_duration as parse


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("1", "1"),
        ("1000m", "1"),
        ("1500m", "1500m"),
        ("0.1", "100m"),
        ("1.5Gi", "1536Mi"),
        ("1024Mi", "1Gi"),
        ("1000Mi", "1000Mi"),
        ("0.5Ki", "512"),
        ("1e3", "1e3"),
        ("12E6", "12e6"),
        ("1E", "1E"),
        ("-2.5k", "-2500"),
        (".5", "500m"),
        ("5.", "5"),
        ("+7", "7"),
        ("0.0000000001", "1n"),
        ("8Ei", "9223372036854775807"),
        ("123456789012345678901", "123456789012345678901"),
        ("m", "0"),
        ("-", "0"),
        ("Ki", "0"),
    ],
)
def test_canonical_text(text, canonical):
    assert str(parse_quantity(text)) == canonical


@pytest.mark.parametrize(
    "text",
    ["", "x", "1x", "1 Gi", " 1", "1mi", "1KI", "1e", "1..2", "--1", "1e5e", "Ei", "٣", "1\n"],
)
def test_no_quantity(text):
    assert parse_quantity(text) is None


@pytest.mark.parametrize(
    ("small", "large"),
    [
        ("1", "1001m"),
        ("1000M", "1Gi"),
        ("-1Gi", "0"),
        ("-2", "-1"),
        ("0", "1n"),
        ("1e3", "1Ki"),
        ("1", "1e100000000"),
        ("-1e100000000", "-5"),
        ("99", "1e2"),
    ],
)
def test_order(small, large):
    left, right = parse_quantity(small), parse_quantity(large)
    assert left < right
    assert left <= right
    assert right > left
    assert right >= left
    assert left != right


@pytest.mark.parametrize(("left", "right"), [("1Gi", "1024Mi"), ("1", "1000m"), ("0", "0Gi")])
def test_equality_is_by_value(left, right):
    assert parse_quantity(left) == parse_quantity(right)
    assert hash(parse_quantity(left)) == hash(parse_quantity(right))


def test_arithmetic_keeps_the_first_format():
    one = parse_quantity("1Gi")
    assert str(one.plus(parse_quantity("1Mi"))) == "1025Mi"
    assert str(one.minus(parse_quantity("1"))) == "1073741823"
    assert str(parse_quantity("0").plus(one)) == "1Gi"
    assert str(one.times(parse_quantity("0.5"))) == "512Mi"
    assert str(one.divided_by(parse_quantity("3"))) == "357913941"


def test_absurd_sizes_end_in_an_error_and_not_in_a_hang():
    huge = parse_quantity("1e1000000000")
    with pytest.raises(OverflowError):
        huge.plus(parse_quantity("1"))
    with pytest.raises(OverflowError):
        huge.divided_by(parse_quantity("1e-9"))
    assert huge.approximate() == float("inf")
    assert parse_quantity("9" * 5000) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "regular expression"),
        ("1 Gi", "regular expression"),
        ("nn", "suffix"),
        ("1GiB", "regular expression"),
        ("1KiM", "suffix"),
        ("1eE3", "suffix"),
        ("1e99999999999999999999", "suffix"),
    ],
)
def test_what_is_wrong_with_a_text_that_is_none(text, problem):
    assert parse_quantity(text) is None
    assert problem in quantity_problem(text)


@pytest.mark.parametrize(
    ("text", "nanoseconds", "shown"),
    [
        ("1h30m", HOUR + 30 * MINUTE, "1h30m0s"),
        ("90s", 90 * SECOND, "1m30s"),
        ("-1.5s", -3 * SECOND // 2, "-1.5s"),
        ("+1.h", HOUR, "1h0m0s"),
        (".5ms", 500_000, "500\u00b5s"),
        ("1us2ns", 1_002, "1.002\u00b5s"),
        ("1\u00b5s", 1_000, "1\u00b5s"),
        ("0", 0, "0s"),
        ("-0", 0, "0s"),
        ("9223372036854775807ns", (1 << 63) - 1, "2562047h47m16.854775807s"),
        ("-9223372036854775808ns", -(1 << 63), "-2562047h47m16.854775808s"),
    ],
)
def test_parse_and_format(text, nanoseconds, shown):
    assert parse(text) == nanoseconds
    assert format_duration(nanoseconds) == shown


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", 'time: invalid duration ""'),
        ("5", 'time: missing unit in duration "5"'),
        ("1d", 'time: unknown unit "d" in duration "1d"'),
        ("1h x", 'time: unknown unit "h x" in duration "1h x"'),
        (".s", 'time: invalid duration ".s"'),
        ("9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'),
        ("99999999999999h", 'time: invalid duration "99999999999999h"'),
        ("1\u00e4", 'time: unknown unit "\\xc3\\xa4" in duration "1\\xc3\\xa4"'),
    ],
)
def test_refused(text, problem):
    assert parse(text) is None
    assert explain_duration(text) == problem


@pytest.mark.parametrize("text", ["1" * 200_000, "1." * 100_000, "1h" * 100_000 + "x"])
def test_long_texts_are_read_once(text):
    """What is read again for each character would take minutes here."""
    assert parse(text) is None
    assert explain_duration(text).startswith("time: ")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (80.0, 80),
        (-0.0, 0),
        (1.5, 1.5),
        (1e21, 1e21),
        (1e20, 1e20),
        (9007199254740993.0, 9007199254740992),
        (1234567890123456768.0, 1234567890123456800),
        (9223372036854775808.0, 9223372036854775808.0),
        (-9223372036854775808.0, -9223372036854775808.0),
    ],
)
def test_whole_numbers(before, after):
    found = with_whole_numbers(before)
    assert (found, type(found)) == (after, type(after))


def test_booleans_stay():
    assert with_whole_numbers({"a": [True, False]}) == {"a": [True, False]}
    assert with_whole_numbers(True) is True


def test_parts_without_whole_numbers_are_shared():
    value = {"same": {"a": ["x", 1.5]}, "other": [{"n": 1.0}, {"m": "x"}]}
    found = with_whole_numbers(value)
    assert found == {"same": {"a": ["x", 1.5]}, "other": [{"n": 1}, {"m": "x"}]}
    assert found["same"] is value["same"]
    assert found["other"][1] is value["other"][1]
    assert value["other"][0]["n"].__class__ is float
    assert with_whole_numbers(value["same"]) is value["same"]


def test_floats():
    value = {"same": {"a": ["x", 1.5, True]}, "other": [{"n": 1}, {"m": "x"}], "none": None}
    found = with_floats(value)
    assert found == value
    assert found["other"][0]["n"].__class__ is float
    assert found["same"] is value["same"]
    assert found["other"][1] is value["other"][1]
    assert value["other"][0]["n"].__class__ is int
    assert list(found) == list(value)
    assert with_floats(value["same"]) is value["same"]
    assert with_floats(True) is True
    assert with_floats(2).__class__ is float


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (1, 1, True),
        (1, 1.0, False),
        (1, True, False),
        (0.0, -0.0, True),
        (None, False, False),
        ({"a": [1, {"b": "x"}]}, {"a": [1, {"b": "x"}]}, True),
        ({"a": [1]}, {"a": [1.0]}, False),
        ({"a": 1}, {"a": 1, "b": None}, False),
        ([1, 2], [1], False),
        ([], {}, False),
    ],
)
def test_deep_equal(left, right, same):
    assert deep_equal(left, right) is same
    assert deep_equal(right, left) is same
