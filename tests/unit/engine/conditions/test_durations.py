import pytest

from kyvsim.engine.conditions.operators import duration_pair, in_seconds, seconds_as_duration


@pytest.mark.parametrize(
    ("key", "value", "pair"),
    [
        ("1s", "2s", (10**9, 2 * 10**9)),
        ("1s", 2.9, (10**9, 2 * 10**9)),
        (3, "1ms", (3 * 10**9, 10**6)),
        ("0", "1s", None),
        ("5", "6", None),
        ("1s", "x", None),
        (1.0, 2.0, None),
        ("1s", True, None),
    ],
)
def test_duration_pair(key, value, pair):
    assert duration_pair(key, value) == pair


def test_long_times_wrap_and_lose_digits_as_upstream():
    assert seconds_as_duration(10**12) == (10**21 + 2**63) % 2**64 - 2**63
    assert in_seconds(-1_500_000_000) == -1.5
    assert in_seconds(10**18 + 1) == in_seconds(10**18)
