import pytest

from kyvsim.kubernetes.quantities import HOUR, MINUTE, SECOND, explain_duration, format_duration
from kyvsim.kubernetes.quantities import parse_duration as parse


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
