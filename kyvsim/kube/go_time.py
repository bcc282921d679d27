"""Points in time as Go reads and prints them: RFC 3339 and Go's own layouts.

upstream: Go's time package (format.go, format_rfc3339.go, time.go). A local zone is never asked
for: texts with a zone name other than UTC keep their clock, as upstream does in a UTC container.
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple

from kyvsim.kube.duration import SECOND
from kyvsim.kube.go_layout import Chunk, Fields, TimeError, describe, read_chunk, split_layout

RFC3339: Final = "2006-01-02T15:04:05Z07:00"
_MAX_DURATION = (1 << 63) - 1
_YEAR_ONE_TO_1970 = 62_135_596_800 * SECOND
_DAY = 86_400
_STRICT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?"
    r"(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_MONTH_STARTS = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365)


class Time(NamedTuple):
    """A point in time: nanoseconds since 1970 in UTC, and the zone's offset in seconds."""

    nanoseconds: int
    offset: int = 0

    def add(self, nanoseconds: int) -> "Time":
        """Return the time that much later, in the same zone."""
        return Time(self.nanoseconds + nanoseconds, self.offset)

    def since(self, start: "Time") -> int:
        """Return the nanoseconds from `start` to this time, held within Go's durations."""
        return max(-_MAX_DURATION - 1, min(_MAX_DURATION, self.nanoseconds - start.nanoseconds))

    def truncate(self, nanoseconds: int) -> "Time":
        """Return the last multiple of a duration, counted from year 1; none below 1 ns."""
        if nanoseconds <= 0:
            return self
        return self.add(-((self.nanoseconds + _YEAR_ONE_TO_1970) % nanoseconds))

    def utc(self) -> "Time":
        """Return the same point in time in UTC."""
        return Time(self.nanoseconds)

    def civil(self) -> tuple[int, int, int, int, int]:
        """Return year, month, day, second of the day, and weekday (0 is Sunday) in the zone."""
        days, second = divmod(self.nanoseconds // SECOND + self.offset, _DAY)
        return (*_dates(days), second, (days + 4) % 7)

    def __str__(self) -> str:
        """Return the time as RFC 3339, without its fraction of a second."""
        year, month, day, second, _ = self.civil()
        minute, second = divmod(second, 60)
        hour, minute = divmod(minute, 60)
        sign = "-" if year < 0 else ""
        clock = f"{hour:02d}:{minute:02d}:{second:02d}"
        return f"{sign}{abs(year):04d}-{month:02d}-{day:02d}T{clock}{self._zone()}"

    def _zone(self) -> str:
        if not self.offset:
            return "Z"
        minutes = abs(self.offset) // 60
        sign = "-" if self.offset < 0 and minutes else "+"
        return f"{sign}{minutes // 60:02d}:{minutes % 60:02d}"


def from_clock(date: tuple[int, int, int], second: int, offset: int = 0) -> Time:
    """Return the time of (year, month, day) and second of the day in a zone."""
    return Time((_days(*date) * _DAY + second - offset) * SECOND, offset)


def parse_rfc3339(text: str) -> Time:
    """Return the time that `text` writes as RFC 3339; raises TimeError with Go's message."""
    found = _STRICT.fullmatch(text)
    if found is not None:
        year, month, day, hour, minute, second = map(int, found.groups()[:6])
        fraction, sign, zone_hours, zone_minutes = found.groups()[6:]
        fits = hour < 24 and minute < 60 and second < 60
        if fits and 1 <= month <= 12 and 1 <= day <= _days_in(month, year):
            zone = int(zone_hours or "0") * 60 + int(zone_minutes or "0")
            if int(zone_hours or "0") < 24 and int(zone_minutes or "0") < 60:
                offset = (-60 if sign == "-" else 60) * zone
                time = from_clock((year, month, day), (hour * 60 + minute) * 60 + second, offset)
                return time.add(int((fraction or "0")[:9].ljust(9, "0")))
    return parse_time(RFC3339, text)


def parse_time(layout: str, text: str) -> Time:
    """Return the time that `text` writes in Go's `layout`; raises TimeError with Go's message."""
    fields = Fields()
    rest = text
    chunks = _chunks(layout)
    try:
        for chunk, following in zip(chunks, (*chunks[1:], None), strict=True):
            rest = read_chunk(chunk, following, rest, fields)
        _settle_date(fields)
    except TimeError as error:
        raise TimeError(describe(str(error), layout, text)) from None
    return _assemble(fields)


@lru_cache(maxsize=64)
def _chunks(layout: str) -> tuple[Chunk, ...]:
    return split_layout(layout)


def _settle_date(fields: Fields) -> None:
    """Fill in month and day, from the day of the year where that was given."""
    if fields.year_day >= 0:
        month, day = _from_year_day(fields.year, fields.year_day)
        if fields.month not in (-1, month):
            raise TimeError(": day-of-year does not match month")
        if fields.day not in (-1, day):
            raise TimeError(": day-of-year does not match day")
        fields.month, fields.day = month, day
    fields.month = 1 if fields.month < 0 else fields.month
    fields.day = 1 if fields.day < 0 else fields.day
    if not 1 <= fields.day <= _days_in(fields.month, fields.year):
        raise TimeError(": day out of range")


def _assemble(fields: Fields) -> Time:
    hour = fields.hour
    if fields.pm and hour < 12:
        hour += 12
    elif fields.pm is False and hour == 12:
        hour = 0
    second = (hour * 60 + fields.minute) * 60 + fields.second
    date = (fields.year, fields.month, fields.day)
    if not fields.utc and fields.offset != -1:
        return from_clock(date, second, fields.offset).add(fields.nanosecond)
    time = from_clock(date, second).add(fields.nanosecond)
    if not fields.utc and fields.zone.startswith("GMT") and fields.zone != "GMT":
        # upstream: the offset in `GMT+3` moves the clock that is shown, not the point in time
        return Time(time.nanoseconds, int(fields.zone[3:]) * 3600)
    return time


def _from_year_day(year: int, year_day: int) -> tuple[int, int]:
    leap = _is_leap(year)
    if not 1 <= year_day <= 365 + leap:
        raise TimeError(": day-of-year out of range")
    if leap and year_day == 60:
        return 2, 29
    if leap and year_day > 60:
        year_day -= 1
    month = next(place for place, days in enumerate(_MONTH_STARTS) if days >= year_day)
    return month, year_day - _MONTH_STARTS[month - 1]


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _days_in(month: int, year: int) -> int:
    if month == 2 and _is_leap(year):
        return 29
    return _MONTH_STARTS[month] - _MONTH_STARTS[month - 1]


def _days(year: int, month: int, day: int) -> int:
    """Return the days from 1970-01-01 to a date of the Gregorian calendar."""
    before = year - 1
    days = before * 365 + before // 4 - before // 100 + before // 400
    days += _MONTH_STARTS[month - 1] + (month > 2 and _is_leap(year)) + day - 1
    return days - _YEAR_ONE_TO_1970 // SECOND // _DAY


def _dates(days: int) -> tuple[int, int, int]:
    """Return year, month and day of the date that many days after 1970-01-01."""
    year = 1970 + days * 400 // 146_097
    while _days(year, 1, 1) > days:
        year -= 1
    while _days(year + 1, 1, 1) <= days:
        year += 1
    month, day = _from_year_day(year, days - _days(year, 1, 1) + 1)
    return year, month, day
