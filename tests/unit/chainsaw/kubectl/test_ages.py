"""Times as kubectl shows them."""

from datetime import UTC, datetime

import pytest

from kyvsim.chainsaw.kubectl.output import age, shown_seconds

NOW = datetime(2024, 1, 1, 0, 2, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (150, "2m30s"),
        (600, "10m"),
        (10799, "179m"),
        (10800, "3h"),
        (11000, "3h3m"),
        (30000, "8h"),
        (172800, "2d"),
        (180000, "2d2h"),
        (8 * 86400, "8d"),
        (731 * 86400, "2y1d"),
        (3000 * 86400, "8y"),
    ],
)
def test_seconds_are_shown_in_one_or_two_units(seconds, text):
    assert shown_seconds(seconds) == text


@pytest.mark.parametrize(
    ("stamp", "text"),
    [
        ("2024-01-01T00:00:00Z", "2m30s"),
        ("2024-01-01T00:02:00.500000Z", "29s"),
        ("", "<unknown>"),
    ],
)
def test_age_is_counted_from_a_stamp(stamp, text):
    assert age(stamp, NOW) == text
