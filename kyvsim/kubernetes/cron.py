"""Cron schedules: their validation, and the next times."""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, timedelta
from itertools import islice, product
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.quantities import parse_duration

# The next times of a cron expression.
# Five fields; a sixth contains years, and the first of seven contains seconds. Names such as
# `@daily` represent fields. Days of the month and of the week are combined with "or", unless one of
# them is `*`. All times are UTC.
# upstream: github.com/aptible/supercronic/cronexpr, which Kyverno uses for schedules.

_CRON_NAMES = MappingProxyType(
    {"@yearly": "0 0 0 1 1 * *", "@annually": "0 0 0 1 1 * *", "@monthly": "0 0 0 1 * * *"}
    | {"@weekly": "0 0 0 * * 0 *", "@daily": "0 0 0 * * * *", "@hourly": "0 0 * * * * *"}
)
_CRON_MONTHS = (
    "january february march april may june july august september october november december"
)
_CRON_WEEK = "sunday monday tuesday wednesday thursday friday saturday"
_SATURDAY, _SUNDAY = 5, 6
_WEEKS = "12345"


class _CronField(NamedTuple):
    """The name of a field, and its minimum and maximum."""

    name: str
    least: int
    most: int
    words: Mapping[str, int] = MappingProxyType({})


def _words(names: str, first: int) -> Mapping[str, int]:
    """Return the numbers by name, long and short, and by digits."""
    numbered = list(enumerate(names.split(), first))
    found = {text: number for number, name in numbered for text in (name, name[:3], str(number))}
    return MappingProxyType(found)


_SECOND = _CronField("second", 0, 59)
_MINUTE = _CronField("minute", 0, 59)
_HOUR = _CronField("hour", 0, 23)
_DAY = _CronField("day-of-month", 1, 31)
_MONTH = _CronField("month", 1, 12, _words(_CRON_MONTHS, 1))
# In upstream, a weekday with a leading zero is Sunday.
_WEEKDAY = _CronField(
    "day-of-week", 0, 6, {**{f"0{n}": 0 for n in range(8)}, **_words(_CRON_WEEK, 0), "7": 0}
)
_YEAR = _CronField("year", 1970, 2099)


class _Days(NamedTuple):
    """The value of a field of days: days by number, and functions that find days of a month."""

    everyday: bool
    numbers: frozenset[int]
    others: tuple[Callable[[date], date | None], ...]
    """Functions that return a day, given the first day of a month; None if there is none."""


def next_times(schedule: str, after: datetime, count: int) -> list[datetime]:
    """Return the first `count` times in UTC after a time; fewer at the end of the years.

    Raises ValueError, with upstream's message, for an invalid schedule.
    """
    for name, meaning in _CRON_NAMES.items():
        schedule = schedule.replace(name, meaning)
    fields = schedule.split()
    if len(fields) < 5:
        raise ValueError("missing field(s)")
    second = _numbers(fields.pop(0), _SECOND) if len(fields) > 6 else [0]
    minutes, hours = _numbers(fields[0], _MINUTE), _numbers(fields[1], _HOUR)
    days = _days(fields[2], _DAY, _other_day)
    months = _numbers(fields[3], _MONTH)
    weekdays = _days(fields[4], _WEEKDAY, _other_weekday)
    years = _numbers(fields[5] if len(fields) > 5 else "*", _YEAR)
    times = list(product(hours, minutes, second))
    found = (
        datetime(day.year, day.month, day.day, *time, tzinfo=after.tzinfo)
        for year, month in product(years, months)
        if (year, month) >= (after.year, after.month)
        for day in _days_of(date(year, month, 1), days, weekdays)
        if day >= after.date()
        for time in times
    )
    return list(islice((time for time in found if time > after), count))


def _days_of(first: date, days: _Days, weekdays: _Days) -> Iterator[date]:
    """Yield the matching days of a month, in order."""
    month = [first + timedelta(n) for n in range((_next_month(first) - first).days)]
    if days.everyday and weekdays.everyday:
        yield from month
        return
    meant: set[date | None] = set()
    if not days.everyday:
        meant |= {day for day in month if day.day in days.numbers}
        meant |= {day_of(first) for day_of in days.others}
    if not weekdays.everyday:
        meant |= {day for day in month if day.isoweekday() % 7 in weekdays.numbers}
        meant |= {day_of(first) for day_of in weekdays.others}
    yield from (day for day in month if day in meant)


def _next_month(first: date) -> date:
    return (first + timedelta(31)).replace(day=1)


def _numbers(text: str, field: _CronField) -> list[int]:
    return sorted(_days(text, field, lambda _: None).numbers)


def _days(
    text: str, field: _CronField, other: Callable[[str], Callable[[date], date | None] | None]
) -> _Days:
    """Return the value of a field of days; `other` parses everything except numbers."""
    parts = [part for part in text.lower().split(",") if part]
    if not parts:
        raise ValueError(f"{field.name} field: missing directive")
    numbers, others = set[int](), []
    for part in parts:
        span = _span(part, field)
        day_of = other(part) if span is None else None
        if span is not None:
            numbers.update(span)
        elif day_of is not None:
            others.append(day_of)
        else:
            raise ValueError(f"syntax error in {field.name} field: '{part}'")
    return _Days(not {"*", "?"}.isdisjoint(parts), frozenset(numbers), tuple(others))


def _span(part: str, field: _CronField) -> range | None:
    """Return the numbers of `*`, `5`, `5-20`, each also with `/2`; None for other texts."""
    base, slash, step = part.partition("/")
    low, dash, high = base.partition("-")
    if base == "*" or (base == "?" and not slash):
        first, last = field.least, field.most
    else:
        start = _cron_number(low, field)
        end = _cron_number(high, field) if dash else (field.most if slash else start)
        if start is None or end is None:
            return None
        first, last = start, end
    if not slash:
        if last < first:
            raise ValueError(f"invalid interval {part} (normalized to {first}-{last})")
        return range(first, last + 1)
    if not (step.isascii() and step.isdigit()):
        return None
    if not 1 <= _step(step) <= field.most:
        raise ValueError(f"invalid interval {part}")
    return range(first, last + 1, _step(step))


def _cron_number(text: str, field: _CronField) -> int | None:
    """Return the number of a word or of one or two digits (four for a year), or None."""
    if text in field.words:
        return field.words[text]
    if field is _WEEKDAY or not (text.isascii() and text.isdigit()):
        return None
    longest = len(str(field.most))
    number = int(text) if len(text) <= longest else -1
    return number if field.least <= number <= field.most else None


def _step(text: str) -> int:
    """Return a step; upstream accepts numbers in the ranges of minutes and years, 0 for others."""
    number = int(text) if len(text) <= 4 else 0
    is_year = _YEAR.least <= number <= _YEAR.most
    return number if is_year or (len(text) <= 2 and number <= _MINUTE.most) else 0


def _other_day(part: str) -> Callable[[date], date | None] | None:
    """Parse `l` (the last day), `lw` (the last working day), `15w` (that nearest to the 15th)."""
    if part == "l":
        return _last
    if part == "lw":
        return lambda first: _working(_last(first))
    number = _cron_number(part[:-1], _DAY) if part.endswith("w") else None
    if number is None:
        return None

    def near(first: date) -> date | None:
        day = first + timedelta(number - 1)
        return _working(day) if day.month == first.month else None

    return near


def _other_weekday(part: str) -> Callable[[date], date | None] | None:
    """Parse `5l` (the last Friday) and `5#3` (the third)."""
    if part.endswith("l"):
        last = _cron_number(part[:-1], _WEEKDAY)
        return None if last is None else lambda first: _weekday(_last(first) - timedelta(6), last)
    text, sign, week = part.partition("#")
    number = _cron_number(text, _WEEKDAY)
    if number is None or not sign or len(week) != 1 or week not in _WEEKS:
        return None

    def nth(first: date) -> date | None:
        day = _weekday(first, number) + timedelta(7 * (int(week) - 1))
        return day if day.month == first.month else None

    return nth


def _last(first: date) -> date:
    return _next_month(first) - timedelta(1)


def _weekday(start: date, weekday: int) -> date:
    """Return the first day from `start` on that is this weekday; Sunday is 0."""
    return start + timedelta((weekday - start.isoweekday()) % 7)


def _working(day: date) -> date:
    """Return the nearest day of the same month from Monday to Friday."""
    if day.weekday() == _SATURDAY:
        return day - timedelta(1) if day.day > 1 else day + timedelta(2)
    if day.weekday() == _SUNDAY:
        after = day + timedelta(1)
        return after if after.month == day.month else day - timedelta(2)
    return day


# Whether a string is a schedule of five fields, as Kyverno requires for cleanup policies.
# The times are computed by the other implementation, with more formats and fewer names.
# upstream: github.com/robfig/cron (ParseStandard).

_STANDARD_CRON_NAMES = frozenset(
    {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
)
_EVERY = "@every "
_FIELDS: tuple[tuple[int, int, Mapping[str, int]], ...] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, {name[:3]: number for number, name in enumerate(_CRON_MONTHS.split(), 1)}),
    (0, 6, {name[:3]: number for number, name in enumerate(_CRON_WEEK.split())}),
)
"""The minimum and maximum of each field, and its names."""


def is_standard_schedule(text: str) -> bool:
    """Return whether a text has five valid fields, or is a name for a schedule."""
    if text.startswith("@"):
        every = parse_duration(text[len(_EVERY) :]) if text.startswith(_EVERY) else None
        return text in _STANDARD_CRON_NAMES or every is not None
    fields = text.split()
    return len(fields) == len(_FIELDS) and all(
        _is_part(part, *field)
        for text, field in zip(fields, _FIELDS, strict=True)
        for part in text.split(",")
        if part
    )


def field_problem(text: str) -> str:
    """Return which field of a schedule with five fields is invalid, and its range; "" if none."""
    for part, name, (least, most, words) in zip(text.split(), _FIELD_NAMES, _FIELDS, strict=False):
        if not all(_is_part(one, least, most, words) for one in part.split(",") if one):
            return f"the {name} is `{part}`, but it must be from {least} to {most}"
    return ""


_FIELD_NAMES = ("minute", "hour", "day", "month", "weekday")


def _is_part(text: str, least: int, most: int, names: Mapping[str, int]) -> bool:
    """Return whether a part is `*`, `5` or `5-20`, optionally with a step after `/`."""
    base, *steps = text.split("/")
    low, *highs = base.split("-")
    if low in {"*", "?"}:
        first, last = least, most
    else:
        start = _standard_cron_number(low, names)
        end = _standard_cron_number(highs[0], names) if highs else (most if steps else start)
        if start is None or end is None or len(highs) > 1:
            return False
        first, last = start, end
    step = _standard_cron_number(steps[0], {}) if steps else 1
    return len(steps) <= 1 and bool(step) and least <= first <= last <= most


def _standard_cron_number(text: str, names: Mapping[str, int]) -> int | None:
    """Return the non-negative number of a name or of digits; None for other texts."""
    named = names.get(text.lower())
    if named is not None:
        return named
    number = int(text) if re.fullmatch(r"[+-]?[0-9]+", text) else -1
    return number if number >= 0 else None
