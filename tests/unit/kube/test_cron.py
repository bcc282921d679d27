"""Next due times of schedules, in UTC."""

from datetime import UTC, datetime

import pytest

from kyvsim.kube.cron import next_times

NOW = datetime(2026, 1, 31, 8, 0, 30, tzinfo=UTC)

DUE = [
    ("*/5 * * * *", ["01-31 08:05", "01-31 08:10"]),
    ("0 8 * * *", ["02-01 08:00", "02-02 08:00"]),
    ("0 0 31 * *", ["03-31 00:00", "05-31 00:00"]),
    ("0 0 13 * 5", ["02-06 00:00", "02-13 00:00"]),
    ("0 0 L * *", ["02-28 00:00", "03-31 00:00"]),
    ("0 0 ? * MON", ["02-02 00:00", "02-09 00:00"]),
    ("0 0 * * 7", ["02-01 00:00", "02-08 00:00"]),
    ("@hourly", ["01-31 09:00", "01-31 10:00"]),
    ("@weekly", ["02-01 00:00", "02-08 00:00"]),
]
YEARS = [
    ("0 0 1 1 * 2030", [2030]),
    ("0 0 1 1 * 2027,2029", [2027, 2029]),
    ("15 0 0 1 1 * 2030-2040/5", [2030, 2035, 2040]),
    ("0 0 1 1 * */50", [2070]),
    ("0 0 1 1 * 1990", []),
]


@pytest.mark.parametrize(("schedule", "due"), DUE)
def test_next_times(schedule, due):
    assert [time.strftime("%m-%d %H:%M") for time in next_times(schedule, NOW, 2)] == due


@pytest.mark.parametrize(("schedule", "years"), YEARS)
def test_years_are_the_last_field(schedule, years):
    assert [time.year for time in next_times(schedule, NOW, 3)][:3] == years


def test_seven_fields_begin_with_the_second():
    assert next_times("15 0 0 1 1 * *", NOW, 1) == [datetime(2027, 1, 1, 0, 0, 15, tzinfo=UTC)]


def test_a_time_that_is_due_now_is_not_the_next():
    now = NOW.replace(second=0)
    assert next_times("0 8 * * *", now, 1) == [datetime(2026, 2, 1, 8, tzinfo=UTC)]


@pytest.mark.parametrize("schedule", ["", "* * * *", "99 * * * *", "0 0 1 1 * x", "0 0 15W * *"])
def test_schedules_that_cannot_be_read(schedule):
    with pytest.raises(ValueError, match=r"."):
        next_times(schedule, NOW, 1)
