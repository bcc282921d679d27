"""The values of the label that limits the lifetime of objects."""

from datetime import UTC, datetime

import pytest

from kyvsim.kubernetes.lifetimes import TtlError, parse_lifetime

SECOND = 10**9


@pytest.mark.parametrize(
    ("text", "lifetime"),
    [
        ("90s", 90 * SECOND),
        ("1w3hours", (7 * 86_400 + 3 * 3_600) * SECOND),
        ("2 days", 2 * 86_400 * SECOND),
        ("2026-02-03", datetime(2026, 2, 3, tzinfo=UTC)),
        ("2026-02-03T040506Z", datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)),
    ],
)
def test_a_lifetime_is_a_duration_or_a_time(text, lifetime):
    assert parse_lifetime(text) == lifetime


@pytest.mark.parametrize("text", ["", "soon", "10", "2026-02-30", "2026-02-03T04:05:06Z"])
def test_other_texts_are_errors(text):
    with pytest.raises(TtlError):
        parse_lifetime(text)
