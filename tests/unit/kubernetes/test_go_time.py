from datetime import UTC, datetime, timedelta

import pytest

from kyvsim.kubernetes.go_time import Time, TimeError, from_clock, parse_rfc3339, parse_time


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2024-02-29T12:30:45Z", "2024-02-29T12:30:45Z"),
        ("2024-02-29T12:30:45.999999999+05:30", "2024-02-29T12:30:45+05:30"),
        ("2024-01-01T1:02:03,5Z", "2024-01-01T01:02:03Z"),
        ("2024-01-01T00:00:00-00:00", "2024-01-01T00:00:00Z"),
        ("2024-01-01T00:00:00+24:00", "2024-01-01T00:00:00+24:00"),
        ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
    ],
)
def test_rfc3339(text, shown):
    assert str(parse_rfc3339(text)) == shown


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("2023-02-29T00:00:00Z", ": day out of range"),
        ("2024-13-01T00:00:00Z", ": month out of range"),
        ("2024-01-01T24:00:00Z", ": hour out of range"),
        ("2024-01-01T00:00:00+25:00", ": time zone offset hour out of range"),
        ("2024-01-01", 'cannot parse "" as "T"'),
        ("x", 'cannot parse "x" as "2006"'),
        ("2024-01-01T00:00:00Zz", ': extra text: "z"'),
        ("2024-01-01T00:00:00\u0664Z", 'as "Z07:00"'),
    ],
)
def test_no_rfc3339(text, problem):
    with pytest.raises(TimeError) as caught:
        parse_rfc3339(text)
    assert str(caught.value).startswith('parsing time "')
    assert str(caught.value).endswith(problem)


@pytest.mark.parametrize(
    ("layout", "text", "shown"),
    [
        ("02 Jan 06 15:04 MST", "03 feb 24 10:20 CET", "2024-02-03T10:20:00Z"),
        ("02 Jan 06 15:04 MST", "03 Feb 69 10:20 GMT+3", "1969-02-03T13:20:00+03:00"),
        ("Mon Jan _2 2006 3:04PM", "Sat Feb  3 2024 12:05AM", "2024-02-03T00:05:00Z"),
        ("2006 002", "2024 366", "2024-12-31T00:00:00Z"),
        ("2006 __2", "2023  60", "2023-03-01T00:00:00Z"),
        ("15:04:05", "10:20:30.5", "0000-01-01T10:20:30Z"),
        ("2006-01-02 -07", "2024-01-02 +05", "2024-01-02T00:00:00+05:00"),
        ("_2006_1", "_2024_5", "2024-05-01T00:00:00Z"),
        ("January 2", "MARCH 4", "0000-03-04T00:00:00Z"),
    ],
)
def test_layouts(layout, text, shown):
    assert str(parse_time(layout, text)) == shown


@pytest.mark.parametrize(
    ("layout", "text", "problem"),
    [
        ("2006 002", "2023 366", ": day-of-year out of range"),
        ("002 01 2006", "060 03 2024", ": day-of-year does not match month"),
        ("15:04:05.000", "1:02:03.04", 'cannot parse ".04" as ".000"'),
        ("MST", "abc", 'cannot parse "abc" as "MST"'),
        ("Jan", "Foo", 'cannot parse "Foo" as "Jan"'),
    ],
)
def test_texts_that_do_not_fit_a_layout(layout, text, problem):
    with pytest.raises(TimeError) as caught:
        parse_time(layout, text)
    assert str(caught.value).endswith(problem)


def test_dates_agree_with_the_calendar_of_python():
    day = datetime(1, 1, 1, tzinfo=UTC)
    for _ in range(9000):
        time = from_clock((day.year, day.month, day.day), 3_661)
        assert time.civil() == (day.year, day.month, day.day, 3_661, day.isoweekday() % 7)
        if day.year > 9990:
            break
        day += timedelta(days=397)


def test_arithmetic():
    start = parse_rfc3339("2024-01-01T10:47:00+02:00")
    assert str(start.add(90 * 10**9)) == "2024-01-01T10:48:30+02:00"
    assert str(start.truncate(3600 * 10**9)) == "2024-01-01T10:00:00+02:00"
    assert start.truncate(0) == start
    assert str(start.utc()) == "2024-01-01T08:47:00Z"
    assert Time(1 << 70).since(Time(0)) == (1 << 63) - 1
