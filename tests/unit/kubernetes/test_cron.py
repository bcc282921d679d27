"""Cron schedules."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kyvsim.kubernetes.cron import is_standard_schedule, next_times

# Next due times of schedules, in UTC.

NOW = datetime(2026, 1, 31, 8, 0, 30, tzinfo=UTC)

DUE = [
    ("*/5 * * * *", ["01-31 08:05", "01-31 08:10"]),
    ("0 8 * * *", ["02-01 08:00", "02-02 08:00"]),
    ("0 0 31 * *", ["03-31 00:00", "05-31 00:00"]),
    ("0 0 13 * 5", ["02-06 00:00", "02-13 00:00"]),
    ("0 0 L * *", ["02-28 00:00", "03-31 00:00"]),
    ("0 0 ? * MON", ["02-02 00:00", "02-09 00:00"]),
    ("0 0 * * 7", ["02-01 00:00", "02-08 00:00"]),
    ("0 0 15W * *", ["02-16 00:00", "03-16 00:00"]),
    ("0 0 1w,31W * *", ["02-02 00:00", "03-02 00:00"]),
    ("0 0 LW * *", ["02-27 00:00", "03-31 00:00"]),
    ("0 0 * * 5L", ["02-27 00:00", "03-27 00:00"]),
    ("0 0 * * fri#5", ["05-29 00:00", "07-31 00:00"]),
    ("0 0 * * Wednesday#1", ["02-04 00:00", "03-04 00:00"]),
    ("0 0 L 2-3 *", ["02-28 00:00", "03-31 00:00"]),
    ("0 0 */15 feb *", ["02-01 00:00", "02-16 00:00"]),
    ("7/20 8 * * *", ["01-31 08:07", "01-31 08:27"]),
    ("0 0 * * 01", ["02-01 00:00", "02-08 00:00"]),
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


@pytest.mark.parametrize(
    ("schedule", "problem"),
    [
        ("", "missing field(s)"),
        ("* * * *", "missing field(s)"),
        ("99 * * * *", "syntax error in minute field: '99'"),
        ("0 0 1 1 * x", "syntax error in year field: 'x'"),
        ("0 0 32W * *", "syntax error in day-of-month field: '32w'"),
        ("0 0 * * 5#6", "syntax error in day-of-week field: '5#6'"),
        ("0 0 * * 8L", "syntax error in day-of-week field: '8l'"),
        ("0 0 * * 5-7", "invalid interval 5-7 (normalized to 5-0)"),
        ("*/60 * * * *", "invalid interval */60"),
        ("*/0 * * * *", "invalid interval */0"),
        ("*/x * * * *", "syntax error in minute field: '*/x'"),
        (", * * * *", "minute field: missing directive"),
        ("@reboot", "missing field(s)"),
        ("0 0 0 1 1 * 1969", "syntax error in year field: '1969'"),
    ],
)
def test_schedules_that_cannot_be_read(schedule, problem):
    with pytest.raises(ValueError, match=re.escape(problem) + "$"):
        next_times(schedule, NOW, 1)


# --- a plain model: every minute of some days is asked whether it is due ------------------------

DAYS = 4
LEAST, MOST = (0, 0, 1, 1, 0), (59, 23, 31, 12, 6)


def meant(field, least, most):
    found = set()
    for part in field.split(","):
        base, _, step = part.partition("/")
        first, _, last = base.partition("-")
        start = least if base == "*" else int(first)
        end = most if base == "*" or (step and not last) else int(last or first)
        found |= set(range(start, end + 1, int(step or 1)))
    return found


def due_minutes(schedule, start):
    """Return those of the minutes after a start that fit."""
    texts = schedule.split()
    minute, hour, day, month, weekday = (
        meant(*one) for one in zip(texts, LEAST, MOST, strict=True)
    )
    both = "*" in {texts[2], texts[4]}
    for n in range(1, DAYS * 24 * 60):
        moment = start + timedelta(minutes=n)
        if moment.minute in minute and moment.hour in hour and moment.month in month:
            on_day, on_weekday = moment.day in day, moment.isoweekday() % 7 in weekday
            if (on_day and on_weekday) if both else (on_day or on_weekday):
                yield moment


def fields(least, most):
    numbers = st.integers(least, most)
    spans = st.tuples(numbers, numbers).map(lambda ends: f"{min(ends)}-{max(ends)}")
    steps = st.tuples(st.just("*") | numbers.map(str) | spans, st.integers(1, most)).map(
        lambda parts: f"{parts[0]}/{parts[1]}"
    )
    parts = st.one_of(numbers.map(str), spans, steps)
    return st.just("*") | st.lists(parts, min_size=1, max_size=2).map(",".join)


SCHEDULES = st.tuples(*map(fields, LEAST, MOST)).map(" ".join)


@pytest.mark.slow
@given(SCHEDULES, st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)))  # noqa: DTZ001 — UTC below
def test_due_are_the_minutes_that_fit(schedule, after):
    after = after.replace(tzinfo=UTC)
    start = after.replace(second=0, microsecond=0)
    found = next_times(schedule, after, 20)
    end = start + timedelta(DAYS)
    assert [time for time in found if time < end] == list(due_minutes(schedule, start))[:20]


# Schedules of five fields; a table, whose answers are those of upstream's parser.


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
