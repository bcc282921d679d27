"""Schedules of five fields; a table, whose answers are those of upstream's parser."""

import pytest

from kyvsim.kubernetes.cron import is_standard_schedule


@pytest.mark.parametrize(
    "text",
    [
        *("* * * * *", "0 0 ? * ?", "59 23 31 12 6", "0 0 1 jan sun", "0 0 1 JAN-mar MON-fri/2"),
        *("*/15 0-8/2 1,15 * *", "5/10 * * * *", ",1, * * * *", "*/99 * * * *", " 0  0 * * * "),
        *("@daily", "@midnight", "@every 1h30m", "*-9 * * * *", "+5 * * * *"),
    ],
)
def test_schedules(text):
    assert is_standard_schedule(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "* * * *", "* * * * * *", "0 0 * * 7", "60 * * * *", "* 24 * * *", "* * 0 * *"),
        *("* * 32 * *", "* * * 13 *", "* * * 0 *", "5-1 * * * *", "1-2-3 * * * *", "1/2/3 * * * *"),
        *("*/0 * * * *", "*/x * * * *", "-1 * * * *", "0 0 L * *", "0 0 1 january *", "x * * * *"),
        *("@reboot", "@Daily", "@every", "@every 1d", "* * * * 5#1", "1- * * * *"),
    ],
)
def test_what_is_no_schedule(text):
    assert not is_standard_schedule(text)
